"""Hostile and odd inputs of every kind: a clear word, no harm, and nothing that is no JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import callscore
from builders import Json, form, output, qa_case, question
from callscore.core.case import Case, turns
from callscore.core.strict_json import JsonFault, decode
from callscore.runner.log import EventLog
from callscore.suites.calls.prompt import build_prompt
from callscore.suites.calls.reply_parser import StructureSources, structure_of
from commands import run, run_python
from eval_files import cases_file, eval_file, read_lines, remote_model, right_answer
from stub_servers import Answer, Behaviour, Request, WaitUntil, chat_completion, serving

TRAVERSALS = [
    "../../x",
    "/etc/passwd",
    "C:\\x",
    "CON",
    "NUL.txt",
    "a\0b",
    "..%2f..%2fx",
    "x" * 300,
    "trailing.",
    "~/x",
    "$(touch owned)",
    "'; DROP TABLE items; --",
]


def tree(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_s05_ids_and_names_are_never_paths(tmp_path: Path) -> None:
    """Case ids, model names and the name of a run reach the store and the results as they are."""
    inside = tmp_path / "a" / "b" / "c"
    inside.mkdir(parents=True)
    cases = [qa_case([question()], name) for name in TRAVERSALS]
    (inside / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
    names = [name for name in TRAVERSALS if name.isprintable() and len(name) <= 200]
    models = [{"name": name, "provider": "simulated"} for name in names]
    path = eval_file(inside, models, name="../../../run")
    results = inside / "results.jsonl"
    done = run("run", path, "--json", inside / "card.json", "--results", results)
    assert done.returncode == 0, done.stderr
    lines = read_lines(results)
    assert {line["case_id"] for line in lines} == set(TRAVERSALS)
    assert {line["model"] for line in lines} == set(names)
    assert "../../../run" in run("runs", path).stdout
    written = {"card.json", "cases.jsonl", "eval.yaml", "results.jsonl", ".callscore"}
    assert {name.split("/")[0] for name in tree(inside)} == written
    assert tree(tmp_path) == {"a", "a/b", "a/b/c", *(f"a/b/c/{name}" for name in tree(inside))}


TABLES = ("items", "runs", "answers", "judge_answers", "sqlite_master")


@pytest.mark.parametrize("quote", ["'", '"', "`", ")"])
@pytest.mark.parametrize("table", TABLES)
def test_s18_names_are_data_never_sql(tmp_path: Path, quote: str, table: str) -> None:
    evil = f"{quote}; DROP TABLE {table}; --"
    (tmp_path / "cases.jsonl").write_text(json.dumps(qa_case([question()], evil)))
    path = eval_file(tmp_path, [{"name": evil, "provider": "simulated"}], name=evil)
    (model,) = callscore.run(path).models
    assert (model.model, model.tasks["qa"].cases) == (evil, 1)
    (again,) = callscore.run(path).models
    assert again.tasks["qa"].score == model.tasks["qa"].score


BOMBS: dict[str, Callable[[], bytes]] = {
    "depth": lambda: b"[" * 2_000_000 + b"]" * 2_000_000,
    "open depth": lambda: b"[" * 4_900_000,
    "objects": lambda: b'{"a":' * 800_000,
    "digits": lambda: b"9" * 4_900_000,
    "keys": lambda: b"{" + b",".join(b'"k%d":0' % (n % 5) for n in range(400_000)) + b"}",
    "constant": lambda: b'{"a": [NaN, Infinity, -Infinity]}',
    "exponent": lambda: b"[1e999999999]",
    "length": lambda: b'"' + b"x" * 5_000_001 + b'"',
    "surrogates": lambda: b'{"a": ' + b"\\ud800" * 100_000,
    "bytes": lambda: b'{"a": "\xff\xfe"}',
}


@pytest.mark.parametrize("kind", BOMBS)
def test_s07_every_bomb_is_refused_in_words(kind: str) -> None:
    """A decoder that took the square of the length would not come back from these."""
    with pytest.raises(JsonFault):
        decode(BOMBS[kind]())


def odd_value(dice: Random, depth: int = 0) -> str:
    """JSON, or what a model takes for JSON."""
    if depth < 3 and dice.random() < 0.3:
        inner = [odd_value(dice, depth + 1) for _ in range(dice.randint(0, 3))]
        if dice.random() < 0.5:
            return f"[{','.join(inner)}]"
        return "{" + ",".join(f'"k{at}":{value}' for at, value in enumerate(inner)) + "}"
    return dice.choice(
        [
            *("NaN", "Infinity", "-Infinity", "-0", "-0.0", "1e400", "-1e400", "1e-400", "5e-324"),
            *(
                '"=1+1 \\ud800 said"',
                '"\\ud800"',
                '"\\udfff\\ud800"',
                '"\\u0000"',
                '"\ufeff"',
                '"\\u2028"',
                "null",
                "true",
            ),
            *(
                str(dice.randint(-(10**30), 10**30)),
                repr(dice.uniform(-1e308, 1e308)),
                '""',
                "9" * 400,
            ),
        ]
    )


def refused(word: str) -> float:
    raise AssertionError(f"{word} in a result")


def strict(raw: bytes) -> Any:
    return json.loads(raw.decode("utf-8", "strict"), parse_constant=refused)


def test_s08_whatever_models_answer_results_are_strict_json(tmp_path: Path) -> None:
    """Ten thousand odd values in every place where a model may put one."""
    dice = Random(8)
    right = json.dumps(form(question()))
    answers = []
    for _ in range(10_000):
        key = dice.choice(["score", "max_score", "type", "reason", "question_id"])
        item = {**question(), key: "@"}
        text = json.dumps(form(item)).replace('"@"', odd_value(dice))
        answers.append(dice.choice([text, text, odd_value(dice), right + odd_value(dice)]))
    cases = [qa_case([question()], f"c{n}") for n in range(100)]
    outputs: list[Json] = [
        output(f"c{n % 100}", answer, "m", run=n // 100 + 1) for n, answer in enumerate(answers)
    ]
    results, records = tmp_path / "results.jsonl", tmp_path / "records.jsonl"
    card = callscore.score(cases, outputs, results=results, records=records)
    from callscore.report.json import scorecard_json

    strict(scorecard_json(card))
    lines = [strict(line) for line in results.read_bytes().splitlines()]
    assert len(lines) == 10_000
    assert {line["status"] for line in lines} >= {"invalid", "incomplete"}
    numbers = [value for line in lines for value in line["metrics"].values() if value is not None]
    assert all(math.isfinite(value) for value in numbers)
    for line in records.read_bytes().splitlines():
        strict(line)


PEAK = """
import sys
from pathlib import Path
from callscore.cli.main import main
sys.argv = ["callscore", *sys.argv[1:]]
try:
    main()
except SystemExit as done:
    print("exit", done.code)
status = Path("/proc/self/status").read_text()
print("peak", int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""


def peak_mb(*args: object) -> tuple[int, int, str]:
    """Exit code, the most memory that the command took, and what it said."""
    done = run_python(PEAK, *args)
    words = done.stdout.split()
    code = int(words[words.index("exit") + 1]) if "exit" in words else 0
    return code, int(words[words.index("peak") + 1]), done.stderr


def test_s10_a_transcript_of_a_hundred_megabytes_is_refused_in_little_memory(
    tmp_path: Path,
) -> None:
    path = tmp_path / "cases.jsonl"
    case = json.dumps(qa_case([question()], transcript="@"))
    path.write_text(case.replace("@", "x" * 100_000_000), encoding="utf-8")
    code, peak, said = peak_mb("validate", path)
    assert code == 2 and "cases.jsonl:1" in said
    assert peak < 500


@pytest.mark.slow
def test_s10_a_million_items_fit_into_a_gigabyte(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    items = [{"id": n, "text": "hm"} for n in range(1_000_000)]
    path.write_text(json.dumps(qa_case([question()], transcript=items)), encoding="utf-8")
    code, peak, _ = peak_mb("validate", path)
    assert code == 0
    assert peak < 1_000


def test_s06_a_yaml_bomb_takes_no_memory(tmp_path: Path) -> None:
    lines = ["a0: &a0 [" + "x, " * 9 + "x]"]
    for level in range(1, 12):
        lines.append(f"a{level}: &a{level} [" + f"*a{level - 1}, " * 8 + f"*a{level - 1}]")
    path = tmp_path / "eval.yaml"
    path.write_text("\n".join(lines), encoding="utf-8")
    code, peak, said = peak_mb("run", path)
    assert code == 2 and "eval.yaml" in said
    assert peak < 200


@pytest.mark.parametrize(
    "text", ["{{7*7}}", "{0.__class__}", "%s %(x)s", "${HOME}", "{config}", "<%= 7*7 %>", "{%x%}"]
)
def test_s25_text_of_a_dataset_is_in_the_prompt_as_it_is(text: str) -> None:
    for task in ("qa", "entity", "text", "translation"):
        case = Case("c1", task, f"Agent: {text}", {"instruction": text}, {})
        prompt = build_prompt(case, {}, structure_of(case, StructureSources({})))
        told = "\n".join(message.content for message in prompt.messages)
        assert told.count(text) >= 2
        assert "49" not in told
    assert turns(f"Agent: {text}")[0].text == text


def test_s20_an_event_is_one_line_whatever_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with EventLog(path) as log:
        log.write({"case_id": "a\nb\r\nc\u2028d\x85e", "error": '"}\n{"event": "forged"}\x1b[2J'})
    raw = path.read_bytes()
    assert raw.count(b"\n") == 1 and b"\x1b" not in raw
    assert json.loads(raw)["case_id"] == "a\nb\r\nc\u2028d\x85e"
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
def test_r04_a_log_that_cannot_be_written_is_said_plainly(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text(json.dumps(qa_case([question()])), encoding="utf-8")
    path = eval_file(tmp_path, [{"name": "m", "provider": "simulated"}])
    done = run("run", path, "--log", "/dev/full")
    assert done.returncode == 4
    assert "/dev/full: cannot be written: No space left" in done.stderr
    assert run("run", path, "--resume").returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
def test_r04_a_log_on_a_full_disk_loses_no_answer_in_flight(tmp_path: Path) -> None:
    cases_file(tmp_path, 30)
    numbers = iter(range(1_000))

    def respond(request: Request) -> Behaviour:
        # The first answer cannot be logged while others are under way.
        answer = Answer(chat_completion(right_answer(request)), delay_s=0.1 * next(numbers))
        return WaitUntil(answer, lambda: len(stub.requests) >= 2)

    with serving(respond) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)])
        done = run("run", path, "--no-preflight", "--log", "/dev/full")
        assert done.returncode == 4
        asked = len(stub.requests)
        assert 2 <= asked < 30
    assert f"{asked}/30" in run("runs", path).stdout


def test_peak_memory_is_really_measured() -> None:
    assert 5 < peak_mb("--version")[1] < 100
