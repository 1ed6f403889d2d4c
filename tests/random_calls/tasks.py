"""The recipes of all four tasks."""

from __future__ import annotations

from collections.abc import Mapping

from random_calls.dice import Recipe
from random_calls.entity import ENTITY
from random_calls.qa import QA
from random_calls.text import TEXT
from random_calls.translation import TRANSLATION

TASKS: Mapping[str, Recipe] = {"qa": QA, "entity": ENTITY, "text": TEXT, "translation": TRANSLATION}
