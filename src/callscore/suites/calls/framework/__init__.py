"""The judge of document 003: its system prompt and the metrics that need judgement, verbatim."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from callscore.core.verdict_rules import FrameworkJudge, JudgedMetric

SCORED_WITH = {
    "bench.contextual_precision": (
        "bench.faithfulness",
        "bench.hallucination_rate",
        "bench.contextual_precision",
        "bench.contextual_recall",
        "bench.contextual_relevancy",
    )
}


class _MetricsFile(msgspec.Struct, frozen=True):
    metrics: Mapping[str, JudgedMetric]


@cache
def framework_judge() -> FrameworkJudge:
    """What document 003 asks its judge."""
    folder = Path(__file__).parent
    prompt = folder.joinpath("judge_prompt.txt").read_bytes()
    metrics = folder.joinpath("metrics.toml").read_bytes()
    return FrameworkJudge(
        prompt.decode().rstrip("\n"),
        msgspec.toml.decode(metrics, type=_MetricsFile).metrics,
        SCORED_WITH,
        hashlib.blake2b(prompt + b"\0" + metrics, digest_size=16).hexdigest(),
    )
