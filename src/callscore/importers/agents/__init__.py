"""Recordings of agents: conversations with tool calls, and benchmarks of tool calls."""
