"""Embedders: time to load, sentences a second, and agreement with people beside chrF."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from bench.labelled import interval, labelled
from bench.measuring import best_of
from callscore.core.case import Failed
from callscore.core.ports import Embedder
from callscore.embeddings.cosine import Cosine
from callscore.embeddings.lexical import Lexical
from callscore.embeddings.muse import Muse

SENTENCES = 1000
LOAD = (
    "import asyncio; from callscore.embeddings.muse import Muse; asyncio.run(Muse().encode(['a']))"
)


def main() -> None:
    _load()
    _throughput()
    _agreement()


def _load() -> None:
    bare = best_of(3, [sys.executable, "-c", "import numpy"])
    loaded = best_of(3, [sys.executable, "-c", LOAD])
    print(
        f"mUSE: load and first sentence  {loaded.cpu_seconds:6.2f} s CPU  {loaded.peak_mb:5.0f} MB"
    )
    print(f"      import numpy alone       {bare.cpu_seconds:6.2f} s CPU  {bare.peak_mb:5.0f} MB")


def _throughput() -> None:
    texts = [
        f"The customer asks about invoice {n} and wants it sent again." for n in range(SENTENCES)
    ]
    pairs = list(zip(texts, texts[1:], strict=False))
    for embedder in (Cosine(Muse()), Lexical()):
        asyncio.run(embedder.similarities([("warm", "up")], "en"))
        start = time.process_time()
        asyncio.run(embedder.similarities(pairs, "en"))
        spent = time.process_time() - start
        print(f"{embedder.name:5} {SENTENCES / spent:8.0f} sentences a second of CPU")


def _agreement() -> None:
    cases = labelled("mt_mlqe_da.jsonl")
    for lang in ("de", "zh") if cases else ():
        _direction(
            lang, [case for case in cases or () if case["config"]["target_language"] == lang]
        )


def _direction(lang: str, cases: Sequence[Any]) -> None:
    from scipy.stats import spearmanr

    pairs = [
        (_translated(case["model_output"]), _translated(case["expected_outcome"])) for case in cases
    ]
    people = [case["human"]["da_mean"] for case in cases]
    found = {e.name: _values(e, pairs, lang) for e in (Cosine(Muse()), Lexical())}

    def rho(name: str, chosen: Sequence[int]) -> float:
        values = found[name]
        return float(spearmanr([values[i] for i in chosen], [people[i] for i in chosen]).statistic)

    def gain(chosen: Sequence[int]) -> float:
        return rho("mUSE", chosen) - rho("chrF", chosen)

    everybody = range(len(cases))
    singles = [[index] for index in everybody]
    print(f"en>{lang}, {len(cases)} sentences, Spearman with people")
    for label, measure in (
        ("mUSE", partial(rho, "mUSE")),
        ("chrF", partial(rho, "chrF")),
        ("mUSE − chrF", gain),
    ):
        low, high = interval(measure, singles)
        print(f"  {label:12} {measure(everybody):+.3f} [{low:+.2f}, {high:+.2f}]")


def _translated(outcome: Any) -> str:
    return str(outcome["sentence_translations"][0]["translated_text"])


def _values(embedder: Embedder, pairs: Sequence[tuple[str, str]], lang: str) -> list[float]:
    found = asyncio.run(embedder.similarities(pairs, lang))
    assert not isinstance(found, Failed)
    return [similarity.value for similarity in found]
