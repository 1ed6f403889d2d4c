"""Random calls: cases of the four tasks, answers with errors, and verdicts on them.

Every function takes a `random.Random`. The property tests pass one that hypothesis controls and
shrinks; the exact twin passes a seeded one for thousands of cases.
"""
