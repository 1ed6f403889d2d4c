"""Removes think blocks from replies before they are parsed."""

from __future__ import annotations


def strip_think_block(text: str) -> str:
    """What follows the last `</think>`, without a block that was opened and never closed  C-105"""
    if "think>" not in text:
        return text
    answer = text.rsplit("</think>", 1)[-1]
    return answer.split("<think>", 1)[0]
