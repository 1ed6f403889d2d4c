"""Counts over single cases: questions, labels, decisions, plans, slices.

They are for display only, need bounded memory, and no score depends on them.
"""
