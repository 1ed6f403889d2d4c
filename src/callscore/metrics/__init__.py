"""General formulas, independent of suites."""
