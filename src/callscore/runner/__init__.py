"""A run from start to end: prepare, request, store, judge, score."""
