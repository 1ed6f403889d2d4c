"""The calls of judges: what they share with models, and how far they are."""

from __future__ import annotations

import asyncio

import pytest

from callscore.core.provider import AttemptFailed, ProviderRequest, ProviderResponse
from callscore.core.run import Completed, Event, Limits, ModelSpec, Progress
from callscore.engine.loop import Shutdown
from callscore.engine.workload import EngineOptions
from callscore.evaluate.judge_client import Billing, JudgeCalls
from callscore.providers.scripted import ScriptedProvider
from run_cases import work_for
from virtual_time import run_in_virtual_time

CALLS = 40


def test_progress_is_emitted_now_and_then_and_at_the_end() -> None:
    told: list[Event] = []

    async def all_calls() -> None:
        calls = JudgeCalls(None, Billing(on_event=told.append))
        spec = ModelSpec("j", "scripted", "j", limits=Limits(CALLS))
        provider = ScriptedProvider()
        add_judge = calls.add_judge(spec, provider)
        works = [work_for(number).request for number in range(CALLS)]
        found = await asyncio.gather(*(add_judge.send(provider, call) for call in works))
        assert all(isinstance(settled, ProviderResponse) for settled in found)
        calls.emit_progress()

    run_in_virtual_time(all_calls())
    progress = [event for event in told if isinstance(event, Progress)]
    assert sum(isinstance(event, Completed) for event in told) == CALLS
    assert len(progress) < CALLS / 2
    assert (progress[-1].done, progress[-1].total) == (CALLS, CALLS)


def test_a_judge_waits_while_its_account_is_paused() -> None:
    async def answered_after_s() -> float:
        loop = asyncio.get_running_loop()
        model = ModelSpec("m", "scripted", "m", api_key_env="KEY")
        judge = ModelSpec("j", "scripted", "j", api_key_env="KEY")
        calls, shared_limits, provider = (
            JudgeCalls(None),
            EngineOptions().shared_limits(),
            ScriptedProvider(),
        )
        calls.begin(Shutdown(), shared_limits)
        began = loop.time()
        shared_limits.pause(model).extend(0.1, began, began)
        await calls.add_judge(judge, provider).send(provider, work_for(1).request)
        return loop.time() - began

    assert run_in_virtual_time(answered_after_s()) == pytest.approx(0.1)


def test_r08_a_judge_whose_key_is_refused_leaves_another_key_alone() -> None:
    async def settled() -> tuple[object, object]:
        calls = JudgeCalls(None)
        refused = ScriptedProvider(
            lambda call, attempt: AttemptFailed("unauthorised", "bad key"), latency_s=0.02
        )
        good = ScriptedProvider()
        first = calls.add_judge(ModelSpec("a", "scripted", "j", api_key_env="ONE"), refused)
        second = calls.add_judge(ModelSpec("b", "scripted", "j", api_key_env="TWO"), good)
        call = work_for(1).request
        return await asyncio.gather(first.send(refused, call), second.send(good, call))

    one, two = run_in_virtual_time(settled())
    assert isinstance(one, AttemptFailed)
    assert isinstance(two, ProviderResponse)


def test_r10_a_judge_whose_adapter_fails_is_a_failure_of_that_call() -> None:
    def broken(call: ProviderRequest, attempt: int) -> ProviderResponse:
        raise OverflowError("int too large")

    async def settled() -> object:
        calls = JudgeCalls(None)
        provider = ScriptedProvider(broken)
        add_judge = calls.add_judge(ModelSpec("j", "scripted", "j"), provider)
        return await add_judge.send(provider, work_for(1).request)

    found = run_in_virtual_time(settled())
    assert isinstance(found, AttemptFailed)
    assert found.message == "the adapter of scripted failed: OverflowError"


def test_waiting_for_requests_in_flight_ends_with_the_last_of_them() -> None:
    async def order() -> list[str]:
        calls, ended = JudgeCalls(None), list[str]()
        provider = ScriptedProvider(latency_s=0.05)
        client = calls.add_judge(ModelSpec("j", "scripted", "j"), provider)
        await calls.idle()  # nothing is in flight

        async def send(number: int) -> None:
            await client.send(provider, work_for(number).request)
            ended.append("sent")

        async def wait() -> None:
            await calls.idle()
            ended.append("idle")

        sending = [asyncio.create_task(send(number)) for number in range(3)]
        while len(calls.client.sending) < len(sending):
            await asyncio.sleep(0)
        waiting = asyncio.create_task(wait())
        await asyncio.gather(*sending)
        await asyncio.sleep(0)  # no time passes: the waiting task is woken, it does not look again
        assert waiting.done()
        return ended

    assert run_in_virtual_time(order()) == ["sent", "sent", "sent", "idle"]
