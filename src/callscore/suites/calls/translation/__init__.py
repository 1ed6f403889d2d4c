"""Translation Analysis (003 Task 4)."""
