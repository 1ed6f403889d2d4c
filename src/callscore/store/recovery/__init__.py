"""Damaged journals: detection, reading page by page, salvage to a new file."""
