"""Markdown: the framework's template as it stands, the short form, and hostile text in both."""

from __future__ import annotations

import re

import msgspec
import pytest

from callscore.report.markdown import FORMAT
from callscore.report.markdown_text import prose
from callscore.report.source import ReportOptions, ReportSource
from report_samples import hostile_source
from xss_payloads import OTHERS, PAYLOADS


@pytest.fixture(scope="module")
def source(sample: ReportSource) -> ReportSource:
    return msgspec.structs.replace(sample, cases=list(sample.cases)[:8])


def written(source: ReportSource, *, short: bool = False) -> str:
    return b"".join(FORMAT.write(source, ReportOptions(short=short))).decode()


def test_the_template_has_every_row_of_the_framework_in_its_order(source: ReportSource) -> None:
    lines = [line for line in written(source).splitlines() if line.startswith("| ")]
    lines = lines[: next(at for at, line in enumerate(lines) if "Any Blocker" in line) + 1]
    labels = [line.split(" | ")[0].removeprefix("| ") for line in lines]
    assert labels[:7] == [
        "Metric",
        "---",
        "**QA TASK METRICS**",
        "Question Score Accuracy",
        "Score Gap Accuracy",
        "Evidence-Backed Reasoning",
        "[!] Compliance False Pass Rate",
    ]
    assert (
        len(labels) == 2 + 4 + 28 + 4 + 13 + 6
    )  # heading; sections, metrics, tasks; layer two; final
    assert labels[-6:] == [
        "**FINAL**",
        "Final Score (with benchmarks)",
        "Final Score (without benchmarks)",
        "Cost per 1000 calls",
        "Cost-Adjusted Rank",
        "Any Blocker Triggered?",
    ]
    assert lines[6].endswith("<= 1% \\| > 3% blocker |")
    cells = {len(re.split(r"(?<!\\)\|", line)) for line in lines}
    assert cells == {len(source.card.models) + 4}


def test_rows_that_were_not_run_are_left_to_be_filled_in(source: ReportSource) -> None:
    models = [
        msgspec.structs.replace(model, tasks={"qa": model.tasks["qa"]})
        for model in source.card.models[:1]
    ]
    ranking = [entry for entry in source.card.ranking if entry.model == models[0].model]
    card = msgspec.structs.replace(source.card, models=models, ranking=ranking)
    told = written(msgspec.structs.replace(source, card=card))
    assert "| Keyword F1 |  | >= 0.90 |" in told
    assert re.search(r"\| Question Score Accuracy \| 0.968 .*\| >= 0.95 \|", told)


def test_the_short_form_fits_a_comment(source: ReportSource) -> None:
    told = written(source, short=True)
    assert len(told.splitlines()) < 30
    assert "- **Tie** sample-large and sample-large-b: cannot be distinguished" in told
    assert "- **Rank 1** sample-medium: by cost efficiency, Final 0.770" in told
    assert "| `sample-small` | invalid |" in told and "9 blockers" in told


@pytest.mark.parametrize("short", [False, True])
def test_hostile_text_stays_in_code_spans(source: ReportSource, short: bool) -> None:
    told = written(
        hostile_source(source, [*PAYLOADS, *OTHERS, "@everyone #1 [a](http://x.example)"]),
        short=short,
    )
    for line in told.splitlines():
        outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", line)
        assert not re.search(r"<(?=[a-z/!])(?!/?sub>)|@|\]\(|pwned|http", outside), line[:300]
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", told)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a model: best. Final 0.9", "a model: best. Final 0.9"),
        ("Call / Rejection", "Call / Rejection"),
        ("see /team", "`see /team`"),
        ("see @team", "`see @team`"),
        ("go to http://x.example", "`go to http://x.example`"),
        ("www.x.example wins", "`www.x.example wins`"),
        ("*x* wins", "`*x* wins`"),
        ("- item", "`- item`"),
        ("1. item", "`1. item`"),
    ],
)
def test_a_sentence_is_prose_only_where_nothing_in_it_is_markup(text: str, shown: str) -> None:
    assert prose(text) == shown
