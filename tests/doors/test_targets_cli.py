"""What a command writes: never in place of what it reads, and whoever may be listening."""

from __future__ import annotations

import json
import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path

import pytest

import callscore
from builders import form, output, qa_case, question
from command_server import NEVER_S
from commands import run, start, wait_for
from eval_files import eval_file

SAMPLES = Path(callscore.__file__).parent / "demo" / "orchestration"


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(qa_case([question()], "c1")) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("option", ["--json", "--results", "--records", "--save-verdicts"])
def test_scoring_writes_over_no_input(cases: Path, option: str) -> None:
    outputs = cases.with_name("outputs.jsonl")
    outputs.write_text(json.dumps(output("c1", form(question()))) + "\n", encoding="utf-8")
    before = outputs.read_bytes()
    done = run("score", cases, "--outputs", outputs, option, outputs)
    assert done.returncode == 2
    assert f"{outputs}: is read by this command" in done.stderr
    assert outputs.read_bytes() == before


@pytest.mark.parametrize("option", ["--json", "--results", "--records", "--log"])
@pytest.mark.parametrize("name", ["cases.jsonl", "eval.yaml", "kept.db"])
def test_a_run_writes_over_nothing_it_needs(cases: Path, option: str, name: str) -> None:
    model = {"name": "m", "provider": "simulated"}
    path = eval_file(cases.parent, [model], data="cases.jsonl", store="kept.db")
    assert run("run", path).returncode == 0
    before = (cases.parent / name).read_bytes()
    done = run("run", path, option, cases.parent / name)
    assert done.returncode == 2
    assert f"{name}: is read by this command" in done.stderr
    assert (cases.parent / name).read_bytes() == before


def test_a_result_of_the_orchestration_suite_replaces_no_recording(tmp_path: Path) -> None:
    runs = tmp_path / "EN"
    shutil.copytree(SAMPLES / "outputs" / "sample-large" / "EN", runs)
    before = (runs / "1_out.json").read_bytes()
    cards = SAMPLES / "cards" / "EN"
    done = run("orchestration", "score", runs, "--cards", cards, "--json", runs / "1_out.json")
    assert done.returncode == 2
    assert "is read by this command" in done.stderr
    assert (runs / "1_out.json").read_bytes() == before


def test_two_options_do_not_share_a_file(cases: Path) -> None:
    target = cases.with_name("both.json")
    done = run("score", cases, "--json", target, "--results", target)
    assert done.returncode == 2
    assert f"{target}: is written by two options" in done.stderr
    assert not target.exists()


def test_a_reader_who_leaves_early_costs_neither_the_file_nor_the_exit_code(cases: Path) -> None:
    gates = [{"of": "qa.question_score_accuracy", "at_most": 0.5}]
    path = eval_file(cases.parent, [{"name": "m", "provider": "simulated"}], gates=gates)
    card = cases.with_name("card.json")
    process = start("run", path, "--json", card)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stderr.close()
    assert process.wait(timeout=NEVER_S) == 1
    assert card.exists()


def test_a_reader_who_leaves_early_is_no_failed_gate(tmp_path: Path) -> None:
    with start("demo", "--html", tmp_path / "report.html") as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(timeout=NEVER_S) == 0


def writes_into(process: int, folder: Path) -> bool:
    """Whether a process has begun a file in a folder: one without a name, or under another."""
    begun = [path for path in folder.iterdir() if path.name.startswith(".")]
    for file in Path(f"/proc/{process}/fd").glob("*"):
        with suppress(OSError):  # closed since
            begun += [file] if str(file.readlink()).startswith(f"{folder}/#") else []
    return bool(begun)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_writer_leaves_no_half_written_file(
    cases: Path, sent: signal.Signals
) -> None:
    case = json.loads(cases.read_text(encoding="utf-8"))
    many = [{**case, "id": f"c{n}", "model_output": form(question())} for n in range(2_000)]
    cases.write_text("\n".join(map(json.dumps, many)), encoding="utf-8")
    results, unread = cases.with_name("results.jsonl"), cases.with_name("records")
    os.mkfifo(unread)
    reader = os.open(unread, os.O_RDONLY | os.O_NONBLOCK)
    with start("score", cases, "--results", results, "--records", unread) as process:
        # nobody reads the records, so it waits for room in the pipe
        wait_for(lambda: writes_into(process.pid, cases.parent), 1)
        process.send_signal(sent)
        assert process.wait(timeout=NEVER_S) == 130
    os.close(reader)
    assert sorted(cases.parent.iterdir()) == [cases, unread]


def test_scoring_again_makes_no_store(cases: Path) -> None:
    path = eval_file(cases.parent, [{"name": "m", "provider": "simulated"}])
    store = cases.with_name("none.db")
    done = run("run", path, "--store", store, "--rescore", 1)
    assert (done.returncode, store.exists()) == (2, False)
    assert "none.db: no such store" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "card.json", "other.json", "--json", "card.json"),
        ("compare", "card.json:m", "other.json", "--markdown", "other.json"),
        ("plan", "card.json", "--json", "card.json"),
        ("baseline", "set", "card.json", "-o", "card.json"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_comparison_writes_over_no_input(cases: Path, words: tuple[str, ...]) -> None:
    outputs = cases.with_name("outputs.jsonl")
    outputs.write_text(json.dumps(output("c1", form(question()))) + "\n", encoding="utf-8")
    for name in ("card.json", "other.json"):
        assert (
            run("score", cases, "--outputs", outputs, "--json", cases.with_name(name)).returncode
            == 0
        )
    before = cases.with_name("card.json").read_bytes()
    done = run(*words, cwd=cases.parent)
    assert done.returncode == 2
    assert "is read by this command" in done.stderr
    assert cases.with_name("card.json").read_bytes() == before
