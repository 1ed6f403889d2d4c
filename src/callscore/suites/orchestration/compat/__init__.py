"""Scores like the public evaluator, quirks included (C-128); never used in the mode `standard`."""

NOTE = (
    "compat reproduces the public evaluator's arithmetic; never rank it with standard results. "
    "Its graph library puts the cost of plans with self-loops too low: the exact plan scores "
    "are in x_extension.plan"
)
