"""`callscore score` and `callscore validate` through the door: exit codes, files, clear errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from builders import Json, form, output, qa_case, question, translation_case
from commands import run, run_in_new_process, run_python


def write(path: Path, *records: Json | str) -> Path:
    lines = [r if isinstance(r, str) else json.dumps(r, ensure_ascii=False) for r in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    return write(tmp_path / "cases.jsonl", qa_case([question()], "c1"), qa_case([question()], "c2"))


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    return write(
        tmp_path / "outputs.jsonl", output("c1", form(question())), output("c2", form(question()))
    )


def test_the_card_goes_to_the_terminal_and_the_numbers_to_files(
    cases: Path, outputs: Path, tmp_path: Path
) -> None:
    card, results = tmp_path / "card.json", tmp_path / "results.jsonl"
    done = run_in_new_process(
        "score", cases, "--outputs", outputs, "--json", card, "--results", results
    )
    assert done.returncode == 0, done.stderr
    assert "Question Score Accuracy" in done.stdout
    assert "1.000 ✓ Good" in done.stdout
    written = json.loads(card.read_text(encoding="utf-8"))
    assert list(written) == [
        "framework",
        "signature",
        "models",
        "ranking",
        "zeroed_ranking",
        "notes",
        "estimate",
        "judging",
        "suite",
        "title",
        "final_heading",
        "intervals",
        "contrasts",
        "decision",
    ]
    (model,) = written["models"]
    assert model["tasks"]["qa"]["score"] == 1.0
    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    assert [(line["case_id"], line["status"]) for line in lines] == [
        ("c1", "valid"),
        ("c2", "valid"),
    ]


def test_the_scorecard_has_the_documented_keys(cases: Path, outputs: Path) -> None:
    done = run("score", cases, "--outputs", outputs, "--json", "-")
    (model,) = json.loads(done.stdout)["models"]
    assert {"model", "tasks", "benchmarks", "final", "cost", "blockers"} <= set(model)
    task = model["tasks"]["qa"]
    assert {"status", "score", "ungated_score", "reasons", "n", "official", "coverage"} <= set(task)
    assert {"zeroed_score", "unblocked_share"} <= set(task)
    assert {"subscores", "metrics"} <= set(task)
    metric = task["metrics"]["qa.question_score_accuracy"]
    assert set(metric) == {
        *("value", "why", "unit", "rating", "meets_threshold", "macro", "micro", "n"),
        *("ci95", "approximate", "vacuous", "gate_value", "ci95_method", "few_calls"),
        "claim95",
    }
    assert {"option", "status", "score", "floor_score", "official", "a", "b"} <= set(model["final"])
    assert "zeroed_final" in model["final"]
    assert {"status", "score", "criteria"} <= set(model["benchmarks"])
    assert len(model["benchmarks"]["criteria"]) == 11


def test_the_order_of_output_lines_does_not_change_a_byte(cases: Path, tmp_path: Path) -> None:
    answers = [
        output(case, form(question()), model) for model in ("b", "a") for case in ("c2", "c1")
    ]
    cards, results = [], []
    for number, lines in enumerate((answers, answers[::-1])):
        given = write(tmp_path / f"o{number}.jsonl", *lines)
        target = tmp_path / f"r{number}.jsonl"
        cards.append(
            run("score", cases, "--outputs", given, "--json", "-", "--results", target).stdout
        )
        results.append(target.read_bytes())
    assert cards[0] == cards[1]
    assert results[0] == results[1]
    order = [(r["case_id"], r["model"]) for r in map(json.loads, results[0].splitlines())]
    assert order == [("c1", "a"), ("c1", "b"), ("c2", "a"), ("c2", "b")]


def test_several_outputs_may_follow_one_option(cases: Path, tmp_path: Path) -> None:
    one = write(tmp_path / "one.jsonl", output("c1", form(question())))
    two = write(tmp_path / "two.jsonl", output("c2", form(question())))
    for args in (
        (cases, "--outputs", one, two),
        (cases, "--outputs", one, "--outputs", two),
        ("--outputs", one, "--outputs", two, cases),
    ):
        done = run("score", *args, "--require-complete")
        assert done.returncode == 0, done.stderr


def test_without_outputs_the_embedded_answer_is_scored(tmp_path: Path) -> None:
    case = qa_case([question()], model_output=form(question()))
    done = run("score", write(tmp_path / "c.jsonl", case), "--json", "-")
    (model,) = json.loads(done.stdout)["models"]
    assert (model["model"], model["tasks"]["qa"]["score"]) == ("model_output", 1.0)


def test_a_case_without_a_line_is_not_run_and_completeness_can_be_demanded(
    cases: Path, tmp_path: Path
) -> None:
    given = write(tmp_path / "o.jsonl", output("c1", form(question())))
    results = tmp_path / "r.jsonl"
    assert run("score", cases, "--outputs", given, "--results", results).returncode == 0
    assert [json.loads(x)["status"] for x in results.read_text().splitlines()] == [
        "valid",
        "not_run",
    ]
    done = run("score", cases, "--outputs", given, "--require-complete")
    assert done.returncode == 3
    assert "m: qa incomplete" in done.stderr


BAD_LINES: list[tuple[str, str | Json, list[str]]] = [
    (
        "broken line",
        '{"id": "c9", "task": "qa"',
        ["c.jsonl:2", "expected one JSON object per line"],
    ),
    ("duplicate id", qa_case([question()], "c1"), ["c.jsonl:2", "'c1'", "field id", "unique"]),
    (
        "max_score 0",
        qa_case([question(max_score=0)], "c9"),
        ["c.jsonl:2", "'c9'", "questions[0].max_score", "expected a number above 0"],
    ),
    (
        "NaN",
        '{"id": "c9", "task": "qa", "config": {"x": [1, NaN]}}',
        ["c.jsonl:2", "field config.x[1]: NaN is not JSON", "expected a finite number"],
    ),
    (
        "duplicate key",
        '{"id": "c9", "task": "qa", "config": {"x": 1, "x": 2}}',
        ["c.jsonl:2", "field config.x: the key 'x' appears twice", "expected every key once"],
    ),
    (
        "wrong task",
        {**qa_case([question()], "c9"), "task": "poetry"},
        ["c.jsonl:2", "'c9'", "field task", "expected one of qa, entity, text, translation"],
    ),
    (
        "wrong type",
        {**qa_case([question()], "c9"), "transcript": [{"text": 5}]},
        ["c.jsonl:2: case 'c9': field transcript[0].text", "Expected str, got int"],
    ),
    (
        "missing key",
        {"id": "c9", "task": "qa"},
        ["c.jsonl:2: case 'c9': field transcript: missing; expected it next to id, task\n"],
    ),
    (
        "missing key inside",
        {**qa_case([question()], "c9"), "transcript": [{"speaker": "Ana"}]},
        ["c.jsonl:2: case 'c9': field transcript[0].text: missing; expected"],
    ),
    ("not an object", "[1, 2]", ["c.jsonl:2", "Expected object, got array"]),
    ("not UTF-8", '{"id": "\udcff"}', ["c.jsonl:2", "not UTF-8"]),
]


@pytest.mark.parametrize(("bad", "words"), [pytest.param(b, w, id=n) for n, b, w in BAD_LINES])
@pytest.mark.parametrize("command", ["score", "validate"])
def test_bad_input_gets_one_clear_message_and_leaves_no_file(
    tmp_path: Path, outputs: Path, command: str, bad: str | Json, words: list[str]
) -> None:
    good = json.dumps(qa_case([question()], "c1"))
    line = bad if isinstance(bad, str) else json.dumps(bad)
    path = tmp_path / "c.jsonl"
    path.write_bytes(f"{good}\n{line}\n".encode("utf-8", "surrogateescape"))
    given = write(tmp_path / "o.jsonl", output("c1", form(question())))
    results = tmp_path / "out" / "results.jsonl"
    results.parent.mkdir()
    extra = ["--outputs", given, "--results", results, "--json", results.parent / "card.json"]
    done = run(command, path, *(extra if command == "score" else []))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert list(results.parent.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self/mem").is_file(), reason="no file that cannot be read")
def test_a_file_that_cannot_be_read_is_not_called_unwritable(cases: Path, tmp_path: Path) -> None:
    told = "error: /proc/self/mem: cannot be read: Input/output error\n"
    for args in (
        ["validate", "/proc/self/mem"],
        ["score", "/proc/self/mem"],
        ["score", cases, "--outputs", "/proc/self/mem", "--results", tmp_path / "r.jsonl"],
    ):
        done = run(*args)
        assert (done.returncode, done.stderr) == (2, told)
    assert not (tmp_path / "r.jsonl").exists()


def test_skipped_cases_head_the_card_and_none_left_is_an_error(tmp_path: Path) -> None:
    bad = qa_case([question(max_score=0)], "bad")
    given = write(tmp_path / "o.jsonl", output("c1", form(question())))
    path = write(tmp_path / "c.jsonl", bad, qa_case([question()], "c1"))
    done = run("score", path, "--outputs", given, "--allow-bad-cases")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].endswith("· 1 unusable case skipped")
    assert "note: skipped: " in done.stdout
    alone = write(tmp_path / "bad.jsonl", bad)
    given = write(tmp_path / "o.jsonl", output("bad", form(question())))
    done = run("score", alone, "--outputs", given, "--allow-bad-cases")
    assert done.returncode == 2
    assert "no usable case is left" in done.stderr
    assert "max_score" in done.stderr


BAD_OUTPUTS: list[tuple[str, str | Json, str]] = [
    ("unknown case", output("zz", "{}"), "'zz' is not in the case files"),
    ("twice", output("c1", "{}"), "run 1 appears twice"),
    ("no output", {"case_id": "c1", "model": "n"}, "expected `output`, or `error`"),
    ("run 0", output("c1", "{}", "n", run=0), "0 is not a run; expected 1 or more"),
    ("negative cost", output("c1", "{}", "n", cost_usd=-1), "is negative; expected 0 or more"),
    ("duplicate key", '{"case_id":"c1","model":"n","model":"o","output":""}', "appears twice"),
    ("broken", '{"case_id":"c1"', "expected one JSON object per line"),
    ("no model", {"case_id": "c1", "output": "{}"}, "field model: missing; expected"),
    ("cost NaN", '{"case_id":"c1","model":"n","output":"","cost_usd":NaN}', "field cost_usd: NaN"),
    (
        "cost beyond numbers",
        output("c1", "{}", "n", cost_usd=1e306),
        "field cost_usd: 1e+306 is beyond what can be added up",
    ),
]


@pytest.mark.parametrize(("bad", "words"), [pytest.param(b, w, id=n) for n, b, w in BAD_OUTPUTS])
def test_bad_outputs_are_named_with_their_line(
    cases: Path, tmp_path: Path, bad: str | Json, words: str
) -> None:
    given = write(tmp_path / "o.jsonl", output("c1", form(question())), bad)
    done = run("score", cases, "--outputs", given)
    assert done.returncode == 2
    assert "o.jsonl:2" in done.stderr
    assert words in done.stderr


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ({"metric": "qa.charm", "verdict": "vague"}, "'qa.charm' is not a judged metric"),
        ({"metric": "qa.evidence_backed_reasoning", "verdict": "great"}, "'great' was not offered"),
        ({"metric": "qa.evidence_backed_reasoning", "value": 1.0}, "judged with a word"),
        ({"metric": "translation.fluency", "value": 0.3}, "expected one of"),
        ({"metric": "translation.meaning", "value": 7}, "expected a number from -1 to 1"),
        ({"metric": "text.call_intent"}, "expected either a word here or a `value`"),
    ],
)
def test_bad_verdicts_are_named_with_their_line(
    cases: Path, outputs: Path, tmp_path: Path, verdict: dict[str, Any], words: str
) -> None:
    record = {"case_id": "c1", "model": "m", "item": "Q1", **verdict}
    given = write(tmp_path / "v.jsonl", record)
    done = run("score", cases, "--outputs", outputs, "--verdicts", given)
    assert done.returncode == 2
    assert "v.jsonl:1" in done.stderr
    assert words in done.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["missing.jsonl"], "missing.jsonl: no such file"),
        ([], "Missing argument"),
        (["{cases}", "--set", "gaets=all"], "unknown setting 'gaets'"),
        (["{cases}", "--set", "gates=some"], "setting gates: expected one of all, formula_only"),
        (
            ["{cases}", "--set", "call_gate_tolerance=some"],
            "error: setting call_gate_tolerance: Expected float, got str\n",
        ),
        (
            ["{cases}", "--set", "call_gate_tolerance=2"],
            "error: setting call_gate_tolerance must be between 0 and 1, not 2.0\n",
        ),
        (["{cases}", "--weights", "qa=0.5,qa=0.5"], "--weights: 'qa' is given twice"),
        (["{cases}", "--cost", "m=1", "--cost", "m=2"], "--cost: 'm' is given twice"),
        (["{cases}", "--weights", "qa=half"], "'half'; expected NAME=NUMBER"),
        (["{cases}", "--set", "consistency.ddof=5"], "consistency.ddof: expected one of 0, 1"),
        (["{cases}", "--set", "qa.timestamp_tolerance_s=nan"], "a number of seconds, at least 0"),
        (["{cases}", "--set", "call_gate_tolerance=2"], "between 0 and 1"),
        (["{cases}", "--weights", "qa=2"], "the sum is 2; expected 1"),
        (["{cases}", "--weights", "qa"], "expected NAME=VALUE"),
        (["{cases}", "--cost", "m=-1"], "expected a finite number"),
        (["{cases}", "--json", "{cases}/no/card.json"], "cannot be written"),
        (["{cases}"], "expected --outputs with a file, or cases with `model_output`"),
        (["{empty}"], "empty.jsonl: contains no case"),
        (["{cases}", "--outputs", "{empty}"], "empty.jsonl: contains no output"),
        (["{cases}", "--outputs", "{pipe}"], "pipe: is a pipe; expected a file"),
    ],
)
def test_usage_errors_are_explained(cases: Path, args: list[str], words: str) -> None:
    empty, pipe = cases.with_name("empty.jsonl"), cases.with_name("pipe")
    empty.touch()
    os.mkfifo(pipe)
    done = run("score", *(arg.format(cases=cases, empty=empty, pipe=pipe) for arg in args))
    assert done.returncode in (2, 4)
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="no /dev/full here")
@pytest.mark.parametrize("option", [[], ["--json", "-"]])
def test_output_that_finds_no_room_is_no_failed_gate(
    cases: Path, outputs: Path, option: list[str]
) -> None:
    args = ["score", str(cases), "--outputs", str(outputs), *option]
    command = [sys.executable, "-m", "callscore", *args]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, "output cannot be written" in done.stderr) == (4, True)
    assert "Traceback" not in done.stderr


def test_a_crash_is_no_failed_gate() -> None:
    crashing = """
import sys, types, click
from callscore.cli.main import main

@click.command()
def demo():
    raise ZeroDivisionError("our own mistake")

sys.modules["callscore.cli.demo"] = types.SimpleNamespace(demo=demo)
sys.argv = ["callscore", "demo"]
main()
"""
    done = run_python(crashing)
    assert done.returncode == 70
    assert "Traceback" in done.stderr and "our own mistake" in done.stderr
    assert done.stderr.count("Traceback") == 1
    assert "please report it" in done.stderr.splitlines()[-1]


def test_stdout_may_be_closed(cases: Path, outputs: Path) -> None:
    command = f"{sys.executable} -m callscore score {cases} --outputs {outputs} >&-"
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_validate_counts_the_cases_of_each_task(cases: Path) -> None:
    done = run_in_new_process("validate", cases)
    assert (done.returncode, done.stdout) == (
        0,
        "2 cases can be scored: qa 2\n"
        "calls 2; languages: not named 2; words per call: 2 to 2, median 2\n"
        "questions with one answer only: qa Q1 (always 5); they hardly distinguish models\n"
        "calls with the same words: c1 = c2\n"
        "2 calls cannot show which of two models is better\n"
        "an answer that reads nothing scores qa 1.000: always full marks\n",
    )


def asked(*questions: Json) -> Json:
    shown = ("question_id", "type", "max_score")
    return {
        "questions": [
            {"question": "Polite?", **{key: each[key] for key in shown}} for each in questions
        ]
    }


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "field config.questions: has no question: the expected form is asked"),
        (asked(question("Q1")), "field config.questions: lacks 'Q2': "),
        (
            asked(question("Q1"), question("Q2"), question("\x1b[2J")),
            "field config.questions: has '\\x1b[2J', which are not expected: ",
        ),
        (
            asked(question("Q1"), question("Q2", max_score=10)),
            "field config.questions: max_score of 'Q2' is 10, expected 5: ",
        ),
        (asked(question("Q2"), question("Q1")), ""),
    ],
)
def test_validate_warns_where_other_questions_are_asked_than_scored(
    tmp_path: Path, config: Json, words: str
) -> None:
    case = qa_case([question("Q1"), question("Q2")], "c1", config=config)
    path = write(tmp_path / "c.jsonl", case)
    done = run("validate", path)
    assert done.returncode == 0
    assert done.stdout.startswith("1 case can be scored: qa 1\n")
    assert done.stderr.startswith(f"warning: {path}:1: case 'c1': {words}" if words else "")
    unworded = sum(
        "the prompt does not contain the question" in line for line in done.stderr.splitlines()
    )
    assert unworded == ("lacks" in words or "has no question" in words)
    assert len(done.stderr.splitlines()) == bool(words) + unworded


@pytest.mark.parametrize(("config", "warnings"), [({}, 1), ({"target_language": "es"}, 0)])
def test_validate_warns_where_a_translation_has_no_target_language(
    tmp_path: Path, config: Json, warnings: int
) -> None:
    case = {**translation_case("Hello.", "Hola."), "config": config}
    done = run("validate", write(tmp_path / "c.jsonl", case))
    assert done.returncode == 0
    assert done.stderr.count("field config.target_language: missing; the prompt") == warnings
    assert len(done.stderr.splitlines()) == warnings


def test_validate_does_not_praise_a_file_without_cases(tmp_path: Path) -> None:
    done = run("validate", write(tmp_path / "c.jsonl", ""))
    message = f"error: {tmp_path / 'c.jsonl'}: contains no case\n"
    assert (done.returncode, done.stderr) == (2, message)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (json.dumps(qa_case([question()], " ")), "field id: is empty; expected a unique text"),
        ('{"id": "c', "Invalid control character at character 10 (not_json)"),
    ],
)
def test_validate_refuses_what_scoring_would(tmp_path: Path, line: str, words: str) -> None:
    cases = write(tmp_path / "c.jsonl", line)
    for command in ("validate", "score"):
        done = run(command, cases)
        assert (done.returncode, f"c.jsonl:1: {words}" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("raw", "words", "remedy"),
    [
        (b"\x1f\x8b\x08\x00rest\nof it", "is compressed (gzip)", ""),
        (b"PK\x03\x04rest", "is an archive or a spreadsheet (zip)", ""),
        ("{}\n".encode("utf-16"), "is text in UTF-16", ""),
        (
            b'{\n "id": 1\n}\n',
            "is one JSON document over several lines",
            "; name it .json if it is a case",
        ),
    ],
)
def test_a_file_of_another_kind_gets_one_message(
    tmp_path: Path, raw: bytes, words: str, remedy: str
) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(raw)
    done = run("validate", path)
    expected = f"error: {path}: {words}; expected one JSON object per line, in UTF-8{remedy}\n"
    assert (done.returncode, done.stderr) == (2, expected)


@pytest.mark.parametrize(
    ("name", "raw", "words", "remedy"),
    [
        ("c.csv", b"id,task\n1,qa\n", "is a table (CSV)", "pass a DataFrame to callscore.score"),
        ("c.xlsx", b"PK\x03\x04rest", "is a spreadsheet (Excel)", "save it as CSV"),
        (
            "c.vtt",
            b"WEBVTT\n\n00:01.0 --> 00:02.0\nHello\n",
            "(WebVTT)",
            "`callscore import` reads it",
        ),
        (
            "c.jsonl",
            b"WEBVTT\n\n00:01.0 --> 00:02.0\nHello\n",
            "(WebVTT)",
            "`callscore import` reads it",
        ),
        (
            "c.srt",
            b"1\n00:00:01,000 --> 00:00:02,000\nHello\n",
            "(SubRip)",
            "`callscore import` reads it",
        ),
        ("c.txt", b"Agent: Hello\n", "is plain text", "`callscore import` reads it"),
        ("c.txt", b"[00:02] Agent: Hello\n[00:04] Customer: Hi\n", "is plain text", "import"),
        ("c.wav", b"RIFF\x00\x00\x00\x00WAVE", "is a recording", "put its transcript"),
        ("c.jsonl", b'[{"id": "a"}]\n', "is one JSON list", "every element as its own line"),
    ],
)
def test_a_file_of_another_kind_is_refused_with_a_remedy(
    tmp_path: Path, name: str, raw: bytes, words: str, remedy: str
) -> None:
    path = tmp_path / name
    path.write_bytes(raw)
    for command in (["validate", path], ["score", path]):
        done = run(*command)
        assert done.returncode == 2
        assert words in done.stderr
        assert remedy in done.stderr


def test_transcripts_in_place_of_cases_are_named_with_what_makes_cases_of_them(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "t.jsonl", {"id": "a", "call_id": "a", "transcript": "Agent: Hello"})
    for command in (["validate"], ["score", "--outputs", path], ["init", "--yes", "--data"]):
        done = run(*command, path, cwd=tmp_path)
        assert done.returncode == 2
        assert "t.jsonl:1: " in done.stderr
        assert "field task: missing; this is a transcript" in done.stderr
        assert "`callscore annotate` make cases" in done.stderr


def test_the_name_of_a_file_matters_less_than_what_is_in_it(tmp_path: Path) -> None:
    path = write(tmp_path / "cases.txt", qa_case([question()], "c1"))
    assert run("validate", path).returncode == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"transcript": "transcipt"}, "field transcript: missing; there is 'transcipt', did you"),
        ({"expected_outcome": "expected_outcomes"}, "did you mean expected_outcome?"),
        ({"id": "Id"}, "field id: missing; there is 'Id', did you mean id?"),
    ],
)
def test_a_misspelt_key_of_a_case_gets_a_suggestion(
    tmp_path: Path, change: dict[str, str], words: str
) -> None:
    case = {change.get(key, key): value for key, value in qa_case([question()], "c1").items()}
    done = run("validate", write(tmp_path / "c.jsonl", case))
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr


def test_misspelt_keys_and_tasks_inside_a_case_get_suggestions(tmp_path: Path) -> None:
    case = qa_case([question()], "c1")
    item = {("scroe" if key == "score" else key): value for key, value in question().items()}
    cases = [
        {**case, "id": "a", "expected_outcome": {"question": [question()]}},
        {**case, "id": "b", "expected_outcome": {"questions": [item]}},
        {**case, "id": "c", "task": "tex"},
        {**case, "id": "d", "transcript": [{"txt": "Hello"}]},
    ]
    told = run("validate", write(tmp_path / "c.jsonl", *cases)).stderr
    for meant in ("questions", "score", "text", "text"):
        assert f"did you mean {meant}?" in told


def test_a_key_that_is_nearly_an_optional_one_is_a_warning(tmp_path: Path) -> None:
    case = qa_case([question()], "c1", expected_part={}, my_own_key=1)
    done = run("validate", write(tmp_path / "c.jsonl", case))
    assert done.returncode == 0
    shown = done.stdout + done.stderr
    assert "field expected_part: is unknown; did you mean expected_parts?" in shown
    assert "my_own_key" not in shown


def test_validate_names_every_problem_not_only_the_first(tmp_path: Path) -> None:
    bad = [qa_case([question(max_score=0)], f"c{i}") for i in range(3)]
    done = run("validate", write(tmp_path / "c.jsonl", *bad))
    assert done.returncode == 2
    assert [f"c.jsonl:{n}:" in done.stderr for n in (1, 2, 3)] == [True] * 3
    assert "3 unusable cases" in done.stderr


def test_untrusted_names_cannot_write_to_the_terminal(cases: Path, tmp_path: Path) -> None:
    name = "evil\x1b[2J\nmodel [bold]x[/bold]"
    given = write(tmp_path / "o.jsonl", output("c1", form(question()), name))
    done = run("score", cases, "--outputs", given)
    assert done.returncode == 0
    assert "\x1b[2J" not in done.stdout
    assert "[bold]x[/bold]" in done.stdout
    for args in (["--require-complete"], ["--cost", "other=1"]):
        told = run("score", cases, "--outputs", given, *args).stderr
        assert "evil" in told
        assert "\x1b" not in told
        assert told.count("\n") == 1


@pytest.mark.parametrize("command", [[], ["score"], ["validate"], ["demo"]])
def test_every_command_explains_itself(command: list[str]) -> None:
    done = run_in_new_process(*command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: ")
    assert len(done.stdout.splitlines()) > 5


def test_orchestration_cases_of_other_origin_are_scored_with_calls(tmp_path: Path) -> None:
    tools = [{"name": "find", "parameters": {"type": "object", "properties": {}}}]
    case = {
        "id": "o1",
        "task": "orchestration",
        "transcript": "Customer: find rs1",
        "config": {"tools": tools},
        "expected_outcome": {"calls": [{"find": {"id": ["rs1"]}}]},
    }
    given = write(
        tmp_path / "o.jsonl",
        output("o1", {"calls": [{"name": "find", "arguments": {"id": "rs1"}}]}, "right"),
        output("o1", {"calls": [{"name": "find", "arguments": {"id": "x"}}]}, "wrong value"),
        output("o1", "no idea", "wrong shape"),
    )
    path = write(tmp_path / "c.jsonl", case)
    done = run("score", path, "--outputs", given, "--json", "-")
    scores = {
        m["model"]: m["tasks"]["orchestration"]["score"] for m in json.loads(done.stdout)["models"]
    }
    assert scores["right"] == 1.0
    assert 0 < scores["wrong value"] < 1
    assert scores["wrong shape"] == 0.0
    shown = run("score", path, "--outputs", given).stdout
    assert "Function Name F1" in shown
    assert "QA TASK METRICS" not in shown
