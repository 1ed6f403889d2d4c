"""C-135: what a trivial answer would score; the closed form is what the full scorer finds."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

import callscore
from builders import (
    Json,
    entity_case,
    entity_output,
    evidence_verdicts,
    form,
    output,
    qa_case,
    question,
    score,
    translation_case,
)
from calls_suite import formula_for
from callscore.app import check_cases
from callscore.core.case import Case, spoken_text
from callscore.core.judging import Question, Verdict
from callscore.core.task import Strategy
from callscore.metrics.text import contains, n2
from callscore.scorecard.floors import DataFloors, compare_with_floor, name_mixture
from callscore.scorecard.formula import TaskFormula
from callscore.scorecard.model_score import score_task
from callscore.scorecard.tally import TaskTally
from callscore.suites.calls import spec
from callscore.suites.calls.entity.floors import LITERAL, NOTHING, WHOLE
from callscore.suites.calls.entity.task import EntityTask
from callscore.suites.calls.qa.floors import FULL, USUAL, ZERO, QAFloor
from callscore.suites.calls.text.measures import CLASSES
from properties.trial import TASKS, answered, kindest, tallied
from random_calls.tasks import TASKS as RANDOM
from shared_cases import BUNDLED
from test_real_data import FILES, path_of

FACTS = "translation.critical_facts"
Answering = Callable[[Case], Json]


def judge(asked: Question) -> Verdict:
    """Most lenient, but no name is another one: the floor knows names by code alone."""
    if asked.metric == "translation.proper_nouns":
        return Verdict(asked.metric, asked.item, "different_name", text=asked.text)
    return kindest(asked)


def cases_of(name: str) -> list[Case]:
    if name == "random":
        dice = Random(135)
        made = [RANDOM[task].make(dice, f"{task}{n}") for task in RANDOM for n in range(60)]
        cases = [msgspec.convert(case, Case) for case in made]
    else:
        path = BUNDLED if name == "sample" else path_of(name)
        cases = [msgspec.json.decode(line, type=Case) for line in path.read_bytes().splitlines()]
    return cases


def by_full_scorer(task: str, cases: list[Case], answer: Answering) -> Mapping[str, float | None]:
    """The rows of a model that answers every case in this way."""
    answers = [
        (case.id, answered(TASKS[task], msgspec.to_builtins(case), answer(case), judge))
        for case in cases
    ]
    formula = formula_for(task, spec.make_settings())
    rows = score_task(formula, tallied(task, answers), spec.make_settings()).score.metrics
    return {slug: row.value for slug, row in rows.items()}


def formula_of(task: str) -> TaskFormula:
    return formula_for(task, spec.make_settings())


def failures_of(floors: DataFloors) -> tuple[int, int]:
    tally = floors.tallies["qa"]
    assert isinstance(tally, QAFloor)
    return tally.failures


def in_closed_form(task: str, cases: list[Case]) -> dict[str, Strategy]:
    floors = DataFloors(formula_of)
    for case in cases:
        floors.add(TASKS[task], TASKS[task].reference(case))
    tally = floors.tallies[task]
    assert tally is not None
    return {s.name: s for s in tally.strategies()}


MarkOf = Callable[[Case, Json], float]


def qa_answer(of_score: MarkOf, of_pass_fail: MarkOf) -> Answering:
    reason = {"reason": 'The line "thank you for calling"'}

    def answer(case: Case) -> Json:
        marks = {"SCORE": of_score, "PASS_FAIL": of_pass_fail}
        return form(
            *(
                {**item, "score": marks[item["type"]](case, item)}
                | (reason if "reason" in item else {})
                for item in case.expected_outcome["questions"]
            )
        )

    return answer


def usual_marks(cases: list[Case]) -> MarkOf:
    """The usual mark of the same question in all other calls; full marks if none asks it."""

    def key(case: Case, item: Json) -> tuple[Any, ...]:
        texts = {q.get("question_id"): q.get("question") for q in case.config.get("questions", ())}
        name = item["question_id"]
        return texts.get(name) or str(name), item["max_score"], item["type"]

    given: dict[tuple[Any, ...], list[tuple[str, float]]] = {}
    for case in cases:
        for item in case.expected_outcome["questions"]:
            if item["score"] is not None:
                given.setdefault(key(case, item), []).append((case.id, item["score"]))

    def mark(case: Case, item: Json) -> float:
        others = Counter(m for name, m in given.get(key(case, item), ()) if name != case.id)
        return min(others, key=lambda one: (-others[one], one)) if others else item["max_score"]

    return mark


def qa_ways(cases: list[Case]) -> dict[str, Answering]:
    marks: dict[str, MarkOf] = {
        FULL: lambda case, item: item["max_score"],
        ZERO: lambda case, item: 0,
        USUAL: usual_marks(cases),
    }
    return {
        name_mixture(("SCORE", "PASS_FAIL"), (one, other)): qa_answer(marks[one], marks[other])
        for one in marks
        for other in marks
    }


def reported(case: Case, kind: str, is_wanted: Callable[[str], bool]) -> list[str]:
    config = case.config
    if "keywords" in config or "topics" in config:
        listed = config.get(kind) or []
    else:
        listed = config.get("entities", case.expected_outcome.get("valid_entity_set", []))
    return [name for name in listed if is_wanted(name)]


IsWanted = Callable[[Case, str], bool]


def entity_way(keywords: IsWanted, topics: IsWanted) -> Answering:
    def answer(case: Case) -> Json:
        found = {
            f"detected_{kind}": reported(case, kind, partial(is_wanted, case))
            for kind, is_wanted in (("keywords", keywords), ("topics", topics))
        }
        return {
            key: found.get(key, [])
            for key in ("detected_keywords", "detected_topics", "valid_entity_set")
        }

    return answer


def is_literal(case: Case, name: str) -> bool:
    said = spoken_text(case.transcript).casefold().replace("_", " ").replace("-", " ")
    aliases = EntityTask(spec.make_settings()).reference(case).aliases
    key = aliases.get(n2(name), n2(name))
    return any(contains(said, form) for form in (key, *(f for f, e in aliases.items() if e == key)))


WANTED: Mapping[str, IsWanted] = {
    WHOLE: lambda case, name: True,
    NOTHING: lambda case, name: False,
    LITERAL: is_literal,
}
ENTITY_WAYS = {
    name_mixture(("keywords", "topics"), (one, other)): entity_way(WANTED[one], WANTED[other])
    for one in WANTED
    for other in WANTED
}


def text_ways(cases: list[Case]) -> dict[str, Answering]:
    tops: Counter[str] = Counter()
    for case in cases:
        tops.update(TASKS["text"].reference(case).top_emotions)

    def with_label(label: str) -> Answering:
        def answer(case: Case) -> Json:
            expected = case.expected_outcome
            given: Json = {}
            if "sentiment" in expected:
                given["sentiment"] = [{**s, "label": label} for s in expected["sentiment"]]
            if "summary" in expected:
                given["summary"] = {
                    key: value
                    for key, value in {
                        "call_purpose": "Something",
                        "highlights": ["Something else"],
                        "call_extracted_info": dict.fromkeys(
                            expected["summary"].get("call_extracted_info", {}), ""
                        ),
                    }.items()
                    if key in expected["summary"]
                }
            if "emotion" in expected:
                best = max(tops, key=lambda name: (tops[name], name))
                given["emotion"] = {**dict.fromkeys(expected["emotion"], 0)}
                if best in given["emotion"]:
                    given["emotion"][best] = 100
            return given

        return answer

    return {
        f"every sentence {label}, the usual emotion, every field empty": with_label(label)
        for label in CLASSES
    }


def written_twice(case: Case) -> Json:
    return {
        **case.expected_outcome,
        "sentence_translations": [
            {**item, "translated_text": f"{item['source_text']} {item['source_text']}"}
            for item in case.expected_outcome.get("sentence_translations", ())
        ],
    }


WAYS: Mapping[str, Callable[[list[Case]], Mapping[str, Answering]]] = {
    "qa": qa_ways,
    "entity": lambda cases: ENTITY_WAYS,
    "text": text_ways,
    "translation": lambda cases: {"the source written twice": written_twice},
}


OF_A_COPY = {"translation.meaning", FACTS}
"""Not known without an embedder or a judge."""


@pytest.mark.parametrize("task", WAYS)
@pytest.mark.parametrize("name", ["random", "sample", *FILES])
def test_c135_the_closed_form_is_what_the_full_scorer_finds(task: str, name: str) -> None:
    cases = [case for case in cases_of(name) if case.task == task]
    if not cases:
        return
    strategies = in_closed_form(task, cases)
    ways = WAYS[task](cases)
    assert list(strategies) == list(ways)
    for way, answer in ways.items():
        rows = by_full_scorer(task, cases, answer)
        for slug, value in strategies[way].rows.items():
            if slug in OF_A_COPY:
                continue
            wanted = rows[slug]
            assert value == (None if wanted is None else pytest.approx(wanted)), (way, slug)


def passed_all(passed: int = 2) -> tuple[Json, Json]:
    """220 questions, of which people failed two; the model passes all, or all but some."""
    expected = [question(f"Q{n}", 0 if n < 2 else 5) for n in range(220)]
    given = [question(f"Q{n}", 0 if passed <= n < 2 else 5) for n in range(220)]
    return qa_case(expected), output("c1", form(*given))


def test_c135_two_failures_of_220_questions_demonstrate_nothing(tmp_path: Path) -> None:
    case, answer = passed_all()
    scored = score([case], [answer], tmp_path)
    rate = scored.task().metrics["qa.false_pass_rate"]
    assert rate.value == pytest.approx(100 * 2 / 220)
    assert rate.rating == "Good"
    assert rate.secondary is not None
    assert rate.secondary["false_pass_rate_of_failures"] == 100
    notes = [note for note in scored.card.notes if "people failed" in note]
    assert notes == [
        "m, QA: people failed 2 of 220 questions, the model passed both"
        " (false_pass_rate_of_failures 100.00 %): the false pass rate cannot be demonstrated with"
        " this data"
    ]


@pytest.mark.parametrize(
    ("passed", "words"), [(0, "the model passed none"), (1, "the model passed 1 of them")]
)
def test_c135_the_warning_says_what_the_model_did(tmp_path: Path, passed: int, words: str) -> None:
    case, answer = passed_all(passed)
    assert any(words in note for note in score([case], [answer], tmp_path).card.notes)


def test_c135_full_marks_score_nearly_one_where_nearly_everybody_passed(tmp_path: Path) -> None:
    case, answer = passed_all()
    task = score(
        [case], [answer], tmp_path, evidence_verdicts("c1", *(f"Q{n}" for n in range(220)))
    ).task()
    assert task.trivial_strategy == FULL
    assert task.trivial_floor == pytest.approx(0.9 * 218 / 220 + 0.1)


def test_c135_failures_that_a_blocker_would_show_are_not_warned_of(tmp_path: Path) -> None:
    case = qa_case([question(f"Q{n}", 0 if n < 2 else 5) for n in range(20)])
    answer = output("c1", form(*(question(f"Q{n}", 0 if n < 2 else 5) for n in range(20))))
    assert not any("people failed" in n for n in score([case], [answer], tmp_path).card.notes)


def test_c135_the_card_says_where_a_model_is_no_better_than_reading_nothing(
    tmp_path: Path,
) -> None:
    listed = ["refund", "loan", "card", "fees"]
    cases = [entity_case(listed[:3], [], listed, f"c{n}", transcript="-") for n in range(40)]
    whole = [output(f"c{n}", entity_output(listed), "lazy") for n in range(40)]
    right = [output(f"c{n}", entity_output(listed[:3]), "right") for n in range(40)]
    worse = [output(f"c{n}", entity_output(listed, listed), "worse") for n in range(40)]
    card = callscore.score(cases, [*whole, *right, *worse])
    lazy, good, _ = card.models
    floor = lazy.tasks["entity"].trivial_floor
    assert floor == good.tasks["entity"].trivial_floor
    assert floor == pytest.approx(lazy.tasks["entity"].score)
    assert good.tasks["entity"].score == 1
    told = [note for note in card.notes if "reads nothing" in note]
    strategy = "(keywords: the whole list; topics: nothing reported)"
    assert told == [
        f"lazy, Entity: 0.933 is not distinguishable from the 0.933 of an answer that reads nothing"
        f" {strategy}",
        f"worse, Entity: 0.643 is worse than the 0.933 of an answer that reads nothing {strategy}",
    ]


@pytest.mark.parametrize(
    ("value", "floor", "error", "found"),
    [
        (0.95, 0.9, 0.03, "not distinguishable"),
        (0.95, 0.9, 0.02, "better"),
        (0.85, 0.9, 0.03, "not distinguishable"),
        (0.85, 0.9, 0.02, "worse"),
        (0.9, 0.9, 0.0, "not distinguishable"),
        (1.0, 0.9, 0.0, "better"),
        (0.0, 0.842, 0.0, "worse"),
        (1.0, 0.1, None, "not distinguishable"),
        (0.0, 0.842, None, "worse"),
    ],
)
def test_c135_a_score_must_differ_by_more_than_chance_on_both_sides(
    value: float, floor: float, error: float | None, found: str
) -> None:
    assert compare_with_floor(value, floor, error) == found


def test_c138_a_score_of_0_is_worse_than_its_floor(tmp_path: Path) -> None:
    cases = [entity_case(["refund"], configured=["refund"], case_id=f"c{n}") for n in range(20)]
    outputs = [output(f"c{n}", entity_output([])) for n in range(20)]
    card = score(cases, outputs, tmp_path).card
    assert card.models[0].tasks["entity"].trivial_floor == 1.0
    (note,) = [note for note in card.notes if "reads nothing" in note]
    assert "is worse than the 1.000 of an answer that reads nothing" in note


def test_c135_the_spread_of_the_answers_is_that_of_their_scores() -> None:
    scores = [0.5, 1.0, 1.0, 0.25]
    tally = TaskTally(
        scored=4, score_total=sum(scores), score_squares=sum(score**2 for score in scores)
    )
    assert tally.standard_error == pytest.approx(statistics.stdev(scores) / 2)
    assert TaskTally(scored=1, score_total=1, score_squares=1).standard_error is None


def test_c135_a_floor_is_never_a_gate(tmp_path: Path) -> None:
    case = qa_case([question()])
    verdict = evidence_verdicts("c1", "Q1", verdict="as_described")
    task = score([case], [output("c1", form(question()))], tmp_path, verdict).task()
    assert (task.status, task.score, task.trivial_floor) == ("valid", 1, 1)


def test_c135_a_strategy_that_a_gate_blocks_is_a_floor_as_well() -> None:
    cases = [case for case in cases_of("sample") if case.task == "qa"]
    floors = DataFloors(formula_of)
    for case in cases:
        floors.add(TASKS["qa"], TASKS["qa"].reference(case))
    failed, asked = failures_of(floors)
    assert 100 * failed / asked > 3
    assert "PASS_FAIL: always full marks" in (floors.found()["qa"].strategy or "")


@pytest.mark.parametrize("task", WAYS)
def test_c135_a_floor_does_not_jump_as_calls_are_added(task: str) -> None:
    floors, found = DataFloors(formula_of), []
    for case in cases_of("sample"):
        if case.task == task:
            floors.add(TASKS[task], TASKS[task].reference(case))
            found.append(floors.found()[task].score or 0)
    assert max(found[1:]) - min(found[1:]) < 0.1


def test_c135_the_usual_mark_is_that_of_the_other_calls() -> None:
    """Each of two calls has the other's mark: the strategy is always wrong, and knows nothing."""
    cases = [qa_case([question("Q1", mark)], f"c{mark}") for mark in (5, 0)]
    usual = in_closed_form("qa", [msgspec.convert(case, Case) for case in cases])[USUAL]
    assert usual.rows["qa.question_score_accuracy"] == 0


def test_c135_a_question_is_known_by_its_text() -> None:
    def case(number: int, name: str, text: str, mark: int) -> Case:
        asked = {"question_id": name, "question": text, "max_score": 5, "type": "PASS_FAIL"}
        made = qa_case([question(name, mark)], f"c{number}", config={"questions": [asked]})
        return msgspec.convert(made, Case)

    same_text = [case(n, f"Q{n}", "Did the agent greet?", 0) for n in range(3)]
    same_id = [case(n, "Q1", f"Question {n}", 0) for n in range(3)]
    accuracy = "qa.question_score_accuracy"
    assert in_closed_form("qa", same_text)[USUAL].rows[accuracy] == 1
    assert in_closed_form("qa", same_id)[USUAL].rows[accuracy] == 0  # full marks, as none is known


def test_c135_judged_rows_of_a_floor_are_those_of_the_model(tmp_path: Path) -> None:
    case = qa_case([question("Q1"), question("Q2")])
    vague = form(question("Q1", reason="Polite"), question("Q2", reason="Nice"))
    floors = [
        score([case], [output("c1", vague)], tmp_path, verdicts).task().trivial_floor
        for verdicts in ((), evidence_verdicts("c1", "Q1", "Q2", verdict="vague"))
    ]
    assert floors == [pytest.approx(1.0), pytest.approx(0.9)]


def test_c135_a_copy_is_measured_by_overlap(tmp_path: Path) -> None:
    case = translation_case("Marcus paid 49 dollars", "Marcus pagó 49 dólares")
    (strategy,) = in_closed_form("translation", [msgspec.convert(case, Case)]).values()
    assert strategy.rows["translation.meaning"] == pytest.approx(2 / 4)
    assert strategy.rows["translation.completeness"] == 1


def mixtures() -> Iterator[tuple[Case, str, Json]]:
    """The sample calls, answered by mixtures that read nothing."""
    spotted = name_mixture(("keywords", "topics"), (LITERAL, WHOLE))
    marks = name_mixture(("SCORE", "PASS_FAIL"), (FULL, ZERO))
    cases = cases_of("sample")
    ways = {"qa": qa_ways([c for c in cases if c.task == "qa"])[marks]}
    ways |= {"entity": ENTITY_WAYS[spotted], "translation": written_twice}
    for case in cases:
        if case.task in ways:
            yield case, case.task, ways[case.task](case)


def test_c135_no_mixture_is_better_than_its_floor() -> None:
    answered_cases = list(mixtures())
    outputs = [output(case.id, answer) for case, _, answer in answered_cases]
    cases = [msgspec.to_builtins(case) for case, _, _ in answered_cases]
    given = [{key: v for key, v in case.items() if v is not None} for case in cases]
    card = callscore.score(given, outputs, judge="offline", settings={"gates": "formula_only"})
    for name, task in card.models[0].tasks.items():
        assert task.trivial_floor is not None
        reached = task.score if task.score is not None else task.ungated_score
        assert reached is not None
        assert reached <= task.trivial_floor + 1e-9, name


def test_c135_validate_prints_the_floors_of_a_data_set(tmp_path: Path) -> None:
    notes = check_cases([BUNDLED]).notes
    assert [note.split(":")[0] for note in notes] == [
        "an answer that reads nothing scores qa 0.690",
        "an answer that reads nothing scores entity 0.926",
        "an answer that reads nothing scores text 0.603",
        "an answer that reads nothing scores translation 0.577",
    ]
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps(passed_all()[0]), encoding="utf-8")
    assert check_cases([path]).notes[-1] == (
        "QA: people failed 2 of 220 questions: the false pass rate cannot be demonstrated with"
        " this data"
    )


def test_c135_the_floor_of_a_large_data_set_is_that_of_every_kth_case() -> None:
    floors, every = DataFloors(formula_of, 3_000), DataFloors(formula_of)
    for number in range(3_000):
        case: Any = qa_case([question("Q1", 5 * (number % 2))], f"c{number}")
        reference = TASKS["qa"].reference(msgspec.convert(case, Case))
        floors.add(TASKS["qa"], reference)
        every.add(TASKS["qa"], reference)
    assert failures_of(floors) == (500, 1_000) and failures_of(every) == (1_500, 3_000)
    some, all_of_them = floors.found()["qa"], every.found()["qa"]
    assert some.score == all_of_them.score
    assert some.strategy == f"{all_of_them.strategy} (1 of 3 cases counted)"


def test_c135_memory_stays_flat_where_every_call_has_questions_of_its_own() -> None:
    tally = QAFloor()
    for number in range(25_000):
        case = qa_case([question(f"Q{number}", 5 * (number % 2))])
        tally.add(TASKS["qa"].reference(msgspec.convert(case, Case)))
    assert len(tally._counts) < 20_100
    assert tally.failures == (12_500, 25_000)
