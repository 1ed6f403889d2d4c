"""Records name exactly the items that were counted: no more, no fewer (C-100)."""

from __future__ import annotations

from random import Random

from hypothesis import given, note

from properties.test_laws import NOISE, for_every_task, seeded_dice, thoroughly
from properties.trial import TASKS, examined, kindest, steady
from random_calls import tasks as random_tasks
from random_calls.breakage import break_structure
from random_calls.dice import chance, perfect_answer

SHARES = {
    *("qa.question_score_accuracy", "entity.keyword_recall", "entity.topic_recall"),
    *("entity.cross_language_match_rate", "text.sentiment_accuracy", "text.highlight_recall"),
    *("text.highlight_correctness", "text.field_presence", "text.fabrication_free"),
    *("translation.completeness", "translation.domain_terms", "translation.proper_nouns"),
}
"""Their numerator is what counted for the answer."""
COUNTS = {
    *("qa.false_pass_rate", "entity.fabricated_count", "text.missing_labels"),
    *("text.hallucination_rate", "translation.drift"),
}
"""Their numerator is what counted against it."""


@for_every_task
@thoroughly
@given(dice=seeded_dice)
def test_c100_as_many_items_are_named_as_counted_against_an_answer(name: str, dice: Random) -> None:
    recipe, task = random_tasks.TASKS[name], TASKS[name]
    case = recipe.make(dice, "c1")
    answer = recipe.mutate(dice, case, dice.choice(NOISE))
    if chance(dice, 0.1):
        answer = break_structure(dice, answer)
    note(f"{case}\n{answer}")
    trial = examined(task, case, answer, steady)
    measures, faults = task.measure(*trial).measures, TASKS[name].explain(*trial)
    for slug, measure in measures.items():
        if measure.value is None or measure.denominator == 0:
            continue
        against = len(faults.get(slug, ()))
        if slug in SHARES:
            assert against == measure.denominator - measure.numerator, slug
        elif slug in COUNTS:
            assert against == measure.numerator, slug
        elif against:
            assert measure.value < 1, slug


@for_every_task
@thoroughly
@given(dice=seeded_dice)
def test_c100_nothing_is_named_against_the_human(name: str, dice: Random) -> None:
    case = random_tasks.TASKS[name].make(dice, "c1")
    trial = examined(TASKS[name], case, perfect_answer(case), kindest)
    named = {slug: items for slug, items in TASKS[name].explain(*trial).items() if items}
    measures = TASKS[name].measure(*trial).measures
    assert all(measures[slug].value is None for slug in named), named
