"""`callscore import` as a new user types it: mixed folders, forms, data sets, bad files."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, cast

from call_files import EVERY_FORMAT, WITH_TIMES
from commands import run

FORM = "Section,ID,Question,Options\nOpening,greet,Was there a greeting?,Yes=5; No=0; N/A\n"


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_mixed_folder_becomes_transcripts(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    calls.mkdir()
    for name in ("voices.vtt", "contact-lens.json", "turns.csv", "turns.xlsx"):
        (calls / name).write_bytes(WITH_TIMES[name][1]())
    out = tmp_path / "transcripts.jsonl"

    done = run("import", calls, "-o", out)

    assert done.returncode == 0, done.stderr
    found = lines(out)
    assert len(found) == 4
    assert len({line["id"] for line in found}) == 4
    assert "voices.vtt: WebVTT or SRT, 1 call, 4 turns" in done.stdout
    assert "has a call with this id" in done.stdout
    assert "sheet 'About'" in done.stdout


def test_a_form_and_its_gold_become_cases_that_score(tmp_path: Path) -> None:
    (tmp_path / "call-1.vtt").write_bytes(WITH_TIMES["voices.vtt"][1]())
    (tmp_path / "form.csv").write_text(FORM)
    (tmp_path / "gold.csv").write_text(
        "call_id,greet,greet comment\ncall-1,Yes,The agent greets\nx,No,\n"
    )
    out = tmp_path / "cases.jsonl"

    done = run(
        "import", tmp_path / "call-1.vtt", "--form", tmp_path / "form.csv",
        "--gold", tmp_path / "gold.csv", "-o", out,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "1 evaluation without a call: x" in done.stdout
    checked = run("validate", out)
    assert checked.returncode == 0, checked.stderr
    assert "1 case can be scored: qa 1" in checked.stdout


def test_answers_of_models_in_a_data_set_become_outputs(tmp_path: Path) -> None:
    (tmp_path / "evals.jsonl").write_bytes(EVERY_FORMAT["openai-evals.jsonl"][1]())
    out, outputs = tmp_path / "cases.jsonl", tmp_path / "outputs.jsonl"

    done = run(
        "import", tmp_path / "evals.jsonl", "--task", "entity", "-o", out, "--outputs", outputs
    )

    assert done.returncode == 0, done.stderr
    assert lines(out)[0]["task"] == "entity"
    assert lines(outputs)[0]["case_id"] == lines(out)[0]["id"]


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_written(tmp_path: Path) -> None:
    (tmp_path / "a.srt").write_bytes(WITH_TIMES["call.srt"][1]())
    (tmp_path / "b.json").write_text('{"what": 1}')
    out = tmp_path / "out" / "t.jsonl"
    out.parent.mkdir()

    done = run("import", tmp_path / "a.srt", tmp_path / "b.json", "-o", out)

    assert done.returncode == 2
    assert "b.json: NOT IMPORTED: has an unknown format" in done.stderr
    assert len(lines(out)) == 1
    accepted = run("import", tmp_path / "a.srt", tmp_path / "b.json", "-o", out, "--allow-problems")
    assert accepted.returncode == 0


def test_nothing_to_import_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text('{"what": 1}')
    out = tmp_path / "t.jsonl"
    done = run("import", tmp_path / "b.json", "-o", out)
    assert done.returncode == 2
    assert not out.exists()


def test_the_report_is_written_even_if_nothing_is_imported(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text('{"what": 1}')
    report = tmp_path / "report.json"
    done = run("import", tmp_path / "b.json", "-o", tmp_path / "t.jsonl", "--report", report)
    assert done.returncode == 2
    (file,) = json.loads(report.read_text())["files"]
    assert "has an unknown format" in file["problem"]


def test_what_many_calls_have_in_common_is_one_line(tmp_path: Path) -> None:
    calls = [
        {"id": f"c{n}", "turns": [{"who": "A", "said": "x"}, {"who": "B", "said": " "}]}
        for n in range(9)
    ]
    (tmp_path / "a.json").write_text(json.dumps(calls))
    report = tmp_path / "report.json"
    done = run("import", tmp_path / "a.json", "-o", tmp_path / "t.jsonl", "--report", report)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("a turn without text") == 1
    assert "9 × skipped $[0].turns[1]: a turn without text" in done.stdout
    assert done.stdout.count("role unknown") == 1
    assert len(json.loads(report.read_text())["files"][0]["skipped"]) == 9


def test_bad_roles_are_refused_with_an_example(tmp_path: Path) -> None:
    (tmp_path / "a.srt").write_bytes(WITH_TIMES["call.srt"][1]())
    done = run("import", tmp_path / "a.srt", "-o", tmp_path / "x", "--roles", "A=boss")
    assert done.returncode == 2
    assert "expected LABEL=ROLE" in done.stderr


def test_corrected_transcripts_of_callscore_can_be_given_a_form(tmp_path: Path) -> None:
    (tmp_path / "call-1.vtt").write_bytes(WITH_TIMES["voices.vtt"][1]())
    (tmp_path / "form.csv").write_text(FORM)
    (tmp_path / "gold.csv").write_text("call_id,greet\ncall-1,Yes\n")
    transcripts, out = tmp_path / "transcripts.jsonl", tmp_path / "cases.jsonl"
    assert run("import", tmp_path / "call-1.vtt", "-o", transcripts).returncode == 0
    redacted = tmp_path / "redacted.jsonl"
    redacted.write_text(transcripts.read_text().replace("bill", "[REDACTED]"))

    done = run(
        "import", redacted, "--form", tmp_path / "form.csv", "--gold", tmp_path / "gold.csv",
        "-o", out,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert lines(out)[0]["call_id"] == "call-1"
    assert "[REDACTED]" in out.read_text()


def test_a_file_of_no_known_format_is_read_with_a_map(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("doc,direction,segment\nc1,customer,Hello\nc1,agent,Hi\n")
    out = tmp_path / "t.jsonl"
    refused = run("import", tmp_path / "a.csv", "-o", out)
    assert refused.returncode == 2
    assert "--map text=NAME" in refused.stderr

    mapping = "text=segment,speaker=direction,call_id=doc"
    done = run("import", tmp_path / "a.csv", "-o", out, "--map", mapping)

    assert done.returncode == 0, done.stderr
    assert "turns read with text=segment,speaker=direction" in done.stdout
    assert lines(out)[0]["id"] == "c1"


MARKS_FORM = (
    "id,question,options,critical,na allowed\n"
    "greeting,Did the agent greet the customer?,Yes=5; No=0,,\n"
    "verification,Did the agent verify who is calling?,Yes=5; No=0,yes,yes\n"
)


def write_marked_calls(folder: Path, heading: str = "verification", *, empty: int = 0) -> None:
    """24 calls, eight without verification, and a model that passes every question of each."""
    calls = [f"call-{number:02d}" for number in range(1, 25)]
    spoken = ["call_id,turn,speaker,text"]
    marks = [f"Call,greeting,{heading},{heading} comment"]
    answers = []
    for number, call in enumerate(calls):
        verified = number % 3 != 0
        words = "May I have your postcode?" if verified else "I will change it at once."
        spoken += [f"{call},1,customer,My bill is wrong", f"{call},2,agent,{words}"]
        mark = "" if number < empty else "Yes" if verified else "No"
        marks.append(f"{call},Yes,{mark},{words}")
        passed = [
            {"question_id": name, "score": 5, "max_score": 5, "type": "PASS_FAIL", "reason": words}
            for name in ("greeting", "verification")
        ]
        answers.append(
            {"case_id": f"{call}/qa", "model": "generous", "output": {"questions": passed}}
        )
    (folder / "calls.csv").write_text("\n".join(spoken) + "\n")
    (folder / "marks.csv").write_text("\n".join(marks) + "\n")
    (folder / "form.csv").write_text(MARKS_FORM)
    (folder / "outputs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in answers))
    (folder / "eval.yaml").write_text(
        "name: marks\ndata: cases.jsonl\njudge: offline\nstore: runs.db\n"
        "models: [{name: generous, provider: replay, outputs: outputs.jsonl}]\n"
    )


def import_marks(folder: Path, *options: str) -> CompletedProcess[str]:
    return run(
        "import", folder / "calls.csv", "--form", folder / "form.csv",
        "--gold", folder / "marks.csv", "-o", folder / "cases.jsonl", *options,
    )  # fmt: skip


def test_c139_a_renamed_column_never_turns_a_model_that_passes_everyone_into_the_choice(
    tmp_path: Path,
) -> None:
    write_marked_calls(tmp_path, "Verified")

    refused = import_marks(tmp_path)

    assert refused.returncode == 2
    assert "field Verified: is not a question of the form (nearest: 'verification'" in (
        refused.stderr
    )
    assert not (tmp_path / "cases.jsonl").exists()
    mapped = import_marks(tmp_path, "--columns", "Verified=verification")
    assert mapped.returncode == 0, mapped.stderr
    decided = run("run", tmp_path / "eval.yaml", "--json", tmp_path / "card.json", cwd=tmp_path)
    assert decided.returncode == 0, decided.stderr
    words = {line["word"] for line in json.loads((tmp_path / "card.json").read_text())["decision"]}
    assert "OUT" in words and not words & {"RECOMMENDED", "LIKELY"}


def test_marks_of_two_people_are_compared_and_the_first_are_used(tmp_path: Path) -> None:
    write_marked_calls(tmp_path)
    second = (tmp_path / "marks.csv").read_text().replace("call-01,Yes", "call-01,No")
    assert second != (tmp_path / "marks.csv").read_text()
    (tmp_path / "second.csv").write_text(second)

    done = import_marks(tmp_path, "--gold", str(tmp_path / "second.csv"))

    assert done.returncode == 0, done.stderr
    assert (
        "note: 24 calls with several evaluations: the first is used; "
        "others differ on call-01 (greeting)\n" in done.stdout
    )
    alone = (tmp_path / "cases.jsonl").read_bytes()
    assert import_marks(tmp_path).returncode == 0
    assert (tmp_path / "cases.jsonl").read_bytes() == alone


def test_c139_what_is_not_marked_is_not_asked_not_scored_and_counted(tmp_path: Path) -> None:
    write_marked_calls(tmp_path, empty=3)

    done = import_marks(tmp_path)

    assert done.returncode == 0, done.stderr
    assert (
        "note: 3 of 24 calls have no mark for 'verification'; the question is not asked there"
        in done.stdout
    )
    first, *_, last = lines(tmp_path / "cases.jsonl")
    for case, asked in ((first, ["greeting"]), (last, ["greeting", "verification"])):
        for part in ("config", "expected_outcome"):
            found = cast("dict[str, Any]", case[part])["questions"]
            assert [one["question_id"] for one in found] == asked
    prompt = run("prompt", tmp_path / "eval.yaml", "--case", "call-01/qa", cwd=tmp_path)
    assert prompt.returncode == 0, prompt.stderr
    assert "greet the customer" in prompt.stdout
    assert "verify who is calling" not in prompt.stdout


def test_c139_a_call_without_any_mark_is_left_out_and_counted(tmp_path: Path) -> None:
    write_marked_calls(tmp_path)
    marks = (tmp_path / "marks.csv").read_text().replace("call-01,Yes,No", "call-01,,")
    (tmp_path / "marks.csv").write_text(marks)

    done = import_marks(tmp_path)

    assert "note: 1 call left out, without any mark: call-01" in done.stdout
    assert done.stdout.endswith("23 cases\n")


def test_c139_a_question_without_any_mark_is_an_error_unless_it_is_allowed(
    tmp_path: Path,
) -> None:
    write_marked_calls(tmp_path, empty=24)

    refused = import_marks(tmp_path)

    assert refused.returncode == 2
    assert "no evaluation marks the question 'verification'" in refused.stderr
    allowed = import_marks(tmp_path, "--allow-unmarked")
    assert allowed.returncode == 0, allowed.stderr
    assert "24 of 24 calls have no mark for 'verification'" in allowed.stdout


def test_no_number_of_processes_changes_what_an_import_writes_and_prints(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    calls.mkdir()
    for name in ("voices.vtt", "contact-lens.json", "openai-evals.jsonl"):
        (calls / name).write_bytes(EVERY_FORMAT[name][1]())
    (calls / "said.txt").write_text("agent: My number is 555-010-4477.\ncustomer: Thank you.\n")
    (calls / "broken.json").write_text("{")
    found = []
    for number in (1, 3):
        out = tmp_path / str(number)
        out.mkdir()
        files = ("-o", out / "calls", "--report", out / "report", "--outputs", out / "outputs")
        done = run("import", calls, "--redact", "--workers", number, *files)
        assert done.returncode == 2 and "1 of" in done.stderr, done.stderr
        written = {path.name: path.read_bytes() for path in out.iterdir()}
        found.append((written, done.stdout.replace(str(out), ""), done.stderr))
    assert found[0] == found[1]
    assert b"[PHONE_1]" in found[0][0]["calls"] and found[0][0]["outputs"]
