"""Damaged stores: noticed, read page by page, saved to a new file."""
