"""Compares models, runs and scorecards, paired by call, with intervals and tests."""
