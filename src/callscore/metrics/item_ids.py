"""Ids of items as text, so that they can be compared (C-19)."""

from __future__ import annotations

from callscore.metrics.text import n1


def item_id(value: object) -> str:
    """An id as text after N1: 1 equals "1", "Q1" does not equal "q1"        C-19"""
    if type(value) is int:
        return str(value)
    if isinstance(value, str):
        return value if value.isalnum() and value.isascii() else n1(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
