from __future__ import annotations

from pathlib import Path

import pytest

from batch_runs import evaluating, timing
from batch_vendors import OpenAIVendor
from commands import KEY


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_KEY", KEY)


def test_a_model_is_asked_by_one_job_at_half_the_price(tmp_path: Path) -> None:
    vendor = OpenAIVendor(polls=3)
    with timing(), evaluating(tmp_path, vendor, cases=5) as eval_:
        ran, _ = eval_.run(preflight=False)
        model = ran.summary.models["m"]
        assert (ran.summary.status, model.answered, model.not_run) == ("complete", 5, 0)
        # 11 input and 7 output tokens at half of 1 and 2 dollars per million
        assert model.spend_usd == pytest.approx(5 * (11 * 0.5 + 7 * 1.0) / 1e6)
        assert eval_.record().cost_usd == pytest.approx(model.spend_usd)
        assert len(vendor.sent) == 5
        assert set(vendor.sent.values()) == {1}
        assert vendor.live == 0
        assert vendor.seen == [
            "upload",
            "create",
            "poll",
            "poll",
            "poll",
            "download",
            "delete",
            "delete",
        ]
        assert not vendor.files
        assert not eval_.jobs()
        assert ran.card is not None
        assert any("batch API" in note for note in ran.card.notes)
        again, _ = eval_.run(preflight=False)
        assert again.summary.models["m"].cached == 5
        assert len(vendor.jobs) == 1
