"""Judges: who answers what code cannot decide."""
