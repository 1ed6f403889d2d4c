"""Orchestration (document 001): plans, calls, and knowing when not to call."""
