"""Providers: model APIs, recordings, simulation, rules."""
