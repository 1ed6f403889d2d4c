"""One result file per model and language, none in place of another."""

from __future__ import annotations

from pathlib import Path

from callscore.report.document_001 import result_files


def test_models_whose_names_become_equal_keep_a_file_each() -> None:
    documents = [{"x_extension": {"model": name, "language": "EN"}} for name in ("a/b", "a_b", "c")]
    files = result_files(Path("out/card.json"), documents)
    assert {str(path): part["x_extension"]["model"] for path, part in files.items()} == {
        "out/card.a_b.EN.json": "a/b",
        "out/card.a_b.EN-2.json": "a_b",
        "out/card.c.EN.json": "c",
    }
