from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from batch_runs import Eval, evaluating, timing
from batch_vendors import OK, VENDORS, OpenAIVendor
from callscore.config.config import load_eval
from callscore.core.batch import BatchJob
from callscore.core.case import Reply
from callscore.core.race import RaceCard
from callscore.runner.estimate import dry_run
from callscore.runner.prepare import RunOptions, prepare
from callscore.store.journal import Journal
from commands import KEY
from eval_files import cases_file, eval_file, remote_model
from stub_servers import Answer, Behaviour, Json, chat_completion, openai_error, serving

SEEN = {
    "openai": ["upload", "create", "poll", "poll", "poll", "download", "delete", "delete"],
    "anthropic": ["create", "poll", "poll", "poll", "download", "delete"],
    "gemini": ["announce", "upload", "create", *["poll"] * 3, "download", *["delete"] * 3],
}
TOKENS = {"openai": (11, 7), "anthropic": (15, 7), "gemini": (11, 7)}


@pytest.mark.parametrize("provider", VENDORS)
def test_a_model_is_asked_by_one_job_at_half_the_price(tmp_path: Path, provider: str) -> None:
    vendor = VENDORS[provider](polls=3)
    with timing(), evaluating(tmp_path, vendor, cases=5) as eval_:
        ran, _ = eval_.run(preflight=False)
        model = ran.summary.models["m"]
        assert (ran.summary.status, model.answered, model.not_run) == ("complete", 5, 0)
        read, written = TOKENS[provider]  # at half of 1 and 2 dollars per million
        assert model.spend_usd == pytest.approx(5 * (read * 0.5 + written * 1.0) / 1e6)
        assert eval_.record().cost_usd == pytest.approx(model.spend_usd)
        assert len(vendor.sent) == 5
        assert set(vendor.sent.values()) == {1}
        assert vendor.live == 0
        assert vendor.seen == SEEN[provider]
        assert not vendor.files
        assert not eval_.jobs()
        assert ran.card is not None
        assert any("batch API" in note for note in ran.card.notes)
        again, _ = eval_.run(preflight=False)
        assert again.summary.models["m"].cached == 5
        assert sum(vendor.sent.values()) == 5


class TwoModels(OpenAIVendor):
    """One model answers as the human did, the other one without any structure."""

    def result(self, line: Json) -> Json:
        right = line["body"]["model"] == "stub-good"
        return chat_completion(OK if right else "I cannot say.")


def test_a_race_round_is_one_job_per_model_of_at_least_200_requests(tmp_path: Path) -> None:
    vendor = TwoModels()
    with timing(), serving(vendor) as stub:
        cases_file(tmp_path, 260)
        models = [remote_model(stub.url, name, mode="batch") for name in ("good", "weak")]
        file = eval_file(tmp_path, models, race={"alpha": 0.05}, intervals=False)
        ran, _ = Eval(tmp_path, vendor, file).run(preflight=False, race=True)
        assert ran.card is not None
        assert isinstance(ran.card.race, RaceCard)
        assert ran.card.race.decision == "good"
        sizes = Counter(
            (job.lines[0]["body"]["model"], len(job.lines)) for job in vendor.jobs.values()
        )
        assert sizes == {("stub-good", 200): 1, ("stub-weak", 200): 1, ("stub-good", 60): 1}
        assert set(vendor.sent.values()) == {1}


def test_the_estimate_is_half_of_the_live_one(tmp_path: Path) -> None:
    vendor = OpenAIVendor()
    with evaluating(tmp_path, vendor) as eval_:
        low, most = estimated(eval_.file)
        text = eval_.file.read_text(encoding="utf-8")
        eval_.file.write_text(text.replace('"batch"', '"live"'), encoding="utf-8")
        assert estimated(eval_.file) == (2 * low, 2 * most)
        assert not vendor.seen


def estimated(file: Path) -> tuple[float, float]:
    """What the only model is expected to cost, and at most."""
    with closing(prepare(load_eval(file), RunOptions(), sending=False)) as prepared:
        (found,) = dry_run(prepared)
    assert found.cost_usd is not None
    assert found.most_cost_usd is not None
    return found.cost_usd, found.most_cost_usd


def test_a_budget_is_kept_by_several_jobs_and_left_when_the_next_request_does_not_fit(
    tmp_path: Path,
) -> None:
    vendor = OpenAIVendor()
    params = {"max_tokens": 1_000}
    with timing(), evaluating(tmp_path, vendor, cases=6, params=params) as eval_:
        (most,) = {job.reserved_usd for job in reserved(eval_)}
        ran, _ = eval_.run(preflight=False, budget_usd=2.5 * most / 6)
        assert ran.summary.models["m"].answered == 6
        assert [len(job.lines) for job in vendor.jobs.values()] == [2, 2, 2]
        assert set(vendor.sent.values()) == {1}
        assert eval_.record().cost_usd < 2.5 * most / 6


def reserved(eval_: Eval) -> Sequence[BatchJob]:
    """What one job of all requests reserves, from a run that is interrupted before it is sent."""
    found: list[BatchJob] = []

    def before(op: str) -> Behaviour | None:
        found.extend(eval_.jobs())
        return Answer(openai_error("no"), 400)

    eval_.vendor.before = before
    eval_.run(preflight=False)
    eval_.vendor.before = lambda op: None
    return found[:1]


def test_equal_requests_are_sent_once_and_answer_both(tmp_path: Path) -> None:
    vendor = OpenAIVendor()
    with timing(), evaluating(tmp_path, vendor, cases=2) as eval_:
        lines = (tmp_path / "cases.jsonl").read_text(encoding="utf-8").splitlines()
        twin = lines[0].replace('"c0"', '"c0-twin"')
        (tmp_path / "cases.jsonl").write_text("\n".join([*lines, twin]), encoding="utf-8")
        ran, _ = eval_.run(preflight=False)
        model = ran.summary.models["m"]
        assert (model.answered, model.cached) == (3, 1)
        assert sum(vendor.sent.values()) == 2


def test_what_a_job_says_is_redacted_like_any_reply(tmp_path: Path) -> None:
    vendor = OpenAIVendor()
    vendor.reply = lambda: chat_completion(f"call 4111 1111 1111 1111, {KEY}")  # type: ignore[method-assign]
    with timing(), evaluating(tmp_path, vendor, cases=1, extra={"redact": True}) as eval_:
        eval_.run(preflight=False)
        with Journal(eval_.store) as journal:
            reply = journal.replies_to(1, "c0")["m"][1]
        assert isinstance(reply, Reply)
        assert "4111" not in str(reply.text)
        assert KEY not in str(reply.text)
