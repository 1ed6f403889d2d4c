"""Tables in Parquet: every answer once, text that stays text, parts by block, `_SUCCESS` last."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
import pyarrow.dataset
import pyarrow.parquet
import pytest

from callscore.core.blocks import BlockSize
from callscore.core.case import turns
from callscore.core.errors import MissingExtra, StoreError, UsageError
from callscore.export.report_file import write_folder, write_report
from callscore.report import parquet
from callscore.report.source import ReportOptions, ReportSource, RunFacts
from commands import run
from export.hostile import PAYLOADS, hostile_source

Row = dict[str, Any]


def rows_of(source: ReportSource, **options: Any) -> dict[str, list[Row]]:
    """The rows of every table, with the model that the name of the folder says."""
    tables: dict[str, list[Row]] = {name: [] for name in parquet.TABLES}
    for name, raw in parquet.write_files(source, ReportOptions(**options)):
        if name == parquet.SUCCESS:
            continue
        table, *folder, _ = name.split("/")
        known = {"model": unquote(folder[0].partition("=")[2])} if folder else {}
        read = pyarrow.parquet.read_table(io.BytesIO(raw)).to_pylist()
        tables[table] += [{**row, **known} for row in read]
    return tables


def test_28_4_every_answer_is_in_the_tables_once(sample: ReportSource) -> None:
    tables = rows_of(sample)
    views = list(sample.cases)
    assert [row["id"] for row in tables["cases"]] == [view.case.id for view in views]
    answers = [(view, answer) for view in views for answer in view.answers]
    by_model = sorted(answers, key=lambda found: _place(sample, found[1].model))
    assert [(r["case_id"], r["model"], r["run"], r["score"]) for r in tables["results"]] == [
        (view.case.id, answer.model, answer.run, answer.result.score) for view, answer in by_model
    ]
    assert [(row["case_id"], row["model"], row["text"]) for row in tables["replies"]] == [
        (view.case.id, answer.model, answer.text)
        for view, answer in by_model
        if answer.result.status != "not_run"
    ]
    assert [
        (row["case_id"], row["model"], row["metric"], row["value"]) for row in tables["metrics"]
    ] == [
        (view.case.id, answer.model, slug, measure.value)
        for view, answer in by_model
        for slug, measure in answer.measures.items()
    ]
    assert [(row["item"], row["verdict"], row["quote"]) for row in tables["verdicts"]] == [
        (verdict.item, verdict.verdict, verdict.quote)
        for _, answer in by_model
        for verdict in (*answer.verdicts, *answer.labels)
    ]
    for row, view in zip(tables["cases"], views, strict=True):
        assert msgspec.json.decode(row["config"]) == view.case.config
        assert msgspec.json.decode(row["expected_outcome"]) == view.case.expected_outcome


def _place(source: ReportSource, model: str) -> int:
    return [each.model for each in source.card.models].index(model)


def test_28_4_parts_are_blocks_and_the_mark_comes_last(
    sample: ReportSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = rows_of(sample)
    monkeypatch.setattr(parquet, "BLOCK", BlockSize(sub_block=4, sub_blocks=2))
    names = [name for name, _ in parquet.write_files(sample, ReportOptions())]
    parts = -(-len(list(sample.cases)) // 8)
    assert names[-1] == "_SUCCESS"
    assert [name for name in names if name.startswith("cases/")] == [
        f"cases/part-{number:05}.parquet" for number in range(parts)
    ]
    assert len(names) == 1 + parts * (1 + 4 * len(sample.card.models))
    split = rows_of(sample)
    for table, rows in whole.items():
        assert sorted(map(repr, split[table])) == sorted(map(repr, rows))


@pytest.mark.parametrize("payload", PAYLOADS[:-1], ids=range(len(PAYLOADS) - 1))
def test_28_4_hostile_text_stays_text_and_names_stay_in_the_folder(
    payload: str, sample: ReportSource, tmp_path: Path
) -> None:
    views = list(sample.cases)[:2]
    source = hostile_source(msgspec.structs.replace(sample, cases=views), payload)
    write_report(source, parquet.FORMAT, ReportOptions(), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    found = pyarrow.dataset.dataset(
        tmp_path / "out" / "replies",
        partitioning=pyarrow.dataset.partitioning(
            pyarrow.schema([("model", "string")]), flavor="hive"
        ),
    ).to_table()
    names = {model.model for model in source.card.models}
    assert set(found["model"].to_pylist()) == names
    texts = [answer.text for view in source.cases for answer in view.answers]
    assert sorted(map(repr, found["text"].to_pylist())) == sorted(map(repr, texts))


def texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_in(inner)


def test_28_4_without_text_only_ids_counts_and_hashes_stay(sample: ReportSource) -> None:
    spoken = {turn.text for view in sample.cases for turn in turns(view.case.transcript)}
    replies = {answer.text for view in sample.cases for answer in view.answers} - {None}
    quotes = {v.quote for view in sample.cases for a in view.answers for v in a.verdicts} - {""}
    full, quiet = rows_of(sample), rows_of(sample, without_text=True)
    kept = "\n".join(texts_in(list(quiet.values())))
    assert replies <= set(texts_in(full["replies"]))
    for text in (*spoken, *replies, *quotes):
        assert str(text) not in kept or len(str(text)) < 8
    for table in ("cases", "replies"):
        assert [row["sha256"] for row in quiet[table]] == [row["sha256"] for row in full[table]]
    assert [row["value"] for row in quiet["metrics"]] == [row["value"] for row in full["metrics"]]


def test_28_4_a_run_that_stores_no_text_is_exported_without(sample: ReportSource) -> None:
    facts = RunFacts(1, "quiet", "running", "2026-11-18T09:00:00Z", unstored=True)
    about = msgspec.structs.replace(sample.provenance, run=facts)
    source = msgspec.structs.replace(sample, provenance=about)
    assert rows_of(source) == rows_of(sample, without_text=True)


def test_28_4_a_run_and_a_score_job_write_the_same_tables(project: Path, tmp_path: Path) -> None:
    assert run("run", project / "eval.yaml", "--parquet", tmp_path / "run").returncode == 0
    done = run("report", project / "eval.yaml", "-o", tmp_path / "later.parquet")
    assert done.returncode == 0, done.stderr
    for path in (tmp_path / "run").rglob("*"):
        twin = tmp_path / "later.parquet" / path.relative_to(tmp_path / "run")
        assert path.is_dir() or path.read_bytes() == twin.read_bytes(), path
    case = msgspec.json.decode((project / "cases.jsonl").read_bytes().splitlines()[0])
    reply = {"case_id": case["id"], "model": "m", "output": "{}"}
    (tmp_path / "o.jsonl").write_bytes(msgspec.json.encode(reply))
    done = run(
        "score", project / "cases.jsonl", "--outputs", tmp_path / "o.jsonl", "--parquet", "tables",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    cases = "cases/part-00000.parquet"
    assert (tmp_path / "tables" / cases).read_bytes() == (tmp_path / "run" / cases).read_bytes()


def test_28_4_a_folder_that_exists_is_refused_before_any_work(project: Path) -> None:
    for words in (
        ("run", project / "eval.yaml", "--parquet", project),
        ("report", project / "eval.yaml", "--format", "parquet", "-o", project),
    ):
        done = run(*words)
        assert done.returncode == 2
        assert "exists; expected the name of a new folder" in done.stderr
    done = run("report", project / "eval.yaml", "--format", "parquet")
    assert (done.returncode, done.stdout) == (2, "")
    assert "expected -o FOLDER.parquet" in done.stderr


def test_28_4_a_folder_that_was_not_finished_has_no_mark(tmp_path: Path) -> None:
    def files() -> Iterator[tuple[str, bytes]]:
        yield "cases/part-00000.parquet", b"x"
        raise OSError(28, "No space left on device")

    with pytest.raises(StoreError, match="No space left"):
        write_folder(files(), tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["cases"]
    with pytest.raises(UsageError, match="exists"):
        write_folder(files(), tmp_path / "out")


def test_28_4_without_pyarrow_it_says_what_to_install(
    sample: ReportSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from callscore.app import OutputPaths

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"pip install 'callscore\[parquet\]'"):
        list(parquet.write_files(sample, ReportOptions()))
    with pytest.raises(MissingExtra):
        write_folder(parquet.write_files(sample, ReportOptions()), tmp_path / "new")
    assert not (tmp_path / "new").exists()  # else it would be refused after the installation
    with pytest.raises(MissingExtra):  # before a run sends anything
        OutputPaths(parquet=Path("new")).check([])
