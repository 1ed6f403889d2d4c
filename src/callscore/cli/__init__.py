"""Doors: one file a command. No arithmetic here."""
