"""Function calls: pairs of predicted and expected calls, compared by name, key and value."""
