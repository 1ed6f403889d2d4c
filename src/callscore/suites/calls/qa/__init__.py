"""QA Analysis (003 Task 1)."""
