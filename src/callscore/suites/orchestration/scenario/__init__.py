"""Annotated scenarios, agent cards, and the steps that are requested from a model."""
