"""What the answers to single cases add up to: questions, labels, decisions, plans, slices.

Everything here is counted for display, case by case and in bounded memory; no score is made of it.
"""
