"""No text of a file or a server speaks to the terminal; JSON holds the same strings (S-19)."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import unicodedata
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from builders import form, output, qa_case, question
from callscore.report.safe_text import escape_json, sanitize
from command_server import NEVER_S
from commands import environment, run
from eval_files import cases_file, eval_file, remote_model
from stub_servers import Answer, Behaviour, Request, chat_completion, openai_error, serving

EVIL = "\x1b]0;pwn\x07\x1b[2J\x9b31m\u202egnp\u2066\u061c\x7f\x85\u2028end"
STYLES = re.compile(r"\x1b\[[0-9;]*m")
LIVE = re.compile(r"\x1b\[(?:\?25[lh]|[0-9]*[AKGJ])")
"""Our own: colours, and what redraws the table of a run."""


def signs(text: str) -> list[str]:
    """What a terminal might obey."""
    ours = LIVE.sub("", STYLES.sub("", text))
    return sorted(
        {
            repr(char)
            for char in ours
            if char not in "\n\r"
            and (
                unicodedata.category(char) in ("Cc", "Zl", "Zp")
                or unicodedata.bidirectional(char)
                in ("RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "FSI", "PDI")
                or char in "\u200e\u200f\u061c"
            )
        }
    )


def on_a_terminal(*words: object) -> str:
    """What a command writes to a terminal, both streams."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "callscore", *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=environment({"TERM": "xterm"}),
    )
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # the other side is closed
        while part := os.read(ours, 1 << 16):
            shown += part
    process.wait(NEVER_S)
    os.close(ours)
    return shown.decode("utf-8", "replace")


def hostile_run(folder: Path, url: str) -> Path:
    """An eval file with signs wherever a file may have them."""
    cases = [
        qa_case([question(f"Q{EVIL}")], f"c{EVIL}{number}", transcript=f"hello {number}{EVIL}")
        for number in range(2)
    ]
    (folder / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)) + "\n")
    models = [
        remote_model(url, "good", model=f"m{EVIL}"),
        remote_model(f"{url}/fails", "bad"),
    ]
    return eval_file(folder, models, name=f"trial{EVIL}")


def test_s19_no_field_of_a_file_or_a_server_reaches_the_terminal(tmp_path: Path) -> None:
    def respond(request: Request) -> Behaviour:
        if "/fails" in request.path:
            return Answer(openai_error(f"broken{EVIL}"), 400)
        answer = form(question(f"Q{EVIL}")) | {"reason": EVIL}
        return Answer(chat_completion(json.dumps(answer)) | {"model": f"other{EVIL}"})

    with serving(respond) as stub:
        path = hostile_run(tmp_path, stub.url)
        shown = on_a_terminal("run", path, "--no-preflight")
        assert "trial" in shown and "end" in shown, shown
        assert signs(shown) == []
        for words in (["runs", path], ["run", path, "--dry-run"], ["run", path, "--rescore", "1"]):
            told = on_a_terminal(*words)
            assert "error" not in told.split()[:1], told
            assert signs(told) == []


@pytest.mark.parametrize(
    "words",
    [
        ["run", f"none{EVIL}.yaml"],
        ["runs", "--store", f"none{EVIL}.db"],
        ["score", f"none{EVIL}.jsonl"],
        ["validate", f"none{EVIL}.jsonl"],
        ["orchestration", "score", f"none{EVIL}", "--cards", f"none{EVIL}"],
        ["judge", "check", f"none{EVIL}.yaml"],
        ["judge", "check", f"none{EVIL}"],
        [f"none{EVIL}"],
        ["run", "eval.yaml", "--limit", f"1{EVIL}"],
        ["run", "eval.yaml", f"--none{EVIL}"],
    ],
)
def test_s19_no_word_that_was_typed_reaches_the_terminal(words: list[str]) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert signs(done.stdout + done.stderr) == []


def test_s19_a_hostile_config_is_refused_without_being_echoed(tmp_path: Path) -> None:
    cases_file(tmp_path, 1)
    for entry in ({"name": EVIL}, {"provider": EVIL}, {"model": f"sk-12345678{EVIL}"}, {EVIL: 1}):
        done = run("run", eval_file(tmp_path, [remote_model("http://127.0.0.1:9/v1") | entry]))
        assert done.returncode == 2
        assert signs(done.stderr) == []


def test_s19_json_escapes_what_a_terminal_might_obey_and_readers_get_the_same_strings(
    tmp_path: Path,
) -> None:
    name = f"m{EVIL}"
    cases, outputs = tmp_path / "cases.jsonl", tmp_path / "outputs.jsonl"
    cases.write_text(json.dumps(qa_case([question()], f"c{EVIL}")) + "\n")
    outputs.write_text(json.dumps(output(f"c{EVIL}", form(question()), name)) + "\n")
    card, results = tmp_path / "card.json", tmp_path / "results.jsonl"
    done = run("score", cases, "--outputs", outputs, "--json", "-", "--results", results)
    assert done.returncode == 0, done.stderr
    assert signs(done.stdout) == []
    found: Any = json.loads(done.stdout)
    assert found["models"][0]["model"] == name
    assert run("score", cases, "--outputs", outputs, "--json", card).returncode == 0
    assert card.read_text() == done.stdout, "a file holds the same bytes"
    assert signs(results.read_text()) == []
    assert json.loads(results.read_text())["case_id"] == f"c{EVIL}"


def test_s19_escaping_changes_no_string(tmp_path: Path) -> None:
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x11000), 0x1F600, 0xE0041]))
    raw = json.dumps({every: [every, "\\u202e", "\\\u202e"]}, ensure_ascii=False).encode()
    safe = escape_json(raw)
    assert json.loads(safe) == json.loads(raw)
    assert signs(safe.decode()) == []
    assert signs(sanitize(every)) == []
    assert escape_json(bytearray(b'"plain"')) == b'"plain"'


def test_what_people_write_stays_as_it_is() -> None:
    for text in ("नमस्ते क्‍ष", "שלום", "مرحبا", "👩‍👩‍👧", "naïve—“quotes”", "東京"):
        assert sanitize(text) == text
        assert escape_json(json.dumps(text, ensure_ascii=False).encode()).decode() == f'"{text}"'


def test_the_signs_are_really_looked_for() -> None:
    assert signs("plain \x1b[31mred\x1b[0m") == []
    assert signs(EVIL) != []
