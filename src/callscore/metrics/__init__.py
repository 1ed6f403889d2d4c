"""General formulas that know no suite."""
