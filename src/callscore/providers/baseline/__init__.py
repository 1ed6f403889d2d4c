"""The baseline: rules instead of a model."""
