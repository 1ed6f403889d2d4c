"""Work on several cores: processes that compute blocks, whose results come back in order."""
