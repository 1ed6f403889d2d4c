"""What a run would come to, before anything is spent: calls, tokens, dollars from … to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from callscore.core.case import Case
from callscore.core.run_words import ModelSpec
from callscore.running.asked import Asked, Subjects, call_of
from callscore.running.models import Reached
from callscore.suites.calls.translation.critical import given_facts

BYTES_A_TOKEN = 4
JUDGED_TASKS = frozenset({"qa", "text", "translation"})
RUBRIC_TOKENS = 1_200
"""The part of a judge's request that every case of a task shares; docs/judge.md counts it."""
IsPaid = Callable[[bytes], bool]
"""Whether the answer to a request, by its key, is already in the journal."""


class Estimate(msgspec.Struct, frozen=True):
    """One model's part. Answers are expected as long as the human's, and are at most their cap."""

    model: str
    calls: int = 0
    already_paid: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    most_output_tokens: int = 0
    cost_usd: float | None = None
    most_cost_usd: float | None = None


def estimate(
    models: Sequence[Reached], subjects: Subjects, repeats: int, is_paid: IsPaid
) -> list[Estimate]:
    """One pass over the data, every request built as it would be sent."""
    counted = {model.spec.name: _Count() for model in models}
    for asked in subjects.stream():
        expected = len(msgspec.json.encode(asked.case.expected_outcome)) // BYTES_A_TOKEN + 1
        for model in models:
            count = counted[model.spec.name]
            for run in range(1, repeats + 1):
                count.add(model, asked, run, expected, is_paid)
    return [counted[model.spec.name].estimate(model) for model in models]


def estimate_judging(
    judge: ModelSpec, answers_a_case: int, subjects: Subjects, *, benchmarks: bool
) -> Estimate:
    """What judging comes to at most: a request a case and one an answer to the first judge.

    It may be nothing: code decides what it can, and kept verdicts are not asked again. What a
    panel's other judges are asked about risky items, and what is asked twice, is not in it.
    """
    calls = input_tokens = output_tokens = 0
    for asked in subjects.stream():
        if not (asked.case.task in JUDGED_TASKS or benchmarks or _has_values(asked.case)):
            continue
        expected = len(msgspec.json.encode(asked.case.expected_outcome)) // BYTES_A_TOKEN + 1
        shown = sum(len(message.content.encode()) for message in asked.prompt.messages)
        requests = answers_a_case + _is_asked_about(asked.case, benchmarks=benchmarks)
        calls += requests
        input_tokens += requests * (RUBRIC_TOKENS + shown // BYTES_A_TOKEN + 2 * expected)
        output_tokens += requests * expected
    price = judge.price
    return Estimate(
        model=f"{judge.name} (judge, at most)",
        calls=calls,
        input_tokens=input_tokens,
        most_output_tokens=output_tokens,
        cost_usd=0.0 if price is not None else None,
        most_cost_usd=price.of(input_tokens, output_tokens) if price is not None else None,
    )


def _has_values(case: Case) -> bool:
    """Whether a call is due, whose values a judge may have to compare."""
    return "calls" in case.expected_outcome or "actions" in case.expected_outcome


def _is_asked_about(case: Case, *, benchmarks: bool) -> bool:
    """Whether something is asked about the case itself, before its answers: turns, outcomes."""
    if case.task == "translation":
        return given_facts(case) is None
    return benchmarks and case.task in JUDGED_TASKS


class _Count:
    """Sums over the calls of one model."""

    def __init__(self) -> None:
        self._calls = self._paid = 0
        self._input = self._expected = self._most = 0

    def add(self, model: Reached, asked: Asked, run: int, expected: int, is_paid: IsPaid) -> None:
        call = call_of(model.provider, asked, run)
        if call is None:
            return
        self._calls += 1
        if is_paid(call.key):
            self._paid += 1
            return
        self._input += call.input_tokens
        self._expected += min(expected, call.max_output_tokens)
        self._most += call.max_output_tokens

    def estimate(self, model: Reached) -> Estimate:
        price = model.spec.price
        return Estimate(
            model=model.spec.name,
            calls=self._calls,
            already_paid=self._paid,
            input_tokens=self._input,
            output_tokens=self._expected,
            most_output_tokens=self._most,
            cost_usd=price.of(self._input, self._expected) if price is not None else None,
            most_cost_usd=price.of(self._input, self._most) if price is not None else None,
        )
