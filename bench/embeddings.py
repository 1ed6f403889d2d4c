"""Embedders: time to load, sentences a second, and agreement with people beside chrF."""

from __future__ import annotations

import asyncio
import sys
import time

from bench import agreement
from bench.measuring import best_of, sized
from callscore.embeddings.catalog import ChrfEmbedder
from callscore.embeddings.encoder import CosineEmbedder
from callscore.embeddings.muse import Muse

SENTENCES = sized(1000, 8)
LOAD = (
    "import asyncio; from callscore.embeddings.muse import Muse; asyncio.run(Muse().encode(['a']))"
)


def main() -> None:
    _load()
    _throughput()
    agreement.main()


def _load() -> None:
    bare = best_of(sized(3, 1), [sys.executable, "-c", "import numpy"])
    loaded = best_of(sized(3, 1), [sys.executable, "-c", LOAD])
    print(
        f"mUSE: load and first sentence  {loaded.cpu_seconds:6.2f} s CPU  {loaded.peak_mb:5.0f} MB"
    )
    print(f"      import numpy alone       {bare.cpu_seconds:6.2f} s CPU  {bare.peak_mb:5.0f} MB")


def _throughput() -> None:
    texts = [
        f"The customer asks about invoice {n} and wants it sent again." for n in range(SENTENCES)
    ]
    pairs = list(zip(texts, texts[1:], strict=False))
    for embedder in (CosineEmbedder(Muse()), ChrfEmbedder()):
        asyncio.run(embedder.similarities([("warm", "up")], "en"))
        start = time.process_time()
        asyncio.run(embedder.similarities(pairs, "en"))
        spent = time.process_time() - start
        print(f"{embedder.name:5} {SENTENCES / spent:8.0f} sentences a second of CPU")
