"""The laws on real translations; skipped where the shared data are not at hand."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from calls_suite import formula_of
from callscore.core.case import Case, Reply
from callscore.core.judging import NO_VERDICTS
from callscore.scorecard.formula import score_case
from shared_cases import cases_of, shared_file
from translation_cases import TASK, measure_answer, open_questions

FILES = ("translation_xrisawoz.jsonl", "mt_mlqe_da.jsonl")


def cases(name: str) -> list[Case]:
    return cases_of("translation", shared_file(name))


@pytest.mark.parametrize("name", FILES)
def test_every_human_translation_is_perfect_blocked_by_nothing_and_raises_no_alarm(
    name: str,
) -> None:
    for case in cases(name):
        found = measure_answer(case, case.expected_outcome)
        values = {slug: m.value for slug, m in found.measures.items() if m.absence != "absent"}
        assert values.pop("translation.drift") == 0.0, case.id
        assert set(values.values()) == {1.0}, case.id
        assert set(found.flags) <= {"resolution_limited"}, case.id
        assert open_questions(case, case.expected_outcome) == [], case.id
        score = score_case(formula_of("translation", "all"), found)
        assert score.status in ("valid", "incomplete"), case.id


def reworded(outcome: Any) -> Any:
    """The same outcome with a word before every sentence, so that nothing is the human's own."""
    changed = [
        {**item, "translated_text": f"so {item['translated_text']}"}
        for item in outcome["sentence_translations"]
    ]
    return {**outcome, "sentence_translations": changed}


@pytest.mark.parametrize("name", FILES)
def test_another_wording_keeps_every_term_name_and_fact(name: str) -> None:
    for case in cases(name):
        found = measure_answer(case, reworded(case.expected_outcome)).measures
        for metric in ("completeness", "domain_terms", "proper_nouns", "critical_facts"):
            measure = found[f"translation.{metric}"]
            assert measure.value == 1.0 or measure.absence == "absent", (case.id, metric)


def test_real_outputs_are_measured_and_most_keep_their_facts() -> None:
    kept = total = 0
    for case in cases("mt_mlqe_da.jsonl"):
        reference = TASK.reference(case)
        output = TASK.read(reference, Reply(msgspec.json.encode(case.model_output)))
        found = TASK.measure(reference, output, NO_VERDICTS).measures
        assert found["translation.structure"].value == 1.0, case.id
        kept += found["translation.critical_facts"].value == 1.0
        total += 1
    assert kept / total > 0.9
