"""Function calls: paired, then compared by name, key and value."""
