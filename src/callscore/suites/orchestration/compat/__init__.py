"""The public evaluator's numbers, quirks included (C-128); never used by the standard reading."""

NOTE = (
    "compat reproduces the public evaluator's arithmetic; never rank it with standard results. "
    "Where its graph library undercounts self-loops, the exact cost is used instead"
)
