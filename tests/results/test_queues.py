"""Items without a verdict wait for a word, and wait again when their reference has changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import callscore
from builders import Json, qa_case, question
from callscore.results import open_results
from callscore.results.port import VerdictFilter
from callscore.results.review_queues import (
    LEASE_S,
    QueueLeases,
    next_open_item,
    stale_items,
)
from callscore.results.reviews import (
    ItemKey,
    RunReviewer,
    item_of,
    review_of,
    write_review,
)


def write_lines(path: Path, lines: Sequence[Json]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def run_cases(folder: Path, expected: Sequence[Json]) -> None:
    """Run a model that always gives the same two marks, with a reason each."""
    write_lines(folder / "cases.jsonl", [qa_case(expected)])
    reason = "The agent says good morning at the start"
    given = {"questions": [question(name, reason=reason) for name in ("Q1", "Q2")]}
    write_lines(folder / "out.jsonl", [{"case_id": "c1", "model": "m", "output": given}])
    settings = {
        "name": "marks",
        "data": "cases.jsonl",
        "judge": "none",
        "models": [{"name": "m", "provider": "replay", "outputs": "out.jsonl"}],
    }
    (folder / "eval.yaml").write_text(json.dumps(settings), encoding="utf-8")
    callscore.run(folder / "eval.yaml", store=folder / "runs.db")


def test_an_item_without_a_verdict_needs_no_reason_and_waits_again_with_its_reference(
    tmp_path: Path,
) -> None:
    run_cases(tmp_path, [question("Q1"), question("Q2")])
    store = tmp_path / "runs.db"
    with closing(open_results(store)) as results:
        key, _ = next_open_item(results, 1, VerdictFilter())
        assert key is not None
        assert key.item == "Q1"
        item = item_of(results, 1, key)
        assert "good morning" in item.base.text
        assert item.base.judged == ""
        ada = RunReviewer(results, store, 1, "ada")
        write_review(ada, item, review_of(item, item.words[0], "", "open"), 0)
        second, _ = next_open_item(results, 1, VerdictFilter())
        assert second == key._replace(item="Q2")
        assert stale_items(results, 1) == []

        run_cases(tmp_path, [question("Q1", score=0), question("Q2")])
        assert results.verdicts_of_people(2) == b""
        (found,) = stale_items(results, 2)
        stale = found.key(results, 2)
        assert stale == key
        assert [one.review.word for one in found.standing] == [item.words[0]]
        again = item_of(results, 2, stale)
        assert again.history == []
        of_run = ada._replace(run=2)
        write_review(of_run, again, review_of(again, item.words[1], "", "doubts"), 0)
        assert stale_items(results, 2) == []
        assert item.words[1].encode() in results.verdicts_of_people(2)


def test_a_lease_ends_after_ten_minutes_with_an_answer_or_with_the_next_item() -> None:
    now = [0.0]
    leases = QueueLeases(lambda: now[0])
    first, second = (ItemKey(place, "m", 1, "qa.reason", "Q1") for place in (1, 2))
    assert leases.take("ada", 1, first)
    assert not leases.take("bob", 1, first)
    assert leases.others("bob", 1) == ["ada"]
    assert leases.others("bob", 2) == []
    assert leases.take("bob", 2, first)  # of another run
    now[0] = LEASE_S - 1
    assert not leases.take("bob", 1, first)
    now[0] = LEASE_S
    assert leases.take("bob", 1, first)
    assert not leases.take("ada", 1, first)
    leases.give_back("bob")
    assert leases.take("ada", 1, first)
    assert leases.take("ada", 1, second)
    assert leases.take("bob", 1, first)
