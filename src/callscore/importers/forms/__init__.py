"""QA forms of other systems, and their filled-in evaluations."""
