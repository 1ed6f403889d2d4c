"""The public evaluator's numbers, quirks included (C-128); never used by the standard reading."""

NOTE = (
    "compat reproduces the public evaluator's arithmetic; never rank it with standard results. "
    "Its graph library puts the cost of plans with self-loops too low: the exact plan scores "
    "are in x_extension.plan"
)
