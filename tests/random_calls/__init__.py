"""Random calls: cases of the four tasks, answers that went wrong, and verdicts on them.

Everything takes a `random.Random`, so that one generator serves both the laws (where hypothesis
plays the dice and shrinks what it finds) and the exact twin (seeded, thousands of cases).
"""
