"""Scoring: reads cases, replies and verdicts, asks judges, tallies, and builds scorecards."""
