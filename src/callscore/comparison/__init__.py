"""Compares runs, scorecards and models: paired by call, with intervals and tests."""
