from __future__ import annotations

from pathlib import Path

import pytest

from batch_runs import evaluating, timing
from batch_vendors import VENDORS
from commands import KEY

SEEN = {
    "openai": ["upload", "create", "poll", "poll", "poll", "download", "delete", "delete"],
    "anthropic": ["create", "poll", "poll", "poll", "download", "delete"],
    "gemini": ["announce", "upload", "create", *["poll"] * 3, "download", *["delete"] * 3],
}
TOKENS = {"openai": (11, 7), "anthropic": (15, 7), "gemini": (11, 7)}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_KEY", KEY)


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
