"""A verdict on anything that a task asks about is about an item that is there."""

from __future__ import annotations

from random import Random

from hypothesis import given

from callscore.core.case import Malformed
from callscore.core.judging import Item
from callscore.suites.calls.translation import outcomes
from callscore.suites.calls.verdict_rules import has_item
from properties.test_laws import NOISE, for_every_task, seeded_dice, thoroughly
from properties.trial import TASKS, examined, steady
from random_calls import tasks as random_tasks


@for_every_task
@thoroughly
@given(dice=seeded_dice)
def test_every_item_that_is_asked_about_is_known(name: str, dice: Random) -> None:
    recipe, task = random_tasks.TASKS[name], TASKS[name]
    case = recipe.make(dice, "c1")
    answer = recipe.mutate(dice, case, dice.choice(NOISE))
    reference, output, _ = examined(task, case, answer, steady)
    if isinstance(output, Malformed):
        return
    asked = list(task.ask(reference, output))
    if name == "translation":
        asked += outcomes.case_questions(reference)
    unknown = [q for q in asked if not has_item(reference, output, Item(q.metric, q.item))]
    assert not unknown
