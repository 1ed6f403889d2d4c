"""`callscore import` as a new user types it: mixed folders, forms, data sets, bad files."""

from __future__ import annotations

import json
from pathlib import Path

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
