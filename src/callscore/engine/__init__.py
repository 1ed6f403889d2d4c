"""Sends requests: workers, retries, rate limits, budget, shutdown. The only package that awaits."""
