"""Which LLM to put on your calls, what it will cost, whether the answer can be trusted."""

__version__ = "0.1.0"
