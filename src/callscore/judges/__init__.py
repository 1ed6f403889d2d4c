"""Judges: what classifies the items that code cannot decide."""
