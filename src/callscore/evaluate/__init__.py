"""Stored replies to tallies and scorecards: cases, replies, verdicts, one pass over all of them."""
