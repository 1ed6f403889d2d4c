"""Laws over all measures of the calls suite: on random calls, for every task and every metric."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from callscore.core.case import Case, Malformed, Prompt, Reply
from callscore.core.judging import Question, Verdicts
from callscore.core.measure import Measure
from callscore.core.task import Measured, Task
from callscore.suites.calls import spec
from properties import laws
from properties.laws import LAWS
from properties.trial import TASKS, AnyTask, answered, kindest, measured, permuted, steady
from random_calls import tasks as random_tasks
from random_calls.breakage import break_structure
from random_calls.dice import perfect_answer

ALL_SLUGS = [slug for slugs in spec.metric_names().by_task.values() for slug in slugs]
NOISE = (0.05, 0.3, 0.7)

# Only the seed is drawn: nothing is shrunk, and to draw each throw takes longer than all measures.
seeded_dice = st.randoms(use_true_random=True, note_method_calls=False)
over_random_calls = given(dice=seeded_dice)
# No shrinking: whole calls take minutes to shrink, and the case that is noted is small as it is.
thoroughly = settings(
    max_examples=100,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
for_every_task = pytest.mark.parametrize("name", list(TASKS))


def law_of_bounds(task: AnyTask, dice: Random) -> None:
    """Every measure lies in the range of its unit, and a percent beside a share agrees with it."""
    recipe = random_tasks.TASKS[task.name]
    case = recipe.make(dice, "c1")
    answer = recipe.mutate(dice, case, dice.choice(NOISE))
    note(f"{case}\n{answer}")
    found = measured(task, case, answer, steady)
    assert set(found.measures) == set(spec.metric_names().by_task[task.name])
    assert not laws.out_of_bounds(found)
    assert not laws.unlike_complement(found)


def law_of_order(task: AnyTask, dice: Random) -> None:
    """The order of the items of an answer, of a reference and of a config changes nothing."""
    recipe = random_tasks.TASKS[task.name]
    case = recipe.make(dice, "c1")
    answer = recipe.mutate(dice, case, dice.choice(NOISE))
    shuffled = permuted(dice, {key: case[key] for key in case if key != "transcript"})
    shuffled["transcript"] = case["transcript"]
    note(f"{case}\n{answer}\n{shuffled}")
    found = measured(task, case, answer, steady)
    assert not laws.changed(found, measured(task, shuffled, permuted(dice, answer), steady))


def law_of_the_perfect_answer(task: AnyTask, dice: Random) -> None:
    """The expected outcome itself, kindly judged, is at the top everywhere and breaches nothing."""
    case = random_tasks.TASKS[task.name].make(dice, "c1")
    note(f"{case}")
    answer = answered(task, case, perfect_answer(case), kindest)
    measures = answer.measured.measures
    assert not laws.below_top(answer.measured)
    assert measures[f"{task.name}.structure"].value == 1
    open_words = {measures[slug].absence for slug in answer.score.reasons}
    assert open_words <= {"absent", "undefined"}
    assert answer.score.status == ("incomplete" if open_words else "valid")
    if answer.score.status == "valid":
        assert answer.score.score == pytest.approx(1, abs=laws.EPSILON)


def law_of_spoiling(task: AnyTask, dice: Random) -> None:
    """A right item replaced by a wrong one never brings a measure nearer to the top."""
    recipe = random_tasks.TASKS[task.name]
    case = recipe.make(dice, "c1")
    answer = recipe.mutate(dice, case, dice.choice((0.0, *NOISE)))
    spoiled = recipe.spoil(dice, case, answer)
    note(f"{case}\n{answer}\n{spoiled}")
    if spoiled is not None:
        before, after = (measured(task, case, given, steady) for given in (answer, spoiled))
        assert not laws.improved(before, after)


LAW_TESTS: dict[str, Callable[[AnyTask, Random], None]] = {
    "bounds": law_of_bounds,
    "order": law_of_order,
    "perfect": law_of_the_perfect_answer,
    "spoiling": law_of_spoiling,
}


@for_every_task
@pytest.mark.parametrize("law", LAW_TESTS)
@thoroughly
@over_random_calls
def test_every_measure_keeps_the_law(law: str, name: str, dice: Random) -> None:
    LAW_TESTS[law](TASKS[name], dice)


@pytest.mark.slow
@for_every_task
@pytest.mark.parametrize("law", LAW_TESTS)
@settings(thoroughly, max_examples=3000)
@over_random_calls
def test_every_measure_keeps_the_law_on_thousands(law: str, name: str, dice: Random) -> None:
    LAW_TESTS[law](TASKS[name], dice)


@for_every_task
@thoroughly
@over_random_calls
def test_an_answer_of_the_wrong_shape_has_structure_0_and_no_other_value(
    name: str, dice: Random
) -> None:
    recipe = random_tasks.TASKS[name]
    case = recipe.make(dice, "c1")
    answer = answered(
        TASKS[name], case, break_structure(dice, recipe.mutate(dice, case, 0.3)), steady
    )
    values = {slug: m.value for slug, m in answer.measured.measures.items() if m.value is not None}
    assert values == {f"{name}.structure": 0}
    assert (answer.score.status, answer.score.ungated_score) == ("invalid", None)
    assert answer.score.call_breaches == [f"{name}.structure"]


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(10**300, 10**310),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(["", "n/a", "Q1", "neutral", "-", "12:30", "₹1,00,000", "٣", "३–५", "1e400"]),
)


def wild(outcome: Any) -> st.SearchStrategy[Any]:
    """Any JSON with the containers and keys of an outcome: what the structure check lets through"""
    if isinstance(outcome, dict):
        return st.fixed_dictionaries({key: wild(value) for key, value in outcome.items()})
    if isinstance(outcome, list):
        kinds = [wild(item) for item in outcome[:1]] or [SCALARS]
        return st.lists(st.one_of(st.sampled_from(outcome), *kinds) if outcome else SCALARS)
    return st.one_of(st.just(outcome), SCALARS)


@for_every_task
@settings(thoroughly, max_examples=60)
@given(data=st.data(), dice=seeded_dice)
def test_no_answer_that_the_structure_check_lets_through_raises(
    name: str, data: st.DataObject, dice: Random
) -> None:
    task = TASKS[name]
    case = random_tasks.TASKS[name].make(dice, "c1")
    answer = data.draw(wild(case["expected_outcome"]))
    found = measured(task, case, answer, steady)
    assert set(found.measures) == set(spec.metric_names().by_task[name])
    assert not laws.out_of_bounds(found)
    reference = task.reference(msgspec.convert(case, Case))
    unjudged = task.measure(reference, task.read(reference, Reply(msgspec.json.encode(answer))), {})
    assert not laws.out_of_bounds(unjudged)


def test_every_metric_of_the_framework_has_declared_its_laws() -> None:
    assert list(LAWS) == ALL_SLUGS
    assert {slug: law.unit for slug, law in LAWS.items()} == {
        slug: spec.load_spec().metrics[slug].unit for slug in ALL_SLUGS
    }
    twins = {slug: spec.load_spec().metrics[slug].complement_of for slug in ALL_SLUGS}
    assert {slug: twin for slug, twin in twins.items() if twin} == laws.COMPLEMENTS


@pytest.mark.parametrize("slug", ALL_SLUGS)
def test_each_check_catches_each_measure(slug: str) -> None:
    law = LAWS[slug]
    fine = Measured({name: Measure(LAWS[name].top) for name in ALL_SLUGS})
    spoiled = Measured({**fine.measures, slug: Measure(0.5 if law.top else 2.0)})
    beyond = Measured({**fine.measures, slug: Measure(-1.0)})
    assert laws.below_top(fine) == laws.out_of_bounds(fine) == laws.changed(fine, fine) == set()
    assert laws.below_top(spoiled) == laws.changed(fine, spoiled) == {slug}
    assert laws.improved(spoiled, fine) == {slug}
    assert laws.improved(fine, spoiled) == set()
    assert laws.out_of_bounds(beyond) == {slug}


class Sabotaged(Task[Any, Any]):
    """A task, one of whose measures is replaced by a broken one."""

    def __init__(self, whole: AnyTask, breaks: Callable[[Any, Any, Measured], Measured]) -> None:
        self.name = whole.name
        self._whole = whole
        self._breaks = breaks

    def reference(self, case: Case) -> Any:
        return self._whole.reference(case)

    def prompt(self, case: Case) -> Prompt:
        return self._whole.prompt(case)

    def read(self, reference: Any, reply: Reply) -> Any | Malformed:
        return self._whole.read(reference, reply)

    def ask(self, reference: Any, output: Any) -> Any:
        questions: list[Question] = list(self._whole.ask(reference, output))
        return questions

    def measure(self, reference: Any, output: Any, verdicts: Verdicts) -> Measured:
        found = self._whole.measure(reference, output, verdicts)
        return self._breaks(reference, output, found)


ACCURACY = "qa.question_score_accuracy"


def _with_accuracy(found: Measured, value: float) -> Measured:
    return Measured({**found.measures, ACCURACY: Measure(value)})


def _first_question_only(reference: Any, output: Any, found: Measured) -> Measured:
    first = next(iter(reference.questions))
    return _with_accuracy(found, float(first in output.by_id))


def _share_of_errors(reference: Any, output: Any, found: Measured) -> Measured:
    value = found.measures[ACCURACY].value
    return found if value is None else _with_accuracy(found, 1 - value)


def _over_answered_questions(reference: Any, output: Any, found: Measured) -> Measured:
    return _with_accuracy(found, len(reference.questions) / max(1, len(output.by_id)))


@pytest.mark.parametrize(
    ("law", "breaks"),
    [
        ("bounds", _over_answered_questions),
        ("order", _first_question_only),
        ("perfect", _share_of_errors),
        ("spoiling", _share_of_errors),
    ],
)
def test_a_broken_measure_is_caught(
    law: str, breaks: Callable[[Any, Any, Measured], Measured]
) -> None:
    task = Sabotaged(TASKS["qa"], breaks)

    # the same dice each time: whether a break is met must not depend on luck
    @settings(thoroughly, max_examples=200, derandomize=True)
    @over_random_calls
    def keeps_the_law(dice: Random) -> None:
        LAW_TESTS[law](task, dice)

    with pytest.raises(AssertionError):
        keeps_the_law()
