"""The report on forms: N/A first class, totals as the form's own system adds them up."""

from __future__ import annotations

import json
import re
from pathlib import Path

import openpyxl
import pytest

from commands import run

FORM = (
    "section,id,question,options,weight,critical,na allowed,condition\n"
    "Opening,greet,Greeting?,Yes=5; No=0,1,,yes,\n"
    "Opening,verify,Verified?,Yes=5; No=0,3,yes,yes,\n"
    "Closing,offer,Offer read out?,Yes=5; No=0,1,,yes,verify=Yes\n"
)
MARKS = "call_id,greet,verify,offer\na,Yes,Yes,No\nb,No,N/A,N/A\nc,Yes,No,N/A\n"
ANSWERS = {"a": (5, 5, 5), "b": (0, 0, None), "c": (5, 0, 5)}


def prepare(folder: Path) -> tuple[Path, Path]:
    for call in ANSWERS:
        (folder / f"{call}.txt").write_text("Agent: Hello\nCustomer: Hi\nAgent: Bye\n")
    (folder / "form.csv").write_text(FORM)
    (folder / "marks.csv").write_text(MARKS)
    cases, outputs = folder / "cases.jsonl", folder / "outputs.jsonl"
    done = run(
        "import", *(folder / f"{call}.txt" for call in ANSWERS), "--form", folder / "form.csv",
        "--gold", folder / "marks.csv", "-o", cases,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    records = [
        {
            "case_id": f"{call}/qa",
            "model": "m",
            "output": {
                "questions": [
                    {"question_id": key, "score": score, "max_score": 5, "type": "PASS_FAIL",
                     "reason": "r"}
                    for key, score in zip(("greet", "verify", "offer"), marks, strict=True)
                ]
            },
        }
        for call, marks in ANSWERS.items()
    ]  # fmt: skip
    outputs.write_text("".join(json.dumps(record) + "\n" for record in records))
    return cases, outputs


def test_na_confusion_totals_and_fails_are_shown_for_every_model(tmp_path: Path) -> None:
    cases, outputs = prepare(tmp_path)
    (tmp_path / "eval.yaml").write_text(
        "data: cases.jsonl\nmodels:\n  - {name: m, provider: replay, outputs: outputs.jsonl}\n"
        "store: runs.db\n"
    )
    assert run("run", "eval.yaml", cwd=tmp_path).returncode == 0
    del cases, outputs

    done = run("report", "eval.yaml", "--format", "forms", "-o", "forms.md", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    page = (tmp_path / "forms.md").read_text()
    assert "| N/A | 1 | 1 | 1 |" in page
    assert "N/A answered with No: 33.3 % of 3" in page
    # b: no condition is met and verify is N/A; c: verify is No; both models answered once
    assert "Questions answered although they do not apply: 1" in page
    # people fail c alone (verify No is critical); the model fails b as well
    assert "Automatic fails: people 1, model 2, both 1" in page
    assert "| `Opening` |" in page and "| `whole form` |" in page


def test_card_data_in_a_summary_is_a_visible_finding(tmp_path: Path) -> None:
    case = {
        "id": "t1", "task": "text", "transcript": "Agent: Hello\nCustomer: Card please",
        "config": {},
        "expected_outcome": {
            "sentiment": [{"sentence_id": 1, "text": "Hello", "label": "neutral"}],
            "summary": {"call_purpose": "Pay", "highlights": ["Paid"], "call_extracted_info": {}},
            "emotion": {"neutral": 100},
        },
    }  # fmt: skip
    output = json.loads(json.dumps(case["expected_outcome"]))
    output["summary"]["highlights"] = ["Paid with 4111 1111 1111 1111, CVV 123"]
    (tmp_path / "cases.jsonl").write_text(json.dumps(case) + "\n")
    record = {"case_id": "t1", "model": "m", "output": output}
    (tmp_path / "outputs.jsonl").write_text(json.dumps(record) + "\n")

    done = run(
        "score", "cases.jsonl", "--outputs", "outputs.jsonl", "--results", "r.jsonl", cwd=tmp_path
    )

    assert done.returncode == 0, done.stderr
    flags = json.loads((tmp_path / "r.jsonl").read_text())["flags"]
    assert {"leak:card_number", "leak:card_security_code"} <= set(flags)
    assert "m: card number in the answers to 1 case, which must not be written" in done.stdout


WORDED_FORM = (
    "section,id,question,options,weight,critical,na allowed,instructions\n"
    "Opening,verify,Was the caller verified?,Yes=5; No=0,2,yes,yes,Name and date\n"
    "Closing,solve,Was it solved?,Fully=10; Nearly=9; Partly=4; Not=0,3,,,\n"
)
WORDED_MARKS = "call_id,verify,solve\na,No,Fully\nb,N/A,Partly\nc,Yes,Fully\n"
GIVEN = {"a": (5, 9), "b": (5, 10), "c": (5, None)}
"""A false pass; N/A answered and the worst grade missed; a graded question without a mark."""


@pytest.fixture(scope="module")
def worded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one model on three calls with a form in words."""
    folder = tmp_path_factory.mktemp("worded")
    answers = []
    for call, (verify, solve) in GIVEN.items():
        (folder / f"{call}.txt").write_text("Agent: Hello\nCustomer: Hi\nAgent: Bye\n")
        marks: list[dict[str, object]] = [
            {"question_id": "verify", "score": verify, "max_score": 5, "type": "PASS_FAIL"},
            {"question_id": "solve", "score": solve, "max_score": 10, "type": "SCORE"},
        ]
        questions = [{**mark, "reason": "r"} for mark in marks]
        answers.append({"case_id": f"{call}/qa", "model": "m", "output": {"questions": questions}})
    (folder / "form.csv").write_text(WORDED_FORM)
    (folder / "marks.csv").write_text(WORDED_MARKS)
    (folder / "outputs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in answers))
    (folder / "eval.yaml").write_text(
        "data: cases.jsonl\nmodels:\n  - {name: m, provider: replay, outputs: outputs.jsonl}\n"
        "store: runs.db\njudge: offline\n"
    )
    calls = [folder / f"{call}.txt" for call in GIVEN]
    done = run("import", *calls, "--form", folder / "form.csv", "--gold", folder / "marks.csv",
               "-o", folder / "cases.jsonl")  # fmt: skip
    assert done.returncode == 0, done.stderr
    done = run("run", "eval.yaml", "--records", "records.jsonl", cwd=folder)
    assert done.returncode == 0, done.stderr
    (folder / "card.txt").write_text(done.stdout)
    return folder


def rows_of(page: str, case: str) -> dict[str, list[str]]:
    """The compared rows of a case in the page: cells with their mark, by question."""
    part = page.split(f">{case}/qa</span>")[1].split("</table>")[0]
    rows = {}
    for line in re.findall(r"<tr>(.*?)</tr>", part, re.DOTALL):
        label = re.search(r"<b>(.*?)</b>", line)
        cells = re.findall(r"<td(?:[^>]*class=\"(\w+)\")?[^>]*>(.*?)</td>", line, re.DOTALL)
        if label is not None and cells:
            rows[label[1]] = [f"{kind}: {re.sub('<.*?>', '', text)}" for kind, text in cells]
    return rows


def test_the_page_shows_marks_in_the_words_of_the_form(worded: Path) -> None:
    assert run("report", "eval.yaml", "-o", "r.html", cwd=worded).returncode == 0
    page = (worded / "r.html").read_text()
    first, second, third = (rows_of(page, call) for call in GIVEN)
    assert first["verify"] == ["expected: No", "wrong: Yes"]
    assert first["solve"] == ["expected: Fully", "right: Nearly"]  # within the margin of C-30
    assert first["QA form"] == ["expected: 0.0 %, failed by verify", "wrong: 94.0 %"]
    assert second["verify"] == ["expected: N/A", "wrong: Yes"]
    assert second["solve"] == ["expected: Partly", "wrong: Fully"]  # a graded mark has a cross, too
    assert third["solve"] == ["expected: Fully", "wrong: N/A"]


def test_the_page_shows_sections_critical_questions_and_automatic_fails(worded: Path) -> None:
    assert run("report", "eval.yaml", "-o", "s.html", cwd=worded).returncode == 0
    page = (worded / "s.html").read_text()
    assert 'id="form"' in page
    for words in ("Opening", "Closing", "automatic fails", "people 1, both 0",
                  "critical: No fails the form", "Was it solved?"):  # fmt: skip
        assert words in page, words
    for added in ("Points:", "Score null where"):
        assert added not in page, added


def test_the_workbook_shows_marks_sections_and_fails(worded: Path) -> None:
    assert run("report", "eval.yaml", "-o", "r.xlsx", cwd=worded).returncode == 0
    book = openpyxl.load_workbook(worded / "r.xlsx")
    marks = list(book["Marks"].iter_rows(values_only=True))
    assert marks[0] == ("Call", "Section", "Question", "Text", "Critical", "People", "m")
    critical = "critical: No fails the form"
    assert marks[1] == (
        "a", "Opening", "verify", "Was the caller verified?", critical, "No", "✗ Yes",
    )  # fmt: skip
    assert [row[5:] for row in marks[2:]] == [
        ("Fully", "Nearly"), ("N/A", "✗ Yes"), ("Partly", "✗ Fully"),
        ("Yes", "Yes"), ("Fully", "✗ N/A"),
    ]  # fmt: skip
    form = {row[0]: row[1:] for row in book["QA form"].iter_rows(values_only=True)}
    assert form["automatic fails"] == ("0", "people 1, both 0")
    assert {row[1] for row in book["Questions"].iter_rows(min_row=2, values_only=True)} == {
        "Was the caller verified?",
        "Was it solved?",
    }


def test_cards_in_markdown_and_in_the_terminal_show_the_form(worded: Path) -> None:
    written = run("report", "eval.yaml", "--format", "md", "-o", "r.md", cwd=worded)
    assert written.returncode == 0, written.stderr
    for card in ((worded / "r.md").read_text(), (worded / "card.txt").read_text()):
        for words in ("QA form", "Opening", "Closing", "automatic fails", "people 1, both 0",
                      "Was the caller verified?", "critical: No fails the form"):  # fmt: skip
            assert words in card, words
        assert "Points:" not in card
    assert (worded / "card.txt").read_text().rstrip().rpartition("\n")[2].startswith("HOW SURE")


@pytest.mark.parametrize("more", [(), ("--html", "scored.html")])
def test_scored_outputs_show_the_form_too(worded: Path, more: tuple[str, ...]) -> None:
    done = run("score", "cases.jsonl", "--outputs", "outputs.jsonl", *more, cwd=worded)
    assert done.returncode == 0, done.stderr
    assert "automatic fails        0 (people 1, both 0)" in done.stdout


def test_records_name_wrong_marks_in_the_words_of_the_form(worded: Path) -> None:
    text = (worded / "records.jsonl").read_text()
    assert "(given Yes, expected No)" in text
    assert "(given Fully, expected Partly)" in text
