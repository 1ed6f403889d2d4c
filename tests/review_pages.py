"""A judged run, and the form of the page that reviews an item of it."""

from __future__ import annotations

import re
from html import unescape

EVAL = """
name: reviewed
data: sample
tasks: [text]
judge: offline
models:
  - {name: careful, provider: simulated, params: {seed: 7, fabricated_facts: 0.0}}
  - {name: hasty, provider: simulated, params: {seed: 7, fabricated_facts: 0.2}}
"""
GATES = "/runs/1/review/gates"
_HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')
_BUTTON = re.compile(r'name="word" value="(\w+)"')


def form_of(page: str) -> dict[str, str]:
    """The hidden fields of the question on a page."""
    question = page[page.index('class="question"') :]
    fields = {name: unescape(value) for name, value in _HIDDEN.findall(question)}
    return fields | {"words": " ".join(_BUTTON.findall(question))}
