"""Removes the think block of a reply before the reply is parsed."""

from __future__ import annotations


def strip_think_block(text: str) -> str:
    """The text after the last `</think>`, without a block that is never closed        C-105"""
    if "think>" not in text:
        return text
    answer = text.rsplit("</think>", 1)[-1]
    return answer.split("<think>", 1)[0]
