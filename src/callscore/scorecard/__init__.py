"""Suite-neutral scoring: tallies, formulas, gates, final score, ranking, template."""
