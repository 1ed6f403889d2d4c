"""`callscore sample` and `callscore annotate`: from transcripts to gold, without a line of code."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from commands import environment, run

TURNS = [
    {"id": 1, "speaker": "agent", "text": "Hello, how can I help?"},
    {"id": 2, "speaker": "customer", "text": "=SUM(1) refund please, 감사합니다"},
]
FORM = "ID,Question,Options\ngreet,Was there a greeting?,Yes=5; No=0; N/A\nsolve,Solved?,Yes; No\n"
CONFIGS: dict[str, dict[str, Any]] = {
    "entity": {"keywords": ["refund", "invoice"], "topics": ["billing"]},
    "text": {"required_fields": ["customer_name"], "emotions": ["anger", "neutral"]},
    "translation": {"source_language": "en", "target_language": "es", "domain_terms": ["refund"]},
}
ANSWERS = {
    "yes": "yes", "negative": "neutral", "call_purpose": "The customer wants a refund.",
    "highlights": "A refund was asked for; The agent helped", "customer_name": "Jo",
    "anger": "40", "neutral": "60", "refund": "reembolso",
}  # fmt: skip


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    path = tmp_path / "calls.jsonl"
    records = [
        {"id": f"call-{number}", "lang": "en" if number % 3 else "ko", "transcript": TURNS}
        for number in range(9)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))


def fill(path: Path, **more: str) -> None:
    """Answer every item of a CSV sheet."""
    rows = rows_of(path)
    for row in rows:
        first = row["options"].split(" · ")[0]
        row["answer"] = more.get(row["item"]) or first or ANSWERS.get(row["item"]) or "hola"
        if first == "yes":
            row["answer"] = "yes" if row["item"] in ("refund", "billing") else "no"
        elif first == "negative":
            row["answer"] = "neutral"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def test_a_form_is_filled_in_as_a_workbook_and_becomes_cases(calls: Path, tmp_path: Path) -> None:
    form, sheet, out = tmp_path / "form.csv", tmp_path / "labels.xlsx", tmp_path / "cases.jsonl"
    form.write_text(FORM)
    done = run("annotate", calls, "--task", "qa", "--form", form, "--sheet", sheet)
    assert done.returncode == 0, done.stderr

    book = openpyxl.load_workbook(sheet)
    labels = book["labels"]
    assert labels.data_validations.dataValidation[0].formula1 == "options!$A$1:$C$1"
    assert [cell.value for cell in book["options"][1]] == ["Yes", "No", "N/A"]
    said = book["transcripts"]
    assert said.cell(3, 4).value == "=SUM(1) refund please, 감사합니다"
    assert said.cell(3, 4).data_type == "s"
    for row in range(2, labels.max_row + 1):
        item = labels.cell(row, 3).value
        labels.cell(row, 7).value = "N/A" if item == "greet" and row == 2 else "Yes"
        labels.cell(row, 8).value = "The agent says hello"
    book.save(sheet)

    done = run("annotate", calls, "--task", "qa", "--form", form, "--from", sheet, "-o", out)
    assert done.returncode == 0, done.stderr
    cases = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(cases) == 9
    assert [one["score"] for one in cases[0]["expected_outcome"]["questions"]] == [None, 1.0]
    assert run("validate", out).returncode == 0


@pytest.mark.parametrize("task", CONFIGS)
def test_every_task_can_be_labelled_in_a_sheet(task: str, calls: Path, tmp_path: Path) -> None:
    config, sheet, out = tmp_path / "c.yaml", tmp_path / "labels.csv", tmp_path / "cases.jsonl"
    config.write_text(json.dumps(CONFIGS[task]))
    assert (
        run("annotate", calls, "--task", task, "--config", config, "--sheet", sheet).returncode == 0
    )
    fill(sheet)

    done = run("annotate", calls, "--task", task, "--config", config, "--from", sheet, "-o", out)

    assert done.returncode == 0, done.stderr
    checked = run("validate", out)
    assert checked.returncode == 0, checked.stderr
    assert f"9 cases can be scored: {task} 9" in checked.stdout


def test_two_people_are_compared_and_calls_they_differ_on_wait(calls: Path, tmp_path: Path) -> None:
    form = tmp_path / "form.csv"
    form.write_text(FORM)
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    for sheet in (first, second):
        run("annotate", calls, "--task", "qa", "--form", form, "--sheet", sheet)
        fill(sheet)
    text = second.read_text(encoding="utf-8-sig")
    second.write_text(text.replace("Yes,\n", "No,\n", 1).replace("Yes,\r\n", "No,\r\n", 1))
    out, disputed = tmp_path / "cases.jsonl", tmp_path / "disputed.csv"
    base = ("annotate", calls, "--task", "qa", "--form", form, "--from", first, "--from", second)

    done = run(*base, "-o", out, "--disputed", disputed)

    assert done.returncode == 0, done.stderr
    assert "agreement on 18 items: 94.4%" in done.stdout
    assert "disagreement: call-0, questions greet: Yes / No" in done.stdout
    assert len(out.read_text().splitlines()) == 8
    fill(disputed)
    done = run(*base, "-o", out, "--resolved", disputed)
    assert done.returncode == 0, done.stderr
    assert len(out.read_text().splitlines()) == 9


def test_labels_are_given_in_the_terminal_and_kept_when_one_leaves(
    calls: Path, tmp_path: Path
) -> None:
    form, labels = tmp_path / "form.csv", tmp_path / "labels.csv"
    form.write_text(FORM)

    def answer(text: str) -> subprocess.CompletedProcess[str]:
        out = tmp_path / "cases.jsonl"
        words = ["annotate", calls, "--task", "qa", "--form", form, "--labels", labels, "-o", out]
        return subprocess.run(
            [sys.executable, "-m", "callscore", *map(str, words)],
            input=text, text=True, capture_output=True, env=environment(), check=False,
        )  # fmt: skip

    done = answer("Maybe\nYes\nsays hello\nNo\nnot solved\nq\n")
    assert done.returncode == 0, done.stderr
    assert "'Maybe' is not an option; expected one of Yes, No, N/A" in done.stdout
    assert [row["answer"] for row in rows_of(labels)][:3] == ["Yes", "No", ""]
    again = answer("q\n")
    assert "2 of 18 items are labelled" in again.stdout
    assert len((tmp_path / "cases.jsonl").read_text().splitlines()) == 1


def test_a_wrong_answer_in_a_sheet_is_named(calls: Path, tmp_path: Path) -> None:
    form, sheet = tmp_path / "form.csv", tmp_path / "labels.csv"
    form.write_text(FORM)
    run("annotate", calls, "--task", "qa", "--form", form, "--sheet", sheet)
    fill(sheet, greet="Sometimes")
    done = run(
        "annotate", calls, "--task", "qa", "--form", form, "--from", sheet, "-o", tmp_path / "o"
    )
    assert done.returncode == 2
    assert "'Sometimes' is not an option" in done.stderr


WORDED_FORM = (
    "section,id,question,options,critical,na allowed,condition,instructions\n"
    "Opening,verify,Was the caller verified?,Yes=5; No=0,yes,yes,,Any two of name and date\n"
    'Closing,solve,Was it solved?,"Fully, at once=5; Partly=2; Not=0",,,,\n'
    "Closing,again,Was a second call offered?,Yes=1; No=0,,,solve=Partly|Not,\n"
)


def test_a_sheet_offers_the_words_of_the_form(calls: Path, tmp_path: Path) -> None:
    form, sheet, out = tmp_path / "form.csv", tmp_path / "labels.xlsx", tmp_path / "cases.jsonl"
    form.write_text(WORDED_FORM)
    base = ("annotate", calls, "--task", "qa", "--form", form)
    assert run(*base, "--sheet", sheet).returncode == 0

    book = openpyxl.load_workbook(sheet)
    labels = book["labels"]
    heads = [cell.value for cell in labels[1]]
    assert heads == ["call_id", "part", "item", "section", "question", "help", "text", "options",
                     "answer", "comment"]  # fmt: skip
    first, second, third = ([cell.value for cell in labels[row]] for row in (2, 3, 4))
    assert first[3:6] == [
        "Opening",
        "Was the caller verified?",
        "Any two of name and date\ncritical: No fails the form",
    ]
    assert [row[7] for row in (first, second, third)] == [
        "Yes · No · N/A",
        "Fully, at once · Partly · Not",
        "Yes · No · N/A",
    ]
    assert third[5] == ("Applies only where question solve is answered with Partly or Not.")
    lists = {tuple(cell.value for cell in row if cell.value) for row in book["options"].rows}
    assert lists == {("Yes", "No", "N/A"), ("Fully, at once", "Partly", "Not")}

    answers = {"verify": "not applicable", "solve": "fully, at once", "again": None}
    for row in range(2, labels.max_row + 1):
        labels.cell(row, 9).value = answers[str(labels.cell(row, 3).value)]
    labels.insert_rows(1)
    labels.cell(1, 1).value = "Labels of October"
    book.save(sheet)
    done = run(*base, "--from", sheet, "-o", out)
    assert done.returncode == 0, done.stderr
    case = json.loads(out.read_text().splitlines()[0])
    marks = {one["question_id"]: one["score"] for one in case["expected_outcome"]["questions"]}
    assert marks == {"verify": None, "solve": 5, "again": None}


@pytest.mark.parametrize(
    ("item", "answer", "problem"),
    [
        ("solve", "5", "'5' is not an option; expected one of Fully, at once, Partly, Not"),
        ("solve", "N/A", "'N/A' is not an option"),
        ("again", "", "field questions.again: is not marked; expected an answer, as its"),
    ],
)
def test_a_sheet_accepts_only_the_words_of_the_form(
    item: str, answer: str, problem: str, calls: Path, tmp_path: Path
) -> None:
    form, sheet = tmp_path / "form.csv", tmp_path / "labels.csv"
    form.write_text(WORDED_FORM)
    base = ("annotate", calls, "--task", "qa", "--form", form)
    run(*base, "--sheet", sheet)
    fill(sheet, verify="No", solve="Partly", again="Yes")
    rows = sheet.read_text(encoding="utf-8-sig").splitlines()
    at = next(number for number, row in enumerate(rows) if f"questions,{item}," in row)
    word = {"solve": ",Partly,", "again": ",Yes,"}[item]
    rows[at] = f",{answer},".join(rows[at].rsplit(word, 1))
    sheet.write_text("\n".join(rows))

    done = run(*base, "--from", sheet, "-o", tmp_path / "o.jsonl")

    assert done.returncode == 2
    assert problem in done.stderr
    if answer:
        assert f"labels.csv: line {at + 1}" in done.stderr


def test_a_sheet_of_another_form_is_refused(calls: Path, tmp_path: Path) -> None:
    form, sheet = tmp_path / "form.csv", tmp_path / "labels.csv"
    form.write_text(FORM)
    base = ("annotate", calls, "--task", "qa", "--form", form)
    run(*base, "--sheet", sheet)
    fill(sheet)
    form.write_text(FORM.replace("solve,", "solved,"))
    done = run(*base, "--from", sheet, "-o", tmp_path / "o.jsonl")
    assert done.returncode == 2
    assert "labels.csv: line 3: field item: 'solve' (questions) is not an item of call" in (
        done.stderr
    )


def test_the_terminal_asks_in_the_words_of_the_form(calls: Path, tmp_path: Path) -> None:
    form, labels = tmp_path / "form.csv", tmp_path / "labels.csv"
    form.write_text(WORDED_FORM)
    words = ["annotate", calls, "--task", "qa", "--form", form, "--labels", labels]
    done = subprocess.run(
        [sys.executable, "-m", "callscore", *map(str, words)],
        input="N/A\nno account\nYes\nPARTLY\nhalf\nq\n",
        text=True, capture_output=True, env=environment(), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "[1/27] Opening · Was the caller verified?" in done.stdout
    assert "(critical: No fails the form)" in done.stdout
    assert "'Yes' is not an option; expected one of Fully, at once, Partly, Not" in done.stdout
    assert [row["answer"] for row in rows_of(labels)][:2] == ["N/A", "Partly"]


def test_a_task_whose_suite_has_no_labelling_is_refused(calls: Path, tmp_path: Path) -> None:
    done = run("annotate", calls, "--task", "orchestration", "--sheet", tmp_path / "labels.csv")
    assert done.returncode == 2
    assert "cases of the task 'orchestration' cannot be labelled" in done.stderr
    done = run("annotate", calls, "--task", "txet", "--sheet", tmp_path / "labels.csv")
    assert done.returncode == 2
    assert "unknown task 'txet'; expected one of qa, entity, text, translation" in done.stderr


def test_calls_are_drawn_at_random_by_kind_and_where_models_disagree(
    calls: Path, tmp_path: Path
) -> None:
    def drawn(*options: object) -> list[str]:
        out = tmp_path / "drawn.jsonl"
        done = run("sample", calls, "-o", out, *options)
        assert done.returncode == 0, done.stderr
        return [json.loads(line)["id"] for line in out.read_text().splitlines()]

    assert drawn("-n", 4, "--seed", 1) == drawn("-n", 4, "--seed", 1)
    assert len(drawn("-n", 4)) == 4
    assert drawn("-n", 4, "--seed", 1) != drawn("-n", 4, "--seed", 3)
    by_language = drawn("-n", 3, "--by", "lang")
    assert sum(int(name[-1]) % 3 == 0 for name in by_language) == 1
    results = tmp_path / "results.jsonl"
    scores = {"call-3": (0.1, 0.9), "call-5": (0.5, 0.6), "call-1": (0.7, 0.7)}
    results.write_text(
        "".join(
            json.dumps({"case_id": case, "model": model, "status": "valid", "score": score}) + "\n"
            for case, pair in scores.items()
            for model, score in zip("ab", pair, strict=True)
        )
    )
    assert drawn("-n", 2, "--results", results) == ["call-3", "call-5"]


@pytest.mark.parametrize(
    "raw", [b'{"id": "\xff"}', b'{"id": ' + b"[" * 5000 + b"]" * 5000 + b"}", b'"x"']
)
def test_a_line_that_is_not_a_call_is_refused_with_its_place(raw: bytes, tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(raw + b"\n")
    for words in (
        ("sample", path, "-n", 1, "-o", tmp_path / "some.jsonl"),
        ("annotate", path, "--task", "qa", "--sheet", tmp_path / "sheet.csv"),
    ):
        done = run(*words)
        assert done.returncode == 2, done.stderr
        assert "calls.jsonl:1: " in done.stderr
        assert "expected a" in done.stderr
