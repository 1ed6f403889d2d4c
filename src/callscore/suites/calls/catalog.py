"""The tasks of the calls suite, written out by hand, and the words their judges may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callscore.core.errors import DataError
from callscore.core.task import Task
from callscore.suites.calls.answer_spec import EmotionsOfData, no_data_set
from callscore.suites.calls.benchmarks import words as benchmarks
from callscore.suites.calls.entity.task import EntityTask
from callscore.suites.calls.qa import task as qa
from callscore.suites.calls.qa.task import QATask
from callscore.suites.calls.spec import Settings, slug_of
from callscore.suites.calls.text import task as text
from callscore.suites.calls.text.summary import CALL_INTENT, OTHER_GOAL
from callscore.suites.calls.text.task import TextTask
from callscore.suites.calls.translation import task as translation
from callscore.suites.calls.translation.judged import (
    CRITICAL_FACTS,
    FINDING_OUTCOMES,
    KEEPING_FACTS,
    OUTCOME,
)
from callscore.suites.calls.translation.task import TranslationTask

OFFERED: Mapping[str, tuple[str, ...]] = {
    **qa.OFFERED,
    **text.OFFERED,
    **translation.OFFERED,
    **benchmarks.OFFERED,
    CRITICAL_FACTS: (*KEEPING_FACTS[:-1], *FINDING_OUTCOMES),
}
"""The words a verdict on each judged metric may use; none where the answer is a number."""

VALUES: Mapping[str, tuple[float, ...]] = {
    **text.VALUES,
    **translation.VALUES,
    **benchmarks.VALUES,
}
"""The only numbers a verdict may give, for metrics that have such a list (C-17, C-69)."""


def tasks(
    settings: Settings, emotions: EmotionsOfData = no_data_set
) -> Mapping[str, Task[Any, Any]]:
    """The four tasks of document 003, by name; `emotions` are those that the data set names."""
    return {
        "qa": QATask(settings),
        "entity": EntityTask(settings),
        "text": TextTask(settings, emotions),
        "translation": TranslationTask(settings),
    }


def offered_for(metric: str, item: str) -> tuple[str, ...]:
    """The words that may answer one item; some metrics ask two questions, each with its own."""
    if metric == CALL_INTENT:
        return text.ANY_OTHER_GOAL if item == OTHER_GOAL else text.SAME_GOAL
    if metric == CRITICAL_FACTS:
        return FINDING_OUTCOMES if item.startswith(OUTCOME) else KEEPING_FACTS
    return OFFERED.get(metric, ())


def checked_verdict(metric: str, word: str | None, value: float | None) -> str:
    """The slug of the metric; raises DataError where metric, word or value is not offered."""
    slug = slug_of(metric)
    if slug is None or slug not in OFFERED:
        judged = ", ".join(OFFERED)
        raise DataError(
            f"{metric!r} is not a judged metric; expected one of {judged}", field="metric"
        )
    check_word(slug, OFFERED[slug], word)
    if value is not None:
        _check_value(slug, value)
    return slug


def check_word(slug: str, words: tuple[str, ...], word: str | None) -> None:
    """Raise where a verdict is a word that was not offered."""
    if word is not None and word not in words:
        expected = f"one of {', '.join(words)}" if words else "a `value`, not a word"
        raise DataError(
            f"{word!r} was not offered for {slug}; expected {expected}", field="verdict"
        )


def _check_value(slug: str, value: float) -> None:
    allowed = VALUES.get(slug)
    if allowed is not None and value not in allowed:
        listed = ", ".join(f"{number:g}" for number in allowed)
        raise DataError(f"{value} is no value of {slug}; expected one of {listed}", field="value")
    if allowed is None and OFFERED[slug] and slug not in benchmarks.COSINES:
        raise DataError(f"{slug} is judged with a word; expected `verdict`", field="value")
    if not -1 <= value <= 1:
        raise DataError(f"{value} is no cosine; expected a number from -1 to 1", field="value")
