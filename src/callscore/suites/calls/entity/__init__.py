"""Entity Analysis (003 Task 2)."""
