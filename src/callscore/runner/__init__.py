"""A run from start to end: prepare, ask, keep, judge, score."""
