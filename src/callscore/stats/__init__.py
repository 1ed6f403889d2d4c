"""Statistics: agreement, intervals, corrected estimates. The seed is always an argument."""
