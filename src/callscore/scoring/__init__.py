"""Scoring, wired: cases stream by, answers are measured, judges are asked, tallies grow."""
