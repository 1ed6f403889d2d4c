"""The report on forms: N/A first class, totals as the form's own system adds them up."""

from __future__ import annotations

import json
from pathlib import Path

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
