"""A second implementation of document 003 in exact fractions, written only from the document.

It imports nothing from the suites, not even their numbers. It does not extract facts from free
text: the critical facts of the random calls are plain digits.
"""
