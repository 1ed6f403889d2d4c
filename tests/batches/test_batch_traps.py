"""What vendors do besides answering: every trap ends without a lost or silently doubled request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from batch_runs import Clock, Eval, evaluating, timing
from batch_vendors import VENDORS, AnthropicVendor, GeminiVendor, OpenAIVendor
from callscore.core.errors import CallscoreError
from postgres_server import PostgresServer
from stub_servers import Answer, Behaviour, Bytes, Json, Reset, openai_error

HALF, FULL = (11 * 0.5 + 7 * 1.0) / 1e6, (11 * 1.0 + 7 * 2.0) / 1e6
EVERY = pytest.mark.parametrize("provider", VENDORS)


def answered(eval_: Eval, **options: Any) -> tuple[int, int, list[str]]:
    """Run; the numbers of answered and failed requests, and what was said about jobs."""
    ran, news = eval_.run(preflight=False, **options)
    model = ran.summary.models["m"]
    assert ran.summary.status == "complete"
    assert model.not_run == 0
    return model.answered, model.failed, news


@EVERY
def test_what_a_completed_job_has_not_answered_is_sent_live_at_the_full_price(
    tmp_path: Path, provider: str
) -> None:
    vendor = VENDORS[provider]()
    vendor.refused = {1}
    with timing(), evaluating(tmp_path, vendor) as eval_:
        assert answered(eval_) == (3, 0, [])
        assert vendor.live == 1
        assert set(vendor.sent.values()) == {1}
        if provider != "anthropic":  # the stub's message has more tokens
            assert eval_.record().cost_usd == pytest.approx(2 * HALF + FULL)


def test_a_database_keeps_jobs_and_what_they_leave_over_is_sent_live(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """With a budget of its own, and a rate that it shares with all workers."""
    vendor = OpenAIVendor()
    vendor.refused = {1}
    extra = {"store": postgres.new_store(), "budget_usd": 5}
    limits = {"rpm": 6_000}
    with timing(), evaluating(tmp_path, vendor, extra=extra, limits=limits) as eval_:
        assert answered(eval_) == (3, 0, [])
        assert vendor.live == 1
        assert set(vendor.sent.values()) == {1}
        assert eval_.record().cost_usd == pytest.approx(2 * HALF + FULL)
        assert postgres.execute("SELECT kind FROM callscore.buckets") == [("requests",)]
        assert not eval_.jobs()
        assert answered(eval_) == (3, 0, [])
        assert set(vendor.sent.values()) == {1}


def test_a_job_may_complete_with_only_an_error_file(tmp_path: Path) -> None:
    vendor = OpenAIVendor()
    vendor.refused = {0, 1, 2}
    with timing(), evaluating(tmp_path, vendor, then="stop") as eval_:
        assert answered_or_failed(eval_) == (0, 3)
        assert "overheated" in eval_failures(eval_)
        assert vendor.live == 0
        assert eval_.record().spent_usd == 0


def answered_or_failed(eval_: Eval) -> tuple[int, int]:
    ran, _ = eval_.run(preflight=False)
    model = ran.summary.models["m"]
    return model.answered, model.failed


def eval_failures(eval_: Eval) -> str:
    from callscore.store.journal import Journal

    with Journal(eval_.store) as journal:
        return " ".join(found.why for found in journal.failures(journal.runs()[0].id))


@EVERY
def test_requests_may_go_into_another_job_three_times(tmp_path: Path, provider: str) -> None:
    vendor = VENDORS[provider]()
    vendor.refused = {0}
    with timing(), evaluating(tmp_path, vendor, then="batch") as eval_:
        assert answered(eval_)[:2] == (2, 1)
        assert vendor.seen.count("create") == 3
        assert vendor.live == 0
        assert "in 3 jobs" in eval_failures(eval_)


@pytest.mark.parametrize("vendor", [OpenAIVendor(), GeminiVendor()])
def test_a_job_that_fails_validation_has_no_files_and_costs_nothing(
    tmp_path: Path, vendor: OpenAIVendor | GeminiVendor
) -> None:
    vendor.ended_as = "failed"
    with timing(), evaluating(tmp_path, vendor) as eval_:
        assert answered_or_failed(eval_) == (0, 3)
        assert "the batch was refused: failed" in eval_failures(eval_)
        assert vendor.live == 0
        assert eval_.record().spent_usd == 0
        assert not vendor.files


@EVERY
def test_repeated_unknown_and_missing_results(tmp_path: Path, provider: str) -> None:
    vendor = VENDORS[provider]()
    name = "key" if provider == "gemini" else "custom_id"

    def change(lines: list[Json]) -> list[Json]:
        return [lines[0], lines[0], {**lines[1], name: "00" * 32}]

    vendor.change = change
    with timing(), evaluating(tmp_path, vendor) as eval_:
        count, failed, news = answered(eval_)
        assert (count, failed) == (3, 0)
        assert news == [
            "1 results of unknown requests, ignored",
            "1 results repeated, ignored",
            "2 requests no result",
        ]
        assert vendor.seen.count("download") == 3
        # two were run in the job and again live, one may have been run twice in the job: each may
        # be billed twice, and the second time is recorded
        assert sorted(vendor.sent.values()) == [1, 2, 2]
        record = eval_.record()
        assert record.uncertain_usd > 0
        assert record.answered == 3


@EVERY
def test_a_truncated_download_is_repeated(tmp_path: Path, provider: str) -> None:
    vendor = VENDORS[provider]()
    cut: list[str] = []

    def after(op: str) -> Behaviour | None:
        if op != "download" or len(cut) >= 2:
            return None
        cut.append(op)
        if len(cut) == 1:  # less than announced
            return Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n{}")
        return Answer(b'{"custom_id": "0')  # complete for HTTP, cut within a line

    vendor.after = after
    with timing(), evaluating(tmp_path, vendor) as eval_:
        assert answered(eval_)[:2] == (3, 0)
        assert set(vendor.sent.values()) == {1}
        assert eval_.record().uncertain_usd == 0


@EVERY
def test_a_vanished_job_counts_as_lost_after_ten_minutes_with_its_whole_cost(
    tmp_path: Path, provider: str
) -> None:
    vendor, clock = VENDORS[provider](polls=2), Clock()

    def before(op: str) -> Behaviour | None:
        if op == "poll":
            clock.seconds += 59.0
            vendor.jobs.clear()
        return None

    vendor.before = before
    with timing(clock), evaluating(tmp_path, vendor) as eval_:
        ran, news = eval_.run(preflight=False)
        assert "the vendor no longer knows it" in news
        assert ran.summary.models["m"].answered == 3
        assert vendor.live == 3
        assert set(vendor.sent.values()) == {2}
        assert eval_.record().uncertain_usd > 0
        assert vendor.seen.count("poll") == 12  # 10 minutes after the first


@EVERY
def test_a_job_that_is_late_stays_in_flight_until_its_window_and_a_day_are_over(
    tmp_path: Path, provider: str
) -> None:
    vendor, clock = VENDORS[provider](polls=10**9), Clock()
    days = {"openai": 2, "anthropic": 2, "gemini": 3}[provider]

    def before(op: str) -> None:
        clock.seconds += 3_600.0 * (op == "poll")

    vendor.before = before
    with timing(clock), evaluating(tmp_path, vendor, then="stop") as eval_:
        ran, _ = eval_.run(preflight=False)
        assert ran.summary.models["m"].failed == 3
        assert vendor.seen.count("poll") == days * 24 + 1
        assert "pending past its window" in eval_failures(eval_)
        assert eval_.record().uncertain_usd > 0


@EVERY
def test_a_job_that_was_cancelled_elsewhere_keeps_its_results(
    tmp_path: Path, provider: str
) -> None:
    vendor = VENDORS[provider]()
    vendor.ended_as = "cancelled"
    vendor.refused = {2}
    with timing(), evaluating(tmp_path, vendor) as eval_:
        assert answered(eval_) == (3, 0, ["cancelled"] if provider != "anthropic" else [])
        assert vendor.live == 1
        assert set(vendor.sent.values()) == {1}
        assert eval_.record().uncertain_usd == 0


@EVERY
def test_results_that_have_expired_may_be_billed(tmp_path: Path, provider: str) -> None:
    vendor = VENDORS[provider]()

    def before(op: str) -> Behaviour | None:
        return Answer(openai_error("expired"), 404) if op == "download" else None

    vendor.before = before
    with timing(), evaluating(tmp_path, vendor, then="stop") as eval_:
        ran, news = eval_.run(preflight=False)
        assert ran.summary.models["m"].failed == 3
        assert "3 requests the results are gone" in news[0]
        assert eval_.record().uncertain_usd > 0


@EVERY
@pytest.mark.parametrize("lost", ["answer", "request"])
def test_a_create_without_an_answer_is_searched_for_and_never_repeated(
    tmp_path: Path, provider: str, lost: str
) -> None:
    """The vendor has the job or not; it may answer with an error of its own or not at all."""
    vendor, clock = VENDORS[provider](), Clock()
    done: list[str] = []

    def lose(op: str) -> Behaviour | None:
        if op == "list":
            clock.seconds += 60.0
        if op != "create" or done:
            return None
        done.append(op)
        return Reset() if lost == "answer" else Answer(openai_error("bad gateway"), 502)

    if lost == "answer":
        vendor.after = lose
    else:
        vendor.before = lose
    if isinstance(vendor, AnthropicVendor):
        clock.seconds = vendor.now().timestamp()
    began = clock.seconds
    with timing(clock), evaluating(tmp_path, vendor) as eval_:
        assert answered(eval_)[:2] == (3, 0)
        assert set(vendor.sent.values()) == {1}
        assert vendor.seen.count("create") == 1
        assert (clock.seconds - began >= 600) == (lost == "request")
        assert not vendor.files
        assert eval_.record().uncertain_usd == 0


def test_an_anthropic_batch_of_the_same_size_is_not_adopted(tmp_path: Path) -> None:
    vendor, clock = AnthropicVendor(polls=3), Clock()
    clock.seconds = vendor.now().timestamp()
    other = [{"custom_id": f"other-{n}", "params": {"n": n}} for n in range(3)]
    vendor.add_job("", other, [])
    lost: list[str] = []

    def before(op: str) -> Behaviour | None:
        clock.seconds += 60.0 * (op == "list")
        if op == "create" and not lost:
            lost.append(op)
            return Reset()
        return None

    vendor.before = before
    with timing(clock), evaluating(tmp_path, vendor) as eval_:
        assert answered(eval_)[:2] == (3, 0)
        assert set(vendor.sent.values()) == {1}


@pytest.mark.parametrize("state", ["PARTIALLY_SUCCEEDED", "EXPIRED"])
def test_gemini_ends_a_job_in_part_without_saying_done(tmp_path: Path, state: str) -> None:
    vendor = GeminiVendor()
    vendor.ended_as = state
    vendor.change = lambda lines: lines[:1]
    with timing(), evaluating(tmp_path, vendor) as eval_:
        assert answered(eval_)[:2] == (3, 0)
        assert vendor.live == 2
        assert eval_.record().uncertain_usd == 0


@EVERY
def test_a_refused_key_fails_all_and_leaves_no_job(tmp_path: Path, provider: str) -> None:
    vendor = VENDORS[provider]()
    vendor.before = lambda op: Answer(openai_error("who are you?"), 401)
    with timing(), evaluating(tmp_path, vendor) as eval_:
        ran, _ = eval_.run(preflight=False)
        assert "who are you?" in (ran.summary.models["m"].stopped or "")
        assert ran.summary.status == "unanswered"
        assert not vendor.sent
        vendor.before = lambda op: None
        assert answered(eval_, resume=True)[:2] == (3, 0)
        assert set(vendor.sent.values()) == {1}


@EVERY
def test_a_key_that_fails_later_leaves_the_job_for_a_later_session(
    tmp_path: Path, provider: str
) -> None:
    vendor = VENDORS[provider]()
    vendor.before = lambda op: Answer(openai_error("expired"), 401) if op == "poll" else None
    with timing(), evaluating(tmp_path, vendor) as eval_:
        ran, _ = eval_.run(preflight=False)
        assert ran.summary.status == "interrupted"
        assert [job.state for job in ran.jobs] == ["submitted"]
        vendor.before = lambda op: None
        assert answered(eval_, resume=True)[:2] == (3, 0)
        assert set(vendor.sent.values()) == {1}


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ({"provider": "bedrock", "mode": "batch"}, "expected one of openai, anthropic, gemini"),
        ({"mode": "live", "then": "stop"}, "expected it with mode: batch only"),
        ({"mode": "overnight"}, "mode"),
        ({"base_url": "http://127.0.0.1:9/v1?api-version=1"}, "no batch API is known"),
    ],
)
def test_a_model_without_a_batch_api_is_refused(
    tmp_path: Path, model: dict[str, Any], said: str
) -> None:
    with evaluating(tmp_path, OpenAIVendor(), **model) as eval_:
        with pytest.raises(CallscoreError) as caught:
            eval_.run(preflight=False)
        assert said in str(caught.value)
        assert not eval_.vendor.sent


@pytest.mark.parametrize(("queued", "sizes"), [(2, [5, 2, 2, 1]), (0, [5, 2, 1])])
def test_a_job_with_too_many_tokens_is_followed_by_smaller_ones(
    tmp_path: Path, queued: int, sizes: list[int]
) -> None:
    """Tokens are counted as requests here."""
    vendor = OpenAIVendor()
    errors = {"data": [{"code": "token_limit_exceeded", "message": "Enqueued token limit"}]}

    def before(op: str) -> None:
        for job in vendor.jobs.values():
            if op == "poll" and job.state == "running" and len(job.lines) > queued:
                job.state, job.created["errors"] = "failed", errors
                for line in job.lines:  # not run after all
                    vendor.sent.subtract([json.dumps(line["body"], sort_keys=True)])

    vendor.before = before
    with timing(), evaluating(tmp_path, vendor, cases=5) as eval_:
        ran, _ = eval_.run(preflight=False)
        model = ran.summary.models["m"]
        assert (model.answered, model.failed) == ((5, 0) if queued else (0, 5))
        found = [len(job.lines) for job in vendor.jobs.values()]
        assert found[: len(sizes)] == sizes
        assert set(vendor.sent.values()) == {int(bool(queued))}
        assert eval_.record().uncertain_usd == 0
