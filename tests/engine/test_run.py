from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from callscore.core.case import Failed, Reply
from callscore.core.errors import ConfigError, DataError
from callscore.core.provider import AttemptFailed, FailureKind, ProviderRequest, ProviderResponse
from callscore.core.run import Completed, Event, Limits, Price, Progress, Retry, Work
from callscore.engine.loop import Shutdown
from callscore.engine.workload import EngineOptions
from callscore.providers.scripted import ScriptedProvider, answer_ok
from callscore.runner.log import EventLog
from callscore.store.journal import Journal
from engine_runs import (
    RunResult,
    attempt_failed,
    planned_model,
    run_models,
    run_virtually,
    scripted_provider,
)
from eval_files import read_lines
from run_cases import work_for

QUICK = EngineOptions(backoff_first_s=0.001, backoff_cap_s=0.005, retry_after_cap_s=0.02)


def whys(ran: RunResult) -> list[str]:
    return [event.answer.why for event in ran.outcomes if isinstance(event.answer, Failed)]


def test_every_case_is_answered_and_kept(tmp_path: Path) -> None:
    ran = run_models(tmp_path, [planned_model(ScriptedProvider(), 30)])
    assert ran.summary.status == "complete"
    assert ran.summary.models["m"].answered == 30
    assert {text for text, _ in ran.answers().values()} == {"ok"}


def test_a_latency_keeps_its_fraction_of_a_millisecond_in_reply_journal_and_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([7_000_000, 7_031_245])
    monkeypatch.setattr(time, "perf_counter_ns", lambda: next(clock))
    with EventLog(tmp_path / "log.jsonl") as log:
        model = planned_model(ScriptedProvider(), 1)
        ran = run_models(tmp_path, [model], on_event=lambda event, stop: log(event))
    (outcome,) = ran.outcomes
    with Journal(ran.path) as journal:
        stored = journal.replies_to(ran.run_id, outcome.work.case_id)["m"][1]
    (logged,) = read_lines(tmp_path / "log.jsonl")
    assert isinstance(outcome.answer, Reply)
    assert isinstance(stored, Reply)
    assert outcome.answer.latency_ms == stored.latency_ms == logged["latency_ms"] == 0.031245


def test_a_second_run_makes_no_request(tmp_path: Path) -> None:
    run_models(tmp_path, [planned_model(ScriptedProvider(), 30)])
    provider = ScriptedProvider()
    ran = run_models(tmp_path, [planned_model(provider, 30)])
    assert provider.attempts == {}
    assert ran.summary.models["m"].cached == 30
    assert ran.summary.models["m"].spend_usd == 0


def test_the_same_request_twice_is_paid_for_once(tmp_path: Path) -> None:
    provider = ScriptedProvider(latency_s=0.01)
    twins = [work_for(1), work_for(2)] * 10
    twins = [type(w)(f"case-{n}", w.model, w.run, w.request, w.task) for n, w in enumerate(twins)]
    ran = run_models(tmp_path, [planned_model(provider, twins)])
    assert set(provider.paid.values()) == {1}
    assert len(provider.paid) == 2
    assert ran.summary.models["m"].answered == 20
    assert len(ran.answers()) == 20


@pytest.mark.parametrize("kind", ["server", "timeout", "connection", "unreadable", "rate_limited"])
def test_a_passing_fault_is_repeated_and_leaves_no_trace(tmp_path: Path, kind: FailureKind) -> None:
    provider = scripted_provider({1: attempt_failed(kind), 2: attempt_failed(kind)})
    ran = run_models(tmp_path, [planned_model(provider, 5)], QUICK)
    assert ran.summary.models["m"].answered == 5
    assert ran.summary.models["m"].attempts == 15
    assert set(provider.paid.values()) == {1}


def test_an_outage_is_a_failure_with_its_cause_never_an_answer(tmp_path: Path) -> None:
    provider = ScriptedProvider(lambda call, n: attempt_failed("server", "HTTP 500"))
    ran = run_models(tmp_path, [planned_model(provider, 3)], QUICK)
    assert whys(ran) == ["server: HTTP 500"] * 3
    assert set(provider.attempts.values()) == {QUICK.max_attempts}
    assert ran.summary.models["m"].failed == 3
    assert ran.answers() == {}


def test_a_bad_request_is_never_repeated(tmp_path: Path) -> None:
    provider = scripted_provider({1: attempt_failed("bad_request", "HTTP 400")})
    ran = run_models(tmp_path, [planned_model(provider, 3)], QUICK)
    assert whys(ran) == ["bad_request: HTTP 400"] * 3
    assert set(provider.attempts.values()) == {1}


@pytest.mark.parametrize("kind", ["unauthorised", "not_found"])
def test_a_model_that_cannot_work_is_stopped_at_once(tmp_path: Path, kind: FailureKind) -> None:
    dead = ScriptedProvider(lambda call, n: attempt_failed(kind, "no"), latency_s=0.001)
    alive = ScriptedProvider(latency_s=0.001)
    ran = run_models(
        tmp_path,
        [planned_model(dead, 200, limits=Limits(4)), planned_model(alive, 20, name="other")],
    )
    assert dead.attempts.total() <= 4
    assert ran.summary.models["m"].failed == 200
    assert ran.summary.models["m"].stopped == f"{kind}: no"
    assert set(whys(ran)) == {f"{kind}: no", f"stopped: {kind}: no"}
    assert ran.summary.models["other"].answered == 20


def test_a_model_that_only_fails_is_given_up(tmp_path: Path) -> None:
    provider = ScriptedProvider(lambda call, n: attempt_failed("connection", "refused"))
    options = EngineOptions(max_attempts=1, give_up_after=5)
    ran = run_models(tmp_path, [planned_model(provider, 100, limits=Limits(2))], options)
    assert provider.attempts.total() < 10
    assert ran.summary.models["m"].failed == 100
    assert ran.summary.models["m"].stopped == "5 failures in a row, the last: connection: refused"


def test_a_stored_answer_of_a_stopped_model_is_still_used(tmp_path: Path) -> None:
    run_models(tmp_path, [planned_model(ScriptedProvider(), 10)])
    dead = ScriptedProvider(lambda call, n: attempt_failed("unauthorised", "no"))
    ran = run_models(tmp_path, [planned_model(dead, 20, limits=Limits(1))])
    assert (ran.summary.models["m"].answered, ran.summary.models["m"].failed) == (10, 10)


def test_an_attempt_has_a_deadline(tmp_path: Path) -> None:
    provider = ScriptedProvider(latency_s=60)
    ran = run_models(
        tmp_path, [planned_model(provider, 2)], EngineOptions(attempt_s=0.02, max_attempts=1)
    )
    assert whys(ran) == ["timeout: no complete answer within 0.02 s"] * 2


def test_rate_limits_end_with_the_deadline_of_the_case() -> None:
    provider = ScriptedProvider(lambda call, n: attempt_failed("rate_limited", "429", wait=0.02))
    ran = run_virtually([planned_model(provider, 2)], EngineOptions(case_s=0.1))
    assert [event.answer for event in ran.events if isinstance(event, Completed)] == [
        Failed("model", "rate_limited: 429")
    ] * 2
    assert provider.attempts.total() > 2
    assert 0.1 <= ran.took_s < 0.2


def test_a_wait_beyond_the_deadline_of_the_case_is_not_begun() -> None:
    provider = ScriptedProvider(lambda call, n: attempt_failed("rate_limited", "429", wait=50.0))
    ran = run_virtually([planned_model(provider, 1)], EngineOptions(case_s=10.0))
    assert provider.attempts.total() == 1
    assert ran.took_s < 10.0


def test_a_fault_of_an_adapter_fails_the_case_and_says_nothing_it_heard(tmp_path: Path) -> None:
    def faulty(call: ProviderRequest, attempt: int) -> ProviderResponse:
        raise ValueError("sk-secret")

    ran = run_models(tmp_path, [planned_model(ScriptedProvider(faulty), 3)])
    assert whys(ran) == ["the adapter of scripted failed: ValueError"] * 3


def test_bad_data_in_the_stream_ends_the_run_but_keeps_what_was_paid(tmp_path: Path) -> None:
    def stream() -> Iterator[Work]:
        yield from (work_for(n) for n in range(5))
        raise DataError("broken")

    provider = ScriptedProvider(latency_s=0.02)
    with pytest.raises(DataError, match="broken"):
        run_models(tmp_path, [planned_model(provider, stream(), total=50, limits=Limits(8))])
    again = ScriptedProvider()
    run_models(tmp_path, [planned_model(again, 5)])
    assert provider.paid.total() == 5
    assert again.attempts.total() == 0


def test_an_unknown_price_refuses_a_budget_before_the_first_call(tmp_path: Path) -> None:
    provider = ScriptedProvider()
    with pytest.raises(ConfigError, match="its price is unknown"):
        run_models(tmp_path, [planned_model(provider, 3)], EngineOptions(budget_usd=1.0))
    assert provider.attempts.total() == 0


@pytest.mark.parametrize("limits", [Limits(0), Limits(1, rpm=0), Limits(1, tpm=-1)])
def test_impossible_limits_are_refused(tmp_path: Path, limits: Limits) -> None:
    with pytest.raises(ConfigError, match=r"limits\.\w+: -?\d; expected at least 1"):
        run_models(tmp_path, [planned_model(ScriptedProvider(), 3, limits=limits)])


def test_the_bill_is_price_times_tokens_and_unknown_stays_unknown(tmp_path: Path) -> None:
    def without_usage(call: ProviderRequest, attempt: int) -> ProviderResponse:
        return ProviderResponse(Reply("ok"))

    price = Price(1.0, 2.0)
    ran = run_models(
        tmp_path,
        [
            planned_model(ScriptedProvider(), 10, price=price),
            planned_model(ScriptedProvider(without_usage), 10, name="silent", price=price),
            planned_model(ScriptedProvider(), 10, name="unpriced"),
        ],
    )
    models = ran.summary.models
    assert models["m"].spend_usd == pytest.approx(10 * (100 * 1.0 + 1 * 2.0) / 1e6)
    assert (models["m"].unpriced, models["silent"].unpriced, models["unpriced"].unpriced) == (
        0,
        10,
        10,
    )
    assert {cost for _, cost in ran.answers("silent").values()} == {None}


def test_what_may_be_billed_without_an_answer_is_reported_separately(tmp_path: Path) -> None:
    provider = scripted_provider({1: attempt_failed("timeout"), 2: attempt_failed("server")})
    ran = run_models(tmp_path, [planned_model(provider, 4, price=Price(1.0, 2.0))], QUICK)
    assert ran.summary.models["m"].uncertain_usd == pytest.approx(4 * 200 / 1e6)


def test_events_tell_outcomes_retries_and_progress(tmp_path: Path) -> None:
    provider = scripted_provider({1: attempt_failed("server", "HTTP 502")})
    ran = run_models(tmp_path, [planned_model(provider, 3)], QUICK)
    retries = [event for event in ran.events if isinstance(event, Retry)]
    assert [(r.attempt, r.failure.message) for r in retries] == [(1, "HTTP 502")] * 3
    assert all(r.wait_s is not None for r in retries)
    assert [event.attempts for event in ran.outcomes] == [2, 2, 2]
    last = ran.events[-1]
    assert isinstance(last, Progress)
    assert (last.model, last.done, last.total, last.failed, last.cached) == ("m", 3, 3, 0, 0)


def test_an_answer_is_durable_before_it_is_emitted(tmp_path: Path) -> None:
    ran = run_models(tmp_path, [planned_model(ScriptedProvider(), 20)], check_durable=True)
    assert [isinstance(o, Completed) for o in ran.outcomes] == [True] * 20


@pytest.mark.parametrize("commit_s", [0.0, 0.5, 1.0])
def test_r01_a_kill_at_any_moment_repeats_no_more_requests_than_may_be_in_flight(
    commit_s: float,
) -> None:
    provider, stored = ScriptedProvider(latency_s=1.0), 0
    sent_and_not_stored: list[int] = []

    def listen(event: Event, stop: Shutdown) -> None:
        nonlocal stored
        if isinstance(event, Completed):
            sent = provider.paid.total() + provider.in_flight
            sent_and_not_stored.append(sent - stored)
            stored += 1

    model = planned_model(provider, 40, limits=Limits(4))
    ran = run_virtually([model], on_event=listen, commit_s=commit_s)
    assert ran.summary.models["m"].answered == 40
    assert max(sent_and_not_stored) == 4


def test_no_work_is_a_complete_run(tmp_path: Path) -> None:
    assert run_models(tmp_path, [planned_model(ScriptedProvider(), 0)]).summary.status == "complete"


def test_a_flaky_provider_loses_nothing_and_makes_up_nothing(tmp_path: Path) -> None:
    def flaky(call: ProviderRequest, attempt: int) -> ProviderResponse | AttemptFailed:
        dice = (call.key[0] + 37 * attempt) % 100
        if dice < 20:
            return attempt_failed("rate_limited", "429", wait=0.002)
        if dice < 25:
            return attempt_failed("server", "500")
        if dice < 27:
            return attempt_failed("connection", "reset")
        return answer_ok(call, attempt)

    provider = ScriptedProvider(flaky, latency_s=0.001)
    ran = run_models(tmp_path, [planned_model(provider, 200, price=Price(1, 1))], QUICK)
    model = ran.summary.models["m"]
    assert model.answered + model.failed == 200
    assert model.answered == provider.paid.total() == len(ran.answers())
    assert model.spend_usd == pytest.approx(provider.paid.total() * 101 / 1e6)


def test_r08_a_key_that_is_refused_is_not_copied_to_another_entry(tmp_path: Path) -> None:
    """The same request under two keys: one is refused, the other is asked, and answers."""
    refused = ScriptedProvider(
        lambda call, attempt: attempt_failed("unauthorised", "bad key"), latency_s=0.02
    )
    good = ScriptedProvider()
    work = [work_for(n) for n in range(6)]
    named = {n: [type(w)(w.case_id, n, w.run, w.request, w.task) for w in work] for n in "ab"}
    ran = run_models(
        tmp_path,
        [planned_model(refused, named["a"], name="a"), planned_model(good, named["b"], name="b")],
    )
    assert ran.summary.models["a"].failed == 6
    assert (ran.summary.models["b"].answered, ran.summary.models["b"].failed) == (6, 0)
    assert set(good.paid.values()) == {1}
