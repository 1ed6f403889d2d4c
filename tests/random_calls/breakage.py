"""Answers of the wrong shape: keys and containers that differ, and text that is no JSON."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

from random_calls.dice import Json

NO_JSON = ("I cannot help with that", "", "Here you are: {}", "[]", '{"a": 1, "a": 1}', "{} {}")


def broken(dice: Random, answer: Json) -> Any:
    """The answer with a structure fault (C-21 … C-25): always Structure 0."""
    how = dice.randint(0, 4)
    if how == 0:
        return dice.choice(NO_JSON)
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
