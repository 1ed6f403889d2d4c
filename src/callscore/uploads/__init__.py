"""Files that a browser sends: kept under names of ours, read in a process with limits."""
