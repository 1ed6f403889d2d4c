"""Storms, money, interrupts, size: what a run does when things press."""

from __future__ import annotations

import ast
import asyncio
import os
import signal
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

import callscore.engine
from callscore.core.case import Reply
from callscore.core.provider import AttemptFailed, ProviderRequest, ProviderResponse
from callscore.core.run import Completed, Event, Limits, Price, Progress, Stopping, Work
from callscore.engine import loop
from callscore.engine.loop import Shutdown
from callscore.engine.workload import EngineOptions
from callscore.providers.scripted import ScriptedProvider, answer_ok
from engine_runs import (
    attempt_failed,
    planned_model,
    run_models,
    run_virtually,
    scripted_provider,
    virtual_time,
)
from run_cases import work_for


class Storm:
    """Refuses everything for a while, with or without saying how long to wait."""

    def __init__(self, lasts_s: float, retry_after_s: float | None) -> None:
        self._lasts_s = lasts_s
        self._ends = 0.0
        self._retry_after_s = retry_after_s

    def __call__(self, call: ProviderRequest, attempt: int) -> ProviderResponse | AttemptFailed:
        self._ends = self._ends or virtual_time() + self._lasts_s
        if virtual_time() < self._ends:
            return attempt_failed("rate_limited", "429", self._retry_after_s)
        return answer_ok(call, attempt)


@pytest.mark.parametrize("retry_after_s", [5.0, None])
def test_a_storm_of_429_pauses_the_key_and_raises_no_herd(retry_after_s: float | None) -> None:
    storm = Storm(30.0, retry_after_s)
    provider = ScriptedProvider(storm, latency_s=0.5)
    options = EngineOptions(backoff_first_s=2.0, backoff_cap_s=10.0)
    ran = run_virtually([planned_model(provider, 60, limits=Limits(32))], options)
    assert ran.summary.models["m"].answered == 60
    assert provider.most_in_flight <= 32
    # 32 in the first volley, then half of it after every pause.
    refused = provider.attempts.total() - 60
    assert 32 <= refused < 32 * 2 + 20


def test_an_absurd_retry_after_is_capped() -> None:
    provider = scripted_provider({1: attempt_failed("rate_limited", "429", 1e9)})
    ran = run_virtually([planned_model(provider, 5)], EngineOptions(retry_after_cap_s=40.0))
    assert ran.summary.models["m"].answered == 5
    assert 40.0 <= ran.took_s < 100.0


def test_models_with_the_same_key_pause_together_others_do_not() -> None:
    stormy = scripted_provider({1: attempt_failed("rate_limited", "429", 0.3)})
    sibling = ScriptedProvider(latency_s=0.02)
    stranger = ScriptedProvider(latency_s=0.001)
    finished: dict[str, float] = {}

    def listen(event: Event, stop: Shutdown) -> None:
        if isinstance(event, Completed):
            finished[event.work.model] = virtual_time()

    ran = run_virtually(
        [
            planned_model(stormy, 4, name="stormy", account="one"),
            planned_model(sibling, 40, name="sibling", account="one"),
            planned_model(stranger, 40, name="stranger", account="two"),
        ],
        on_event=listen,
    )
    assert finished["stranger"] < finished["sibling"]
    assert ran.took_s >= 0.3


def test_concurrency_goes_down_on_429_and_up_again() -> None:
    seen: list[int] = []

    def refuse_beyond_four(call: ProviderRequest, attempt: int) -> ProviderResponse | AttemptFailed:
        if len(seen) < 30 and provider.in_flight > 4:
            return attempt_failed("overloaded", "529", 0.001)
        return answer_ok(call, attempt)

    def listen(event: Event, stop: Shutdown) -> None:
        if isinstance(event, Progress):
            seen.append(event.concurrency)

    provider = ScriptedProvider(refuse_beyond_four, latency_s=0.002)
    options = EngineOptions(progress_s=0.005)
    ran = run_virtually(
        [planned_model(provider, 1_500, limits=Limits(32))], options, on_event=listen
    )
    assert ran.summary.models["m"].answered == 1_500
    assert min(seen) <= 8
    assert seen[0] == 32
    assert seen[-1] > 2 * min(seen)


def test_headers_that_announce_the_end_of_the_quota_are_heeded() -> None:
    answers: list[float] = []

    def last_one(call: ProviderRequest, attempt: int) -> ProviderResponse:
        answers.append(virtual_time())
        left = 0 if len(answers) == 1 else 10
        return ProviderResponse(Reply("ok", "stop", 1, 1), requests_left=left, reset_s=1.0)

    run_virtually([planned_model(ScriptedProvider(last_one), 3, limits=Limits(1))])
    assert answers[1] - answers[0] >= 1.0
    assert answers[2] - answers[1] < 1.0


def test_a_slow_model_holds_up_no_other() -> None:
    order: list[str] = []

    def listen(event: Event, stop: Shutdown) -> None:
        if isinstance(event, Completed):
            order.append(event.work.model)

    slow = planned_model(ScriptedProvider(latency_s=0.5), 4, name="slow", limits=Limits(2))
    quick = planned_model(ScriptedProvider(latency_s=0.001), 20, name="quick", limits=Limits(2))
    run_virtually([slow, quick], on_event=listen)
    assert order[-2:] == ["slow", "slow"]


def test_equal_models_come_along_together() -> None:
    order: list[str] = []

    def listen(event: Event, stop: Shutdown) -> None:
        if isinstance(event, Completed):
            order.append(event.work.model)

    models = [
        planned_model(ScriptedProvider(latency_s=0.002), 100, name=name) for name in ("a", "b")
    ]
    run_virtually(models, on_event=listen)
    assert 30 <= order[:100].count("a") <= 70


MOST = Price(1.0, 1.0).of(100, 50)


@pytest.mark.parametrize("calls_worth", [0.5, 1, 7.5, 20])
def test_the_budget_is_never_exceeded_counting_what_is_in_flight(
    tmp_path: Path, calls_worth: float
) -> None:
    def all_tokens(call: ProviderRequest, attempt: int) -> ProviderResponse:
        return ProviderResponse(Reply("ok", "stop", call.input_tokens, call.max_output_tokens))

    provider = ScriptedProvider(all_tokens, latency_s=0.002)
    model = planned_model(provider, 100, price=Price(1.0, 1.0), limits=Limits(50))
    ran = run_models(tmp_path, [model], EngineOptions(budget_usd=calls_worth * MOST * 1.000001))
    assert provider.paid.total() == int(calls_worth)
    assert ran.summary.status == "budget"
    assert ran.summary.models["m"].not_run == 100 - int(calls_worth)
    assert ran.summary.spend_usd <= calls_worth * MOST * 1.000001


def test_cheaper_answers_leave_money_for_more(tmp_path: Path) -> None:
    provider = ScriptedProvider(latency_s=0.001)
    model = planned_model(provider, 100, price=Price(0.0, 1.0), limits=Limits(50))
    most, cost = 50 / 1e6, 1 / 1e6
    run_models(tmp_path, [model], EngineOptions(budget_usd=most + 20 * cost))
    assert 20 <= provider.paid.total() <= 21


def test_what_earlier_sessions_paid_counts(tmp_path: Path) -> None:
    provider = ScriptedProvider()
    options = EngineOptions(budget_usd=1.0, already_spent_usd=1.0)
    ran = run_models(tmp_path, [planned_model(provider, 10, price=Price(1, 1))], options)
    assert provider.attempts.total() == 0
    assert ran.summary.status == "budget"


def test_stored_answers_are_used_beyond_the_budget(tmp_path: Path) -> None:
    run_models(tmp_path, [planned_model(ScriptedProvider(), 10, price=Price(1, 1))])
    some = [work_for(n) for n in (50, 51, 0, 1, 2)]
    model = planned_model(ScriptedProvider(), some, price=Price(1, 1), limits=Limits(1))
    ran = run_models(tmp_path, [model], EngineOptions(budget_usd=0.0))
    assert (ran.summary.models["m"].cached, ran.summary.models["m"].not_run) == (3, 2)


class StopAt:
    """Asks to stop when so many outcomes were told."""

    def __init__(self, number: int, times: int, *, briefly: bool = False) -> None:
        self._briefly = briefly
        self._number = number
        self._times = times
        self._outcomes = 0
        self._has_asked = False

    def __call__(self, event: Event, stop: Shutdown) -> None:
        self._outcomes += isinstance(event, Completed)
        if self._outcomes == self._number and not self._has_asked:
            self._has_asked = True
            for _ in range(self._times):
                stop.request(briefly=self._briefly)


def test_an_interrupt_keeps_what_arrives_and_sends_nothing_more(tmp_path: Path) -> None:
    provider = ScriptedProvider(latency_s=0.05)
    asked = StopAt(10, times=1)
    ran = run_models(tmp_path, [planned_model(provider, 500, limits=Limits(10))], on_event=asked)
    assert ran.summary.status == "interrupted"
    assert provider.paid.total() == len(ran.answers()) == ran.summary.models["m"].answered
    assert 10 <= provider.paid.total() <= 20


def test_a_stop_asked_before_the_beginning_sends_nothing(tmp_path: Path) -> None:
    provider = ScriptedProvider()

    def stream() -> Iterator[Work]:
        for number in range(50):
            asked[0].request()
            yield work_for(number)

    asked: list[Shutdown] = []
    ran = run_models(
        tmp_path,
        [
            planned_model(ScriptedProvider(), 0, name="none"),
            planned_model(provider, stream(), total=50),
        ],
        on_start=asked.append,
    )
    assert provider.attempts.total() == 0
    assert ran.summary.status == "interrupted"


class Hanging(ScriptedProvider):
    """Answers so many calls, then nothing for ten minutes."""

    def __init__(self, answers: int) -> None:
        super().__init__()
        self._answers = answers

    async def attempt(self, call: ProviderRequest) -> ProviderResponse | AttemptFailed:
        self._answers -= 1
        await asyncio.sleep(0.001 if self._answers >= 0 else 600)
        return await super().attempt(call)


def test_an_interrupt_waits_for_calls_in_flight_to_their_deadline() -> None:
    asked = StopAt(5, times=1)
    options = EngineOptions(attempt_s=60.0, grace_s=10.0)
    ran = run_virtually([planned_model(Hanging(5), 50)], options, on_event=asked)
    assert ran.took_s == pytest.approx(60.0, abs=0.1)
    assert ran.summary.status == "interrupted"
    (stopping,) = [event for event in ran.events if isinstance(event, Stopping)]
    assert stopping.in_flight >= 7
    assert stopping.at_most_s == pytest.approx(70.0)


def test_who_is_about_to_be_killed_waits_for_a_short_grace_only() -> None:
    asked = StopAt(5, times=1, briefly=True)
    model = planned_model(Hanging(5), 50, price=Price(1.0, 1.0))
    ran = run_virtually([model], EngineOptions(grace_s=2.0), on_event=asked)
    assert ran.took_s == pytest.approx(2.0, abs=0.1)
    assert EngineOptions().grace_s < 5
    assert ran.summary.status == "interrupted"
    assert 3 * MOST < ran.summary.models["m"].uncertain_usd * 1.001 < 8.1 * MOST


def test_a_second_interrupt_ends_at_once() -> None:
    asked = StopAt(5, times=2)
    model = planned_model(Hanging(5), 50)
    ran = run_virtually([model], EngineOptions(grace_s=60), on_event=asked)
    assert ran.took_s < 1
    assert ran.summary.status == "interrupted"
    assert len(ran.replies) == 5


def test_an_interrupt_does_not_wait_for_pauses_or_backoff() -> None:
    def only_two(call: ProviderRequest, attempt: int) -> ProviderResponse | AttemptFailed:
        if provider.paid.total() < 2:
            return answer_ok(call, attempt)
        return attempt_failed("rate_limited", "429", 60.0)

    provider = ScriptedProvider(only_two, latency_s=0.005)
    asked = StopAt(2, times=1)
    ran = run_virtually([planned_model(provider, 50, limits=Limits(4))], on_event=asked)
    assert ran.took_s < 1


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    first = ScriptedProvider(latency_s=0.005)
    run_models(tmp_path, [planned_model(first, 60)], on_event=StopAt(20, times=1))
    second = ScriptedProvider()
    ran = run_models(tmp_path, [planned_model(second, 60)])
    assert ran.summary.status == "complete"
    assert not set(first.paid) & set(second.paid)
    assert first.paid.total() + second.paid.total() == 60


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_ask_to_stop_instead_of_killing(number: signal.Signals) -> None:
    async def main(stop: Shutdown) -> str:
        os.kill(os.getpid(), number)
        await stop.wait()
        return "stopped"

    before = signal.getsignal(number)
    assert loop.run(main) == "stopped"
    assert signal.getsignal(number) == before


def test_memory_stays_flat_whatever_the_number_of_cases(tmp_path: Path) -> None:
    def large(count: int) -> Iterator[Work]:
        for number in range(count):
            work = work_for(number)
            call = ProviderRequest(work.request.key, "m", bytes(20_000), 100, 50)
            yield Work(work.case_id, "m", 1, call, "qa")

    def peak(count: int) -> int:
        folder = tmp_path / str(count)
        folder.mkdir()
        tracemalloc.start()
        run_models(
            folder,
            [planned_model(ScriptedProvider(), large(count), total=count, limits=Limits(50))],
            keep_events=False,
        )
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(4_000) < 1.5 * peak(400) + 1_000_000


@pytest.mark.slow
def test_twenty_thousand_cases_hold_no_more_memory_than_one_thousand(tmp_path: Path) -> None:
    provider = ScriptedProvider()
    peaks = []
    for count in (1_000, 20_000):
        folder = tmp_path / str(count)
        folder.mkdir()
        tracemalloc.start()
        run_models(folder, [planned_model(provider, count, limits=Limits(100))], keep_events=False)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        provider = ScriptedProvider()
    # The provider itself remembers every key: two counters, some 250 bytes a case.
    assert peaks[1] - peaks[0] < 19_000 * 400


def test_the_engine_looks_at_no_clock_that_can_jump() -> None:
    """A job at a batch API outlives its process, and only the wall clock does so too."""
    imported, clocks = set(), {}
    for path in Path(callscore.engine.__path__[0]).glob("*.py"):
        found = clocks[path.name] = set[str]()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module or "")
                found |= {name.name for name in node.names if node.module == "time"}
            elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "time":
                found.add(node.attr)
    assert "asyncio" in imported
    assert "datetime" not in imported
    assert clocks.pop("batch_job.py") == {"time", "monotonic"}
    assert set().union(*clocks.values()) == {"perf_counter_ns"}
