"""Text Analysis (003 Task 3)."""
