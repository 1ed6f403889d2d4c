"""What an answer that reads nothing would score on the same cases (C-135)."""
