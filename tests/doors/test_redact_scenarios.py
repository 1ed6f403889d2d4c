"""`--redact` with scenarios: no address, telephone or card number of a user's turn is sent."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from commands import run
from eval_files import eval_file, read_lines, remote_model
from scenario_runs import PERFECT, SAMPLES, call_first_tool
from stub_servers import serving

SAID = "I am at jo.blake@example.com, call (415) 555-0132, card 4111 1111 1111 1111."
PLAN = 'refined_query: "Look up the invoices of April and May 2026"'


@pytest.fixture
def data(tmp_path: Path) -> dict[str, object]:
    """A copy of the bundled scenarios, with personal data in the first one."""
    for name in ("scenarios", "cards"):
        shutil.copytree(SAMPLES / "orchestration" / name / "EN", tmp_path / name / "EN")
    path = tmp_path / "scenarios" / "EN" / "6.yaml"
    text = path.read_text()
    text = text.replace("Please send me the invoices", f"{SAID} Please send me the invoices")
    # A value without quotes: a placeholder in its place would be a list.
    text = text.replace('customerId: "HT-64410"', "customerId: 415-555-0132")
    text = text.replace(PLAN, 'refined_query: "Invoices for (415) 555-0132"')
    path.write_text(text)
    return {"orchestration": {"scenarios": "scenarios/EN", "cards": "cards/EN"}}


@pytest.mark.parametrize("by", ["option", "file"])
def test_27_5_scenarios_are_redacted_before_they_are_sent(
    tmp_path: Path, data: dict[str, object], by: str
) -> None:
    with serving(call_first_tool) as stub:
        extra = {"redact": True} if by == "file" else {}
        path = eval_file(tmp_path, [remote_model(stub.url)], data=data, store="kept/r.db", **extra)
        words = ["--redact"] if by == "option" else []
        done = run(
            *("run", path, "--no-preflight", "--results", tmp_path / "r.jsonl", *words),
            *("--html", tmp_path / "r.html", "--trajectories", tmp_path / "t.md"),
        )
        assert done.returncode == 0, done.stderr
        sent = "\n".join(json.dumps(request.json) for request in stub.requests)
    for secret in ("jo.blake", "555-0132", "4111 1111", "4155550132"):
        assert secret not in sent
        for file in tmp_path.rglob("*"):
            if file.is_file() and "scenarios/EN" not in str(file.relative_to(tmp_path)):
                assert secret.encode() not in file.read_bytes(), file
    assert "I am at [EMAIL_1], call [PHONE_1], card [CARD_1]." in sent
    assert "Invoices for [PHONE_1]" in sent


def test_27_5_redacted_scenarios_score_as_before(tmp_path: Path, data: dict[str, object]) -> None:
    path = eval_file(tmp_path, [PERFECT], data=data, store="kept/r.db")
    results = []
    for number, words in enumerate([[], ["--redact"]]):
        done = run("run", path, "--results", tmp_path / f"{number}.jsonl", *words)
        assert done.returncode == 0, done.stderr
        results.append([one["score"] for one in read_lines(tmp_path / f"{number}.jsonl")])
    assert results[0] == results[1]
    copies = list((tmp_path / "kept" / "redacted").rglob("6.yaml"))
    assert len(copies) == 1
    assert 'customerId: "[PHONE_1]"' in copies[0].read_text().replace("\\", "")


def test_27_5_what_cannot_be_redacted_is_refused(tmp_path: Path, data: dict[str, object]) -> None:
    path = eval_file(tmp_path, [PERFECT], data=data, store="kept/r.db")
    scenario = tmp_path / "scenarios" / "EN" / "6.yaml"
    text = scenario.read_text()
    scenario.write_text(text.replace("invoices: 2", "jo.blake@example.com: 2"))
    done = run("run", path, "--redact")
    assert done.returncode == 2
    assert "6.yaml: a key in line" in done.stderr and "jo.blake" not in done.stderr
    scenario.write_text(text)
    card = tmp_path / "cards" / "EN" / "billing_agent.json"
    card.write_text(card.read_text().replace(r"^\\d{4}-\\d{2}$", "+1 415-555-0132"))
    done = run("run", path, "--redact")
    assert done.returncode == 2 and "billing_agent.json: pattern contains" in done.stderr
    scenario.write_text(": : [broken")
    assert run("run", path, "--redact").returncode == 2


def test_27_5_examples_in_cards_are_redacted(tmp_path: Path, data: dict[str, object]) -> None:
    card = tmp_path / "cards" / "EN" / "billing_agent.json"
    card.write_text(card.read_text().replace("Customer number", "Telephone, as 415-555-0132"))
    path = eval_file(tmp_path, [PERFECT], data=data, store="kept/r.db")
    done = run("run", path, "--redact")
    assert done.returncode == 0, done.stderr
    copy = next((tmp_path / "kept" / "redacted").rglob("billing_agent.json")).read_text()
    assert "Telephone, as [EXAMPLE_PHONE_1]" in copy
