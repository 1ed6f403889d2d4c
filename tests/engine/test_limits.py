from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.core.provider import AttemptFailed, FailureKind
from callscore.core.run import Limits, ModelSpec
from callscore.engine.limits import Bucket, Budget, Concurrency, Pause, RateLimiter
from callscore.engine.retry import backoff_wait, requested_wait, retry_wait
from callscore.engine.workload import EngineOptions
from virtual_time import run_in_virtual_time

OPTIONS = EngineOptions()


def model_with(limits: Limits) -> ModelSpec:
    return ModelSpec("m", "openai", limits=limits)


def most_in_a_minute(times: Sequence[float]) -> int:
    """The largest number of events in any half-open minute."""
    ordered = sorted(times)
    # A microsecond less than a minute: the clock of the loop adds up floats.
    return max(bisect_left(ordered, at + 59.999999) - n for n, at in enumerate(ordered))


async def sent_at(limits: Limits, calls: int, tokens: int = 1) -> list[float]:
    """When each of so many calls may be sent, if they take no time themselves."""
    limiter, loop = RateLimiter(model_with(limits), Pause()), asyncio.get_running_loop()
    times: list[float] = []

    async def send() -> None:
        await limiter.acquire(tokens)
        times.append(loop.time())
        limiter.release(0)

    await asyncio.gather(*(send() for _ in range(calls)))
    return times


@pytest.mark.parametrize("rpm", [1, 2, 7, 60, 600, 5_000])
def test_never_more_requests_in_any_minute_than_allowed(rpm: int) -> None:
    times = run_in_virtual_time(sent_at(Limits(16, rpm=rpm), 3 * rpm))
    assert most_in_a_minute(times) <= rpm
    assert times[-1] - times[0] <= 3 * 60 * 1.05, "and hardly fewer"


def test_never_more_tokens_in_any_minute_than_allowed() -> None:
    times = run_in_virtual_time(sent_at(Limits(16, tpm=10_000), 60, tokens=500))
    assert most_in_a_minute(times) <= 20


def test_a_call_larger_than_the_burst_still_goes() -> None:
    times = run_in_virtual_time(sent_at(Limits(16, tpm=1_000), 3, tokens=900))
    assert times[-1] - times[0] <= 3 * 60


def test_tokens_that_were_not_used_may_be_used_by_others() -> None:
    bucket = Bucket(1_000, now=0.0)
    bucket.take(50)
    assert bucket.wait_s(50, now=0.0) > 0
    bucket.give_back(45)
    assert bucket.wait_s(45, now=0.0) == 0


def test_a_clock_that_stops_fills_no_bucket() -> None:
    bucket = Bucket(60, now=5.0)
    bucket.take(3)
    assert bucket.wait_s(1, now=5.0) == bucket.wait_s(1, now=5.0) > 0


def after_rounds(ceiling: int, rounds: int, refused: float) -> list[int]:
    """What is allowed after each of several rounds in which this share is refused."""
    concurrency = Concurrency(ceiling)
    seen = []
    for _ in range(rounds):
        calls = concurrency.allowed
        for number in range(calls):
            if number < refused * calls:
                concurrency.count_refusal()
            else:
                concurrency.count_reply(0.0, 0.0)
        seen.append(concurrency.allowed)
    return seen


def test_a_volley_of_refusals_halves_the_concurrency_once() -> None:
    assert after_rounds(100, 3, refused=1.0) == [50, 25, 12]


def test_concurrency_never_ends_below_one() -> None:
    assert after_rounds(3, 9, refused=1.0)[-1] == 1


def test_a_few_refusals_lower_it_without_bringing_everything_to_a_halt() -> None:
    seen = after_rounds(100, 50, refused=0.2)
    assert seen[0] == 90
    assert min(seen) >= 40


def test_concurrency_goes_up_again_with_answers_but_never_over_the_ceiling() -> None:
    concurrency = Concurrency(100)
    for _ in range(100 + 50 + 25):
        concurrency.count_refusal()
    assert concurrency.allowed == 12
    seen = []
    for _ in range(1_000):
        concurrency.count_reply(0.0, 0.0)
        seen.append(concurrency.allowed)
    assert seen == sorted(seen)
    assert (seen[11], seen[-1]) == (22, 100)


def test_a_pause_never_gets_shorter_by_another() -> None:
    pause = Pause()
    pause.extend(10, now=0, sent=0)
    pause.extend(1, now=0, sent=0)
    assert pause.left_s(4) == 6
    assert pause.left_s(11) == 0


@pytest.mark.parametrize(("sent", "left"), [(4.0, 9.0), (5.0, 9.0), (5.1, 0.0)])
def test_only_an_answer_to_a_later_call_lifts_a_pause(sent: float, left: float) -> None:
    pause = Pause()
    told: list[str] = []
    pause.end_callbacks.append(lambda: told.append("lifted"))
    pause.extend(10, now=6, sent=5.0)
    pause.on_reply(sent)
    assert pause.left_s(7) == left
    assert bool(told) is (left == 0)


def test_a_pause_holds_every_model_of_the_key_and_lets_go_of_all() -> None:
    async def entered(lifted: bool) -> list[float]:
        loop, pause = asyncio.get_running_loop(), Pause()
        limiters = [
            RateLimiter(model_with(Limits(4)), pause),
            RateLimiter(model_with(Limits(4)), pause),
            RateLimiter(model_with(Limits(4)), Pause()),
        ]
        began = loop.time()
        pause.extend(7.0, began, began)
        if lifted:
            loop.call_later(2.0, pause.on_reply, began + 1)

        async def when(limiter: RateLimiter) -> float:
            await limiter.acquire(1)
            return loop.time() - began

        return await asyncio.gather(*(when(limiter) for limiter in limiters))

    assert run_in_virtual_time(entered(lifted=False)) == [7.0, 7.0, 0.0]
    assert run_in_virtual_time(entered(lifted=True)) == [2.0, 2.0, 0.0]


def test_repetitions_go_before_new_calls() -> None:
    async def order() -> list[str]:
        limiter = RateLimiter(model_with(Limits(1)), Pause())
        entered: list[str] = []
        await limiter.acquire(1)

        async def acquire(name: str, again: bool) -> None:
            await limiter.acquire(1, again=again)
            entered.append(name)
            limiter.release(0)

        tasks = [
            asyncio.create_task(acquire(name, again))
            for name, again in [("new", False), ("newer", False), ("again", True)]
        ]
        await asyncio.sleep(0)
        limiter.release(0)
        await asyncio.gather(*tasks)
        return entered

    assert run_in_virtual_time(order()) == ["again", "new", "newer"]


def test_those_who_gave_up_waiting_take_no_place() -> None:
    async def enters() -> bool:
        limiter = RateLimiter(model_with(Limits(1)), Pause())
        await limiter.acquire(1)
        waiting = [asyncio.create_task(limiter.acquire(1)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        limiter.release(0)
        # Admitted and cancelled in the same moment: the place is given on.
        waiting[1].cancel()
        return await asyncio.wait_for(waiting[2], 1)

    assert run_in_virtual_time(enters())


def test_a_closed_gate_admits_no_request_and_keeps_none_waiting() -> None:
    async def enters() -> list[bool]:
        limiter = RateLimiter(model_with(Limits(1)), Pause())
        await limiter.acquire(1)
        waiting = asyncio.create_task(limiter.acquire(1))
        await asyncio.sleep(0)
        limiter.close()
        return [await waiting, await limiter.acquire(1)]

    assert run_in_virtual_time(enters()) == [False, False]


@given(step=st.integers(1, 10_000), seed=st.integers())
def test_jitter_is_full_and_capped(step: int, seed: int) -> None:
    wait = backoff_wait(step, OPTIONS, Random(seed))
    assert 0 <= wait <= min(OPTIONS.backoff_cap_s, OPTIONS.backoff_first_s * 2 ** min(step - 1, 60))


def test_the_same_seed_waits_the_same() -> None:
    assert backoff_wait(3, OPTIONS, Random(7)) == backoff_wait(3, OPTIONS, Random(7))


@pytest.mark.parametrize(
    ("told", "expected"),
    [(None, None), (0.0, None), (-5.0, None), (float("nan"), None), (3.0, 3.0), (1e9, 60.0)],
)
def test_retry_after_is_honoured_up_to_the_cap(told: float | None, expected: float | None) -> None:
    assert requested_wait(AttemptFailed("server", "x", retry_after_s=told), OPTIONS) == expected


@pytest.mark.parametrize(
    ("kind", "counted", "repeated"),
    [
        ("server", 1, True),
        ("timeout", OPTIONS.max_attempts, False),
        ("connection", OPTIONS.max_attempts - 1, True),
        ("rate_limited", 10_000, True),
        ("overloaded", 10_000, True),
        ("bad_request", 1, False),
        ("unauthorised", 1, False),
        ("not_found", 1, False),
    ],
)
def test_what_is_repeated(kind: FailureKind, counted: int, repeated: bool) -> None:
    wait = retry_wait(AttemptFailed(kind, "x"), counted, OPTIONS, Random(1))
    assert (wait is not None) is repeated


def test_a_call_that_does_not_fit_waits_for_those_in_flight() -> None:
    async def reserved() -> tuple[bool, bool, bool]:
        budget = Budget(1.0)
        first = await budget.reserve(0.8)
        waiting = asyncio.create_task(budget.reserve(0.8))
        await asyncio.sleep(0)
        budget.settle(0.8, 0.1)
        second = await waiting
        budget.settle(0.8, 0.8)
        return first, second, await budget.reserve(0.2)

    assert run_in_virtual_time(reserved()) == (True, True, False)


@given(
    costs=st.lists(st.tuples(st.floats(0.001, 1), st.floats(0, 1)), max_size=40),
    limit=st.floats(0, 10),
)
def test_a_budget_is_never_exceeded_by_honest_maxima(
    costs: list[tuple[float, float]], limit: float
) -> None:
    async def spend() -> float:
        budget, spent = Budget(limit), 0.0

        async def call(most: float, share: float) -> None:
            nonlocal spent
            if await budget.reserve(most):
                await asyncio.sleep(most)
                spent += most * share
                budget.settle(most, most * share)

        await asyncio.gather(*(call(most, share) for most, share in costs))
        return spent

    assert run_in_virtual_time(spend()) <= limit + 1e-9
