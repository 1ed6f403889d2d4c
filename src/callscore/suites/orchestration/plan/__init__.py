"""Workflow plans: parsed from text, converted to two graphs, compared by edit distance."""
