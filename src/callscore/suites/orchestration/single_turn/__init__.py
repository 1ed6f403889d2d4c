"""Cases of other origin: lists of calls with accepted values, action lists, graphs of sub-tasks."""
