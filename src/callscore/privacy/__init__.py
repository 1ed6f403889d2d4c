"""Finds personal data in texts and replaces it by stable placeholders."""
