"""What a compliance officer reads: where calls went, what was redacted and kept, who labelled."""

from __future__ import annotations

import re
from pathlib import Path

from commands import run
from eval_files import cases_file, eval_file, remote_model, right_answer
from stub_servers import FaultyChat, serving


def words_of(page: str, key: str) -> str:
    """The text of a section of the page."""
    start = page.index(f'<section id="{key}"')
    return " ".join(re.sub(r"<[^>]+>", " ", page[start : page.index("</section>", start)]).split())


def test_the_page_says_where_calls_went_and_what_was_kept(tmp_path: Path) -> None:
    cases = cases_file(tmp_path, 2)
    raw = cases.read_text(encoding="utf-8")
    greeting = "Good morning"
    assert greeting in raw
    cases.write_text(raw.replace(greeting, f"{greeting}, [PHONE_1] and [CARD_1]"), encoding="utf-8")
    page = tmp_path / "page.html"
    with serving(FaultyChat(right_answer)) as stub:
        models = [
            remote_model(stub.url, params={"temperature": 0}),
            {"name": "s", "provider": "simulated"},
        ]
        done = run("run", eval_file(tmp_path, models), "--html", page)
    assert done.returncode == 0, done.stderr
    html = page.read_text(encoding="utf-8")
    said = words_of(html, "compliance")
    assert "m model openai, stub-m 127.0.0.1 temperature 0 1 in, 2 out" in said
    assert "s model simulated nowhere: answers are simulated from the references" in said
    assert "placeholders in the transcripts: card 2, phone 2" in said
    assert "until `callscore purge`" in said
    assert "none: no labels were given" in said
    assert "Not asked s (simulated)" in said
    assert "(1 of 2 models simulated)</h1>" in html


def test_answers_from_files_claim_no_origin(tmp_path: Path) -> None:
    cases_file(tmp_path, 1)
    page = tmp_path / "page.html"
    eval_path = eval_file(tmp_path, [{"name": "s", "provider": "simulated"}])
    assert run("run", eval_path, "--html", page).returncode == 0
    assert " (simulated)</h1>" in page.read_text(encoding="utf-8")
    assert run("run", eval_path, "--no-store-text", "--html", page).returncode == 0
    said = words_of(page.read_text(encoding="utf-8"), "compliance")
    assert "the run deletes them (--no-store-text)" in said
    assert "until `callscore purge`" not in said
    outputs = tmp_path / "outputs.jsonl"
    outputs.write_text('{"case_id": "c0", "model": "m", "output": "{}"}\n', encoding="utf-8")
    done = run("score", tmp_path / "cases.jsonl", "--outputs", outputs, "--html", page)
    assert done.returncode == 0, done.stderr
    said = words_of(page.read_text(encoding="utf-8"), "compliance")
    assert "where models were reached is not recorded" in said
    assert "no transcript has a placeholder" in said
