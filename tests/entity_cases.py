"""Short constructors for entity cases, and functions that measure answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Case, Malformed, Reply
from callscore.core.judging import NO_VERDICTS
from callscore.core.measure import Measure
from callscore.core.task import Measured
from callscore.suites.calls.entity.reference import EntityReference, read_reference
from callscore.suites.calls.entity.task import EntityTask
from callscore.suites.calls.prompt import reply_form
from callscore.suites.calls.reply_parser import StructureSources
from callscore.suites.calls.spec import make_settings

TASK = EntityTask(make_settings())
CONFIG: Mapping[str, Any] = {"keywords": ["refund", "account"], "topics": ["billing"]}


def outcome(
    keywords: Sequence[Any] = (), topics: Sequence[Any] = (), valid: Sequence[Any] | None = None
) -> dict[str, Any]:
    """An outcome in the documented form; `valid` is the configured list by default."""
    return {
        "detected_keywords": list(keywords),
        "detected_topics": list(topics),
        "valid_entity_set": ["refund", "account", "billing"] if valid is None else list(valid),
    }


def entity_case(
    expected: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] = CONFIG,
    transcript: str = "Agent: Hello.",
    lang: str | None = None,
    parts: Mapping[str, Any] | None = None,
) -> Case:
    """A case of one call; the default transcript contains no entity."""
    return Case(
        id="c1",
        task="entity",
        transcript=transcript,
        config=config,
        expected_outcome=outcome() if expected is None else expected,
        lang=lang,
        expected_parts=parts,
    )


def unchecked_reference(case: Case) -> EntityReference:
    """The reference of any case, also of one that a data set must not have (C-131)."""
    return read_reference(case, StructureSources({}, form=reply_form("entity")), TASK.settings)


def measure_answer(case: Case, answer: object) -> Measured:
    """Measure an answer: text is sent unchanged, any other value as JSON."""
    text = answer if isinstance(answer, str) else msgspec.json.encode(answer)
    reference = unchecked_reference(case)
    return TASK.measure(reference, TASK.read(reference, Reply(text)), NO_VERDICTS)


def measures(case: Case, answer: object) -> Mapping[str, Measure]:
    """The measures by short name: `keyword_f1` for `entity.keyword_f1`."""
    return {slug.partition(".")[2]: m for slug, m in measure_answer(case, answer).measures.items()}


def values(case: Case, answer: object) -> dict[str, float | None]:
    """The values by short name."""
    return {name: measure.value for name, measure in measures(case, answer).items()}


def flags(case: Case, answer: object) -> list[str]:
    """The flags of an answer."""
    return list(measure_answer(case, answer).flags)


def fault(case: Case, answer: object) -> Malformed | None:
    """Why the answer is malformed; None if it is not."""
    text = answer if isinstance(answer, str) else msgspec.json.encode(answer)
    output = TASK.read(TASK.reference(case), Reply(text))
    return output if isinstance(output, Malformed) else None
