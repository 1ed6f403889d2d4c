"""Single-turn cases: calls with accepted values, action lists, graphs of sub-tasks."""
