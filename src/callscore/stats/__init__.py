"""Statistics: agreement, intervals, tests, sample sizes, races. Seeds are always arguments."""
