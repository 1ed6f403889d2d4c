"""The results of stored runs: the index of scored answers, and what screens and reports read."""
