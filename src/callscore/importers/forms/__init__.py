"""QA forms of other systems and their filled-in evaluations, read into one form and gold."""
