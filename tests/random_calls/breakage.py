"""Answers with the wrong structure: other keys or containers, or text that is not JSON."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

from random_calls.dice import Json

NOT_JSON = ("I cannot help with that", "", "Here you are: {}", "[]", '{"a": 1, "a": 1}', "{} {}")


def break_structure(dice: Random, answer: Json) -> Any:
    """Give an answer the wrong structure (C-21 … C-25), so that Structure is always 0."""
    how = dice.randint(0, 4)
    if how == 0:
        return dice.choice(NOT_JSON)
    if how == 1:
        return json.dumps(answer)[:-1]
    changed = copy.deepcopy(answer)
    if how == 2 or not changed:
        changed["confidence"] = 1
        return changed
    key = dice.choice(sorted(changed))
    value = changed.pop(key)
    if how == 4:
        changed[f"{key}s"] = value
    return changed
