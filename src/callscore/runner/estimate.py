"""Estimates requests, tokens and cost of a run before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import msgspec

from callscore.core.case import Case
from callscore.core.provider import ProviderRequest
from callscore.core.run import JudgeSpec, ModelSpec
from callscore.core.scenarios import USER, FollowUpBound
from callscore.core.suite import no_data_names
from callscore.core.task import BenchmarkLayer, ItemCount, Task
from callscore.core.verdict_rules import DOCUMENT
from callscore.judges.judge_prompt import MOST_ITEMS
from callscore.runner.cases import CasePrompt, request_of
from callscore.runner.prepare import ModelHandle, PreparedRun, price_of
from callscore.store.address import is_written, open_store
from callscore.suites.registry import suite_of

BYTES_PER_TOKEN = 4
"""About those of English text."""
RUBRIC_TOKENS = 2_800
"""The part of a judge's request that every case of a task shares, and its schema."""
ITEM_TOKENS, ENTRY_TOKENS, CANARIES = 80, 160, 2
"""Tokens of an item without its texts, of its verdict with a quote; number of canaries."""
RECORD_TOKENS = 200
"""Of a five-key record without the text that it quotes (`style: document`)."""
STATEMENTS_ASKED = 3
"""Items that may repeat one text of a reply."""
ANSWER_TOKENS = 25_000
"""The most tokens of a reply that a judge sees."""
ATTEMPTS = 2
"""A judge request is sent again once if its reply cannot be used."""
IsPaid = Callable[[bytes], bool]
"""Whether the reply to a request, by its key, is already in the journal."""


class Estimate(msgspec.Struct, frozen=True):
    """The estimate of one model. Replies are expected to be as long as the reference."""

    model: str
    calls: int = 0
    already_paid: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    most_output_tokens: int = 0
    cost_usd: float | None = None
    most_cost_usd: float | None = None


def dry_run(prepared: PreparedRun) -> list[Estimate]:
    """Estimate the run; replies that are already in the store cost nothing.

    Raises ConfigError if a tool of a conversation cannot be loaded: the run would not start.
    """
    prepared.load_tools()
    store = prepared.config.store
    if not is_written(store):
        return _estimate(prepared, lambda key: False)
    with open_store(store, only_reading=True) as opened:
        return _estimate(prepared, lambda key: opened.find_reply(key) is not None)


def _estimate(prepared: PreparedRun, is_paid: IsPaid) -> list[Estimate]:
    config = prepared.config
    counts = count_requests(prepared.models, prepared.read_cases(), config.repeats, is_paid)
    longest = max((count.longest for count in counts.values()), default=0)
    found = _add_follow_ups(prepared, counts)
    judge, benchmarks = config.scoring.judge, config.scoring.benchmarks
    if isinstance(judge, tuple):
        judges = [msgspec.structs.replace(spec, price=price_of(spec)) for spec in judge]
        answers = JudgedAnswers(len(prepared.models) * config.repeats, longest, benchmarks)
        found += estimate_judging(judges, answers, prepared.read_cases())
    return found


def estimate(
    models: Sequence[ModelHandle], cases: Iterable[CasePrompt], repeats: int, is_paid: IsPaid
) -> list[Estimate]:
    """The estimate of every model, for cases that depend on no reply."""
    counted = count_requests(models, cases, repeats, is_paid)
    return [counted[model.spec.name].estimate(model) for model in models]


def count_requests(
    models: Sequence[ModelHandle], cases: Iterable[CasePrompt], repeats: int, is_paid: IsPaid
) -> dict[str, _ModelCount]:
    """One pass over the data; every request is built as for sending."""
    counted = {model.spec.name: _ModelCount() for model in models}
    for asked in cases:
        expected = _expected_tokens(asked)
        for model in models:
            count = counted[model.spec.name]
            for run in range(1, repeats + 1):
                count.add(model, asked, run, expected, is_paid)
    return counted


def _add_follow_ups(prepared: PreparedRun, counts: dict[str, _ModelCount]) -> list[Estimate]:
    """The estimates with the most that requests after the first pass can take.

    What is asked there depends on replies, so that nothing of it counts as paid.
    """
    repeats, user = prepared.config.repeats, _ModelCount()
    asked = [each for each in prepared.helpers if each.spec.name == USER]
    for source in prepared.sources:
        for bound in source.follow_up_bounds():
            if bound.by == USER:
                for helper in asked:
                    user.add_bound(helper, bound, repeats * len(prepared.models))
                continue
            for model in prepared.models:
                counts[model.spec.name].add_bound(model, bound, repeats)
    found = [counts[model.spec.name].estimate(model) for model in prepared.models]
    return found + [user.estimate(helper) for helper in asked]


class JudgedAnswers(msgspec.Struct, frozen=True):
    """What is judged: replies per case, their greatest length, and whether benchmarks run."""

    per_case: int
    longest: int
    """Tokens."""
    benchmarks: bool


def estimate_judging(
    judges: Sequence[JudgeSpec], answers: JudgedAnswers, cases: Iterable[CasePrompt]
) -> list[Estimate]:
    """The most that judging can cost, by judge.

    Assumes that every item is open, that every answer has as many statements as are judged, that
    every request is sent twice, and that every judge of a panel is asked everything. The cost may
    be zero: code decides what it can, and cached verdicts are not requested again. Not included:
    the 5 % of answers that the first judge is asked about again to measure its consistency, and
    the parts of requests that a judge could not cope with.
    """
    counts = [_JudgeCount(judge.items_per_request or MOST_ITEMS) for judge in judges]
    for asked in cases:
        for count in counts:
            if judges[0].style == DOCUMENT:
                count.add_whole(asked, answers)
            else:
                count.add(asked, answers)
    return [count.estimate(judge) for count, judge in zip(counts, judges, strict=True)]


class _JudgeCount:
    """Requests and tokens of one judge, each request sent twice."""

    def __init__(self, items_per_request: int) -> None:
        self._items_per_request = items_per_request
        self._calls = self._input = self._output = 0

    def add(self, asked: CasePrompt, answers: JudgedAnswers) -> None:
        items = most_items(asked.case, benchmarks=answers.benchmarks)
        base = RUBRIC_TOKENS + _prompt_tokens(asked) + 2 * _expected_tokens(asked)
        texts = STATEMENTS_ASKED * answers.longest
        for number, judge_requests, longest, said in (
            (items.of_case, 1, 0, _prompt_tokens(asked)),
            (items.of_answer, answers.per_case, min(answers.longest, ANSWER_TOKENS), texts),
        ):
            requests = judge_requests * -(-number // self._items_per_request)
            self._calls += ATTEMPTS * requests
            self._input += ATTEMPTS * (requests * (base + longest))
            self._input += (
                ATTEMPTS * judge_requests * (number * ITEM_TOKENS + (said if number else 0))
            )
            self._output += (
                ATTEMPTS * (judge_requests * number + requests * CANARIES) * ENTRY_TOKENS
            )

    def add_whole(self, asked: CasePrompt, answers: JudgedAnswers) -> None:
        requests = answers.per_case * _metrics_of(asked.case, benchmarks=answers.benchmarks)
        longest = min(answers.longest, ANSWER_TOKENS)
        self._calls += ATTEMPTS * requests
        shown = RUBRIC_TOKENS + _prompt_tokens(asked) + 2 * _expected_tokens(asked) + longest
        self._input += ATTEMPTS * requests * shown
        self._output += ATTEMPTS * requests * (RECORD_TOKENS + _expected_tokens(asked) + longest)

    def estimate(self, judge: ModelSpec) -> Estimate:
        price = judge.price
        return Estimate(
            model=f"{judge.name} (judge, at most)",
            calls=self._calls,
            input_tokens=self._input,
            most_output_tokens=self._output,
            cost_usd=0.0 if price is not None else None,
            most_cost_usd=price.of(self._input, self._output) if price is not None else None,
        )


def _prompt_tokens(asked: CasePrompt) -> int:
    return (
        sum(len(message.content.encode()) for message in asked.prompt.messages) // BYTES_PER_TOKEN
    )


def _expected_tokens(asked: CasePrompt) -> int:
    return len(msgspec.json.encode(asked.case.expected_outcome)) // BYTES_PER_TOKEN + 1


def most_items(case: Case, *, benchmarks: bool) -> ItemCount:
    """The most items that a judge can be asked about, for any reply."""
    task, layer = _task_and_layer(case.task)
    found = task.count_items(case) if task is not None else ItemCount(0, 0)
    if layer is None or not benchmarks:
        return found
    added = layer.count_items(case)
    return ItemCount(found.of_case + added.of_case, found.of_answer + added.of_answer)


@cache
def _task_and_layer(name: str) -> tuple[Task[Any, Any] | None, BenchmarkLayer | None]:
    """The task with a name, and the second layer if it applies to the task."""
    suite = suite_of(name)
    if suite is None:
        return None, None
    task = suite.task(name, suite.settings({}), no_data_names)
    return task, task.benchmarks()


def _metrics_of(case: Case, *, benchmarks: bool) -> int:
    """The metrics of a task that may be scored as a whole (`style: document`)."""
    suite = suite_of(case.task)
    kinds = (f"{case.task}.", "bench.") if benchmarks else (f"{case.task}.",)
    judged = suite.verdict_rules.framework_judge().metrics if suite else ()
    return sum(slug.startswith(kinds) for slug in judged)


def most_input_tokens(request: ProviderRequest) -> int:
    """The most tokens that a request can have: no token is shorter than a byte."""
    return max(len(request.body), request.input_tokens)


class _ModelCount:
    """Sums over the calls of one model."""

    def __init__(self) -> None:
        self._calls = self._paid = 0
        self._input = self._most_input = self._expected = self._most = self.longest = 0

    def add(
        self, model: ModelHandle, asked: CasePrompt, run: int, expected: int, is_paid: IsPaid
    ) -> None:
        call = request_of(model.provider, asked, run)
        if call is None:
            return
        self._calls += 1
        self.longest = max(self.longest, call.max_output_tokens)
        if is_paid(call.key):
            self._paid += 1
            return
        self._input += call.input_tokens
        self._most_input += most_input_tokens(call)
        self._expected += min(expected, call.max_output_tokens)
        self._most += call.max_output_tokens

    def add_bound(self, model: ModelHandle, bound: FollowUpBound, runs: int) -> None:
        """Add requests that are not known yet: as many as expected, and as many as can be."""
        asked = CasePrompt(bound.case, bound.prompt)
        call = request_of(model.provider, asked, 1)
        if call is None:
            return
        most_output = call.max_output_tokens
        longest = most_input_tokens(call) + bound.more_bytes + bound.more_replies * most_output
        self._calls += runs * bound.requests
        self._input += runs * bound.expected * call.input_tokens
        self._most_input += runs * bound.requests * longest
        self._expected += runs * bound.expected * min(_expected_tokens(asked), most_output)
        self._most += runs * bound.requests * most_output

    def estimate(self, model: ModelHandle) -> Estimate:
        price = model.spec.price
        return Estimate(
            model=model.spec.name,
            calls=self._calls,
            already_paid=self._paid,
            input_tokens=self._input,
            output_tokens=self._expected,
            most_output_tokens=self._most,
            cost_usd=price.of(self._input, self._expected) if price is not None else None,
            most_cost_usd=price.of(self._most_input, self._most) if price is not None else None,
        )
