"""Short constructors for cases of the task text, and functions that measure answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from calls_suite import formula_of
from callscore.core.case import Case, Malformed, Reply
from callscore.core.judging import NO_VERDICTS, Item, Question, Verdict, Verdicts
from callscore.core.measure import Measure
from callscore.core.task import Measured
from callscore.scorecard.formula import CaseScore, score_case
from callscore.suites.calls.spec import Settings, make_settings
from callscore.suites.calls.text.task import TextOutput, TextTask

Json = dict[str, Any]

TASK = TextTask(make_settings())
PURPOSE = "Customer requesting refund for duplicate charge"
HIGHLIGHTS = ("Duplicate charge confirmed", "Refund of $49 initiated")
FIELDS: Mapping[str, Any] = {"customer_name": "Ana", "follow_up": "Credit in 3 days"}
FOUR_FIELDS = {
    "customer_name": "Ana",
    "issue_type": "Billing",
    "resolution": "ok",
    "follow_up": "3 d",
}
EMOTION: Mapping[str, Any] = {"anger": 60, "neutral": 30, "joy": 10, "fear": 0, "sadness": 0}


def sentences(*labels: object) -> list[Json]:
    """Sentences numbered from 1 with these labels."""
    return [
        {"sentence_id": number, "text": f"what was said in turn {number}", "label": label}
        for number, label in enumerate(labels, start=1)
    ]


def summary(
    purpose: object = PURPOSE,
    highlights: Sequence[Any] = HIGHLIGHTS,
    fields: Mapping[str, Any] = FIELDS,
) -> Json:
    """A summary in the documented form."""
    return {
        "call_purpose": purpose,
        "highlights": list(highlights),
        "call_extracted_info": dict(fields),
    }


def outcome(**parts: Any) -> Json:
    """An outcome in the documented form; `parts` replace its parts."""
    return {
        "sentiment": sentences("negative", "neutral", "positive"),
        "summary": summary(),
        "emotion": dict(EMOTION),
    } | parts


def text_case(expected: Json | None = None, parts: Mapping[str, Any] | None = None) -> Case:
    """A case of one call with this expected outcome."""
    return Case(
        id="c1",
        task="text",
        transcript="Customer: I was charged twice",
        config={},
        expected_outcome=outcome() if expected is None else expected,
        expected_parts=parts,
    )


def case_of_summary(**expected: Any) -> Case:
    """A case whose summary has these expected parts."""
    return text_case(outcome(summary=summary(**expected)))


def verdict(metric: str, item: str, word: str | None = None, **more: Any) -> Verdict:
    """A verdict; the metric is named without `text.`"""
    return Verdict(f"text.{metric}", item, word, **more)


def verdicts(*given: Verdict) -> Verdicts:
    """Verdicts by item, as a task receives them."""
    by_item: dict[Item, list[Verdict]] = {}
    for one in given:
        by_item.setdefault(Item(one.metric, one.item), []).append(one)
    return by_item


def claim_verdicts(words: Iterable[str], *, texts: bool = True) -> Verdicts:
    """Verdicts on claims numbered from 1, with different texts or without text."""
    return verdicts(
        *(
            verdict("fabrication_free", f"claim:{n}", word, text=f"fact {n}" if texts else "")
            for n, word in enumerate(words, start=1)
        )
    )


def read(case: Case, answer: object, task: TextTask = TASK) -> TextOutput | Malformed:
    """Parse an answer with the task: text is sent unchanged, any other value as JSON."""
    text = answer if isinstance(answer, str) else msgspec.json.encode(answer)
    return task.read(task.reference(case), Reply(text))


def measure_answer(
    case: Case,
    answer: object,
    given: Verdicts = NO_VERDICTS,
    changed: Settings | None = None,
) -> Measured:
    """Measure an answer."""
    task = TASK if changed is None else TextTask(changed)
    return task.measure(task.reference(case), read(case, answer, task), given)


def measures(case: Case, answer: object, given: Verdicts = NO_VERDICTS) -> dict[str, Measure]:
    """The measures by short name: `call_intent` for `text.call_intent`."""
    found = measure_answer(case, answer, given).measures
    return {slug.removeprefix("text."): measure for slug, measure in found.items()}


def values(case: Case, answer: object, given: Verdicts = NO_VERDICTS) -> dict[str, float | None]:
    """The values by short name."""
    return {name: measure.value for name, measure in measures(case, answer, given).items()}


def labelled(expected: Sequence[object], given: Sequence[object]) -> dict[str, float | None]:
    """The values where sentences with these labels were expected and given."""
    case = text_case(outcome(sentiment=sentences(*expected)))
    return values(case, outcome(sentiment=sentences(*given)))


def summarised(answer: dict[str, Any], **expected: Any) -> dict[str, float | None]:
    """The values of a summary where one with these parts was expected."""
    return values(case_of_summary(**expected), outcome(summary=answer))


def flags(case: Case, answer: object, given: Verdicts = NO_VERDICTS) -> list[str]:
    """The flags of an answer."""
    return list(measure_answer(case, answer, given).flags)


def score_answer(case: Case, answer: object, given: Verdicts = NO_VERDICTS) -> CaseScore:
    """Score an answer with all gates."""
    return score_case(formula_of("text", "all"), measure_answer(case, answer, given))


def questions(case: Case, answer: object) -> list[Question]:
    """The questions that code cannot decide about an answer."""
    output = read(case, answer)
    assert not isinstance(output, Malformed)
    return list(TASK.ask(TASK.reference(case), output))
