"""The eleven standard benchmarks, the framework's optional second layer (C-88 … C-99)."""
