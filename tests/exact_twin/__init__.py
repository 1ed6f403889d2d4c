"""A second implementation of document 003 in exact fractions, written from the document alone.

It imports nothing of the suites, not even their numbers. What it leaves out is the reading of
facts from free text: the random calls name their critical facts in plain digits.
"""
