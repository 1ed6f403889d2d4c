"""Orchestration (document 001): plans, tool calls, and rejections."""
