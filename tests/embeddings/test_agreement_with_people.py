"""Likeness against the scores of people, on real translations (MLQE, direct assessment)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from scipy.stats import spearmanr

from callscore.core.case import Failed
from callscore.core.judging import Embedder
from callscore.embeddings.catalog import ChrfEmbedder
from callscore.embeddings.encoder import CosineEmbedder
from callscore.embeddings.muse import Muse
from shared_cases import shared_cases

CHRF_FLOOR = 0.29
"""What chrF reaches on MLQE in its weakest direction."""


@cache
def agreement(kind: Callable[[], Embedder], lang: str) -> float:
    cases = shared_cases("mt_mlqe_da.jsonl")
    chosen = [case for case in cases if case["config"]["target_language"] == lang]
    pairs = [(first(case["model_output"]), first(case["expected_outcome"])) for case in chosen]
    found = asyncio.run(kind().similarities(pairs, lang))
    assert not isinstance(found, Failed)
    people = [case["human"]["da_mean"] for case in chosen]
    return float(spearmanr([one.value for one in found], people).statistic)


def muse() -> Embedder:
    return CosineEmbedder(Muse())


def first(outcome: Any) -> str:
    return str(outcome["sentence_translations"][0]["translated_text"])


@pytest.mark.parametrize("lang", ["de", "zh"])
def test_muse_is_not_below_the_floor_of_chrf(lang: str) -> None:
    assert agreement(muse, lang) >= CHRF_FLOOR


def test_muse_agrees_better_than_chrf_over_both_directions() -> None:
    by_meaning = sum(agreement(muse, lang) for lang in ("de", "zh"))
    by_writing = sum(agreement(ChrfEmbedder, lang) for lang in ("de", "zh"))
    assert by_meaning > by_writing
