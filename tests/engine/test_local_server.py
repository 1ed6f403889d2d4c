"""Servers nearby that answer one call at a time, and slowly (Ollama, llama.cpp)."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from callscore.core.case import Prompt, Reply
from callscore.core.provider import AttemptFailed, ProviderRequest, ProviderResponse
from callscore.core.run import Limits, ModelSpec, Progress, RunSummary
from callscore.engine.limits import Concurrency, LocalConcurrency
from callscore.engine.workload import EngineOptions, PlannedModel
from callscore.providers.addresses import is_local_server
from engine_runs import run_virtually
from run_cases import work_for


class OneByOne:
    """A server that works on `slots` calls at once; the others wait, and nobody is told."""

    name = "one by one"

    def __init__(self, answer_s: float, slots: int = 1) -> None:
        self.asked: Counter[bytes] = Counter()
        self.waiting = self.most_waiting = 0
        self._answer_s = answer_s
        self._slots = asyncio.Semaphore(slots)

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        raise AssertionError("the work is given")

    async def attempt(self, call: ProviderRequest) -> ProviderResponse | AttemptFailed:
        self.asked[call.key] += 1
        self.waiting += 1
        self.most_waiting = max(self.most_waiting, self.waiting)
        try:
            async with self._slots:
                await asyncio.sleep(self._answer_s)
        finally:
            self.waiting -= 1
        return ProviderResponse(Reply("ok", "stop", 100, 1, model=call.model))

    async def close(self) -> None:
        """Nothing was opened."""


def carried_out(
    server: OneByOne, options: EngineOptions, cases: int, *, is_local: bool = True
) -> tuple[RunSummary, list[Progress], float]:
    spec = ModelSpec("m", "openai", "m", base_url="http://localhost:11434/v1")
    assert spec.limits == Limits()
    planned = PlannedModel(spec, server, [work_for(n) for n in range(cases)], cases, is_local)
    ran = run_virtually([planned], options)
    told = [event for event in ran.events if isinstance(event, Progress)]
    return ran.summary, told, ran.took_s


@pytest.mark.parametrize("is_local", [True, False])
def test_r09_a_server_that_takes_20_s_a_call_answers_24_cases_each_asked_once(
    is_local: bool,
) -> None:
    server = OneByOne(20.0)
    summary, _, _ = carried_out(server, EngineOptions(), 24, is_local=is_local)
    assert (summary.models["m"].answered, summary.models["m"].failed) == (24, 0)
    assert set(server.asked.values()) == {1}
    assert not is_local or server.most_waiting <= 4


def test_r09_a_server_that_takes_ten_minutes_for_16_calls_times_out_on_none() -> None:
    server = OneByOne(100.0)
    summary, _, _ = carried_out(server, EngineOptions(), 24)
    assert summary.models["m"].answered == 24
    assert set(server.asked.values()) == {1}


def test_a_timeout_lowers_the_number_of_calls_at_once_and_is_reported() -> None:
    server = OneByOne(60.0)
    options = EngineOptions(attempt_s=300.0, case_s=1e6, max_attempts=20)
    summary, told, _ = carried_out(server, options, 40, is_local=False)
    assert summary.models["m"].answered == 40
    assert told[-1].timeouts == summary.models["m"].attempts - 40 > 0
    assert told[-1].concurrency <= 8
    # most of the first volley is late; unheeded, 395 attempts are made and 11 cases lost
    assert summary.models["m"].attempts < 3 * 40


@pytest.mark.parametrize(("slots", "answer_s"), [(8, 30.0), (16, 30.0), (64, 2.0)])
def test_a_server_nearby_that_answers_many_at_once_is_asked_many(
    slots: int, answer_s: float
) -> None:
    server = OneByOne(answer_s, slots)
    summary, told, took = carried_out(server, EngineOptions(), 400)
    assert summary.models["m"].answered == 400
    assert told[-1].concurrency >= min(slots, 16)
    ideal = 400 / min(slots, 16) * answer_s
    assert took < 1.35 * ideal


def test_quick_answers_lift_every_restraint_at_once() -> None:
    concurrency = LocalConcurrency(64, soon_s=60.0)
    assert concurrency.allowed == 2
    concurrency.count_reply(sent=0.0, now=0.5)
    assert concurrency.allowed == 64
    concurrency.count_timeout()
    concurrency.count_reply(sent=0.0, now=0.5)
    assert concurrency.allowed == 32


def test_a_few_refusals_that_a_proxy_hands_on_do_not_bring_it_to_a_halt() -> None:
    concurrency = LocalConcurrency(16, soon_s=0.0)
    now = 0.0
    for number in range(600):
        now += 0.4 / concurrency.allowed
        if number % 20 == 19:
            concurrency.count_refusal()
        else:
            concurrency.count_reply(now - 0.4, now)
    assert concurrency.allowed >= 8


def test_where_half_of_a_round_is_refused_less_is_asked() -> None:
    concurrency = LocalConcurrency(16, soon_s=60.0)
    concurrency.count_reply(sent=0.0, now=0.5)
    for _ in range(16):
        concurrency.count_refusal()
    assert concurrency.allowed == 8


@pytest.mark.parametrize("concurrency", [LocalConcurrency(1, 0.0), Concurrency(1)])
def test_one_at_a_time_stays_one_whatever_happens(
    concurrency: Concurrency | LocalConcurrency,
) -> None:
    for number in range(100):
        if number % 3:
            concurrency.count_reply(number, number + 1)
        else:
            concurrency.count_refusal()
        assert concurrency.allowed == 1


@pytest.mark.parametrize(
    ("base_url", "is_local"),
    [
        ("http://localhost:11434/v1", True),
        ("http://127.0.0.1:8080", True),
        ("http://[::1]:8080", True),
        ("http://192.168.1.7:8000/v1", True),
        ("http://10.0.0.3/v1", True),
        ("http://vllm:8000/v1", True),
        ("http://host.docker.internal:11434", True),
        ("http://box.local/v1", True),
        ("https://api.openai.com/v1", False),
        ("https://8.8.8.8/v1", False),
        ("not a url", False),
    ],
)
def test_which_servers_are_nearby(base_url: str, is_local: bool) -> None:
    assert is_local_server(base_url) is is_local


def test_nothing_is_lost_of_what_was_asked() -> None:
    """The proof above can fail: with the old default of 120 s most attempts are abandoned."""
    server = OneByOne(20.0)
    options = EngineOptions(attempt_s=120.0)
    summary, _, _ = carried_out(server, options, 24, is_local=False)
    assert summary.models["m"].attempts > 24
