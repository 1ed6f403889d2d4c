"""Every format: tables that spreadsheets read, hostile text that stays text, bounded memory."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

import msgspec
import openpyxl
import pytest
import python_calamine

from callscore.report.formats import BUILT_IN, report_format
from callscore.report.source import ReportOptions, ReportSource
from export.hostile import PAYLOADS, hostile_source, hostile_sources

ESCAPES = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u206f]"
)
"""What a terminal or an editor might obey."""
ACTING = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


FORMATS = tuple(name for name in BUILT_IN if report_format(name).files is None)
"""Those of one file; `test_parquet.py` has the folder."""


def written(name: str, source: ReportSource, **options: Any) -> bytes:
    return b"".join(report_format(name).write(source, ReportOptions(**options)))


def rows(raw: bytes, separator: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline=""), delimiter=separator))


def workbook(raw: bytes) -> openpyxl.Workbook:
    return openpyxl.load_workbook(io.BytesIO(raw))


class TestCsv:
    def test_one_line_a_case_model_run_and_metric(self, sample: ReportSource) -> None:
        head, *lines = rows(written("csv", sample))
        found = [dict(zip(head, line, strict=True)) for line in lines]
        expected = [
            (view.case.id, answer.model, slug, measure.value)
            for view in sample.cases
            for answer in view.answers
            for slug, measure in answer.measures.items()
        ]
        assert [
            (
                row["case_id"],
                row["model"],
                row["metric"],
                float(row["value"]) if row["value"] else None,
            )
            for row in found
        ] == expected
        assert all(row["why"] for row in found if not row["value"])

    def test_lines_end_and_quotes_double_as_in_rfc_4180(self, sample: ReportSource) -> None:
        raw = written("csv", hostile_source(sample, 'a "b", c\nd'))
        assert raw.endswith(b"\r\n")
        assert b'"a ""b"", c\nd' in raw

    def test_numbers_are_numbers_though_they_are_below_zero(self, sample: ReportSource) -> None:
        (view, *_) = sample.cases
        answer = view.answers[0]
        result = msgspec.structs.replace(answer.result, score=-0.5)
        view = msgspec.structs.replace(
            view, answers=[msgspec.structs.replace(answer, result=result)]
        )
        head, line, *_ = rows(written("csv", msgspec.structs.replace(sample, cases=[view])))
        assert line[head.index("score")] == "-0.5"


class TestXlsx:
    def test_it_has_six_sheets_with_frozen_headers(self, sample: ReportSource) -> None:
        book = workbook(written("xlsx", sample))
        names = ["Scorecard", "Ranking", "Cases", "Questions", "Blockers", "Settings"]
        assert book.sheetnames == names
        assert all(sheet.freeze_panes for sheet in book)
        assert book["Cases"].auto_filter.ref is not None
        assert book["Cases"].conditional_formatting
        cases = book["Cases"]
        assert cases.max_row == 1 + sum(len(view.answers) for view in sample.cases)
        score = cases.cell(2, 8)
        assert isinstance(score.value, (int, float))
        assert score.number_format == "0.000"

    def test_numbers_of_the_scorecard_are_exact_numbers(self, sample: ReportSource) -> None:
        sheet = workbook(written("xlsx", sample))["Scorecard"]
        heads = [cell.value for cell in sheet[1]]
        labelled = {row[0].value: row for row in sheet.iter_rows(min_row=2)}
        for model in sample.card.models:
            place = heads.index(model.model)
            shown = labelled["Score Gap Accuracy"][place].value
            assert shown == model.tasks["qa"].metrics["qa.score_gap_accuracy"].value

    def test_questions_are_counted_by_model(self, sample: ReportSource) -> None:
        head, *lines = workbook(written("xlsx", sample))["Questions"].iter_rows(values_only=True)
        assert head[:5] == ("Question", "Text", "Model", "Asked", "Agreement")
        assert sum(int(str(line[3])) for line in lines) > 0

    def test_blockers_name_their_calls(self, sample: ReportSource) -> None:
        _, *lines = workbook(written("xlsx", sample))["Blockers"].iter_rows(values_only=True)
        blocked = {
            (m.model, b.metric, c) for m in sample.card.models for b in m.blockers for c in b.cases
        }
        assert {(line[0], line[2], line[6]) for line in lines} == blocked

    def test_another_reader_reads_it_too(self, sample: ReportSource) -> None:
        raw = written("xlsx", sample)
        found = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(raw))
        assert (
            found.get_sheet_by_name("Cases").to_python()[1][0] == next(iter(sample.cases)).case.id
        )


@pytest.fixture(scope="module")
def two_cases(sample: ReportSource) -> ReportSource:
    """Two cases and one answer each: enough to have every kind of field."""
    views = [view for view in sample.cases if view.case.task in ("qa", "text")][:2]
    views = [msgspec.structs.replace(view, answers=view.answers[-1:]) for view in views]
    return msgspec.structs.replace(sample, cases=views)


def parts(name: str, raw: bytes) -> Iterator[tuple[str, bytes]]:
    """The file, or the files in it."""
    if not raw.startswith(b"PK"):
        yield name, raw
        return
    with ZipFile(io.BytesIO(raw)) as archive:
        for inner in archive.namelist():
            yield inner, archive.read(inner)


def check_escapes(name: str, source: ReportSource) -> None:
    for part, raw in parts(name, written(name, source)):
        found = ESCAPES.search(raw.decode("utf-8"))
        assert found is None, f"{part}: {found}"


def check_cells(source: ReportSource) -> None:
    raw = written("csv", source)
    csv.field_size_limit(10_000_000)
    for separator in ",;\t":
        for line in rows(raw, separator):
            assert [cell for cell in line if cell.lstrip().startswith(ACTING)] == []
    for sheet in workbook(written("xlsx", source)):
        for line in sheet.iter_rows():
            for cell in line:
                assert cell.data_type != "f", f"{sheet.title}!{cell.coordinate}"
                assert cell.hyperlink is None


def check_shape(source: ReportSource) -> None:
    json.loads(written("json", source))
    json.loads(written("promptfoo", source))
    for line in written("otel", source).splitlines():
        json.loads(line)
    assert ElementTree.fromstring(written("junit", source)).tag == "testsuites"
    for name in ("inspect", "every-eval-ever", "dossier"):
        for part, raw in parts(name, written(name, source)):
            assert re.fullmatch(r"[\w.+-]+(/[\w.+-]+)*", part)
            assert ".." not in part.split("/")
            for line in raw.splitlines() if part.endswith("l") else [raw]:
                json.loads(line)


@pytest.mark.parametrize("name", FORMATS)
def test_s19_no_format_emits_an_escape(name: str, two_cases: ReportSource) -> None:
    for source in hostile_sources(two_cases):
        check_escapes(name, source)


def test_s04_no_cell_is_a_formula(two_cases: ReportSource) -> None:
    for source in hostile_sources(two_cases):
        check_cells(source)


def test_hostile_text_is_well_formed_everywhere(two_cases: ReportSource) -> None:
    for source in hostile_sources(two_cases):
        check_shape(source)


@pytest.mark.slow
@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_every_payload_is_harmless_in_every_field(payload: str, sample: ReportSource) -> None:
    source = hostile_source(sample, payload)
    check_cells(source)
    check_shape(source)
    for name in FORMATS:
        check_escapes(name, source)


def test_a_report_without_text_has_none(sample: ReportSource) -> None:
    secret = "the secret of the caller"
    source = hostile_source(sample, secret)
    kept = {"csv", "xlsx", "json", "junit"}  # ids and names are no text of the call
    for name in set(FORMATS) - kept - {"html", "md"}:
        replies = [answer.text for view in source.cases for answer in view.answers]
        assert secret in (replies[0] or "")
        views = [_with_harmless_ids(view) for view in source.cases]
        quiet = msgspec.structs.replace(sample, cases=views)
        for part, raw in parts(name, written(name, quiet, without_text=True)):
            assert secret.encode() not in raw, f"{name}: {part}"


def _harmless_verdict(verdict: Any) -> Any:
    """Only what was said is hostile: words, items and fields are ours."""
    return msgspec.structs.replace(
        verdict,
        metric="qa.x",
        item="Q1",
        verdict="stated",
        source="",
        by="",
        expected_outcome_field="",
        model_output_field="",
    )


def _with_harmless_ids(view: Any) -> Any:
    case = msgspec.structs.replace(view.case, id="c", call_id=None, lang="en", tags=None)
    answers = [
        msgspec.structs.replace(
            answer,
            result=msgspec.structs.replace(
                answer.result, case_id="c", model="sample-large", reasons=(), flags=()
            ),
            measures={},
            verdicts=[_harmless_verdict(v) for v in answer.verdicts],
            finish_reason=None,
        )
        for answer in view.answers
    ]
    return msgspec.structs.replace(view, case=case, answers=answers)


def test_a_workbook_that_cannot_be_written_names_the_extra(
    sample: ReportSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    from callscore.core.errors import MissingExtra

    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(MissingExtra, match=r"callscore\[excel\]"):
        written("xlsx", sample)


@pytest.mark.parametrize("reply", ["{", "}{", '{"questions": [', "", "no JSON", "[1]", "{}}"])
def test_a_reply_that_is_no_json_is_shown_in_every_format(
    reply: str, two_cases: ReportSource
) -> None:
    views = [
        msgspec.structs.replace(
            view, answers=[msgspec.structs.replace(a, text=reply) for a in view.answers]
        )
        for view in two_cases.cases
    ]
    source = msgspec.structs.replace(two_cases, cases=views)
    for name in FORMATS:
        assert written(name, source)
