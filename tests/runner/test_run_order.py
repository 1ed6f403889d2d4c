"""The order of a run: cases read twice, scored as they are answered, nothing lost by an error."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import msgspec
import pytest

import callscore
from builders import qa_case, question
from callscore.core.case import Case
from callscore.core.errors import StoreError
from callscore.core.judging import Question
from callscore.core.run import Completed, Event
from callscore.embeddings.catalog import ChrfEmbedder
from callscore.evaluate.judging import JudgeRunner
from callscore.evaluate.scoring_pass import ScoringPass
from callscore.judges.fakes import ScriptedJudge
from callscore.runner.scoring import DeferredEmbedder
from callscore.store.journal import Journal
from eval_files import cases_file, eval_file

COMPARED = Question("translation.meaning_accuracy", "s1", "one text", "the same text")
WORDED = Question("qa.evidence_backed_reasoning", "Q1", "a reason", offered=("vague",))
NEAR = {"name": "m", "provider": "simulated", "model": "near"}


def test_the_cases_are_read_once_to_check_them_and_once_to_run(tmp_path: Path) -> None:
    cases_file(tmp_path, 100)
    eval_file(tmp_path, [NEAR, {**NEAR, "name": "n"}])
    program = dedent(
        """
        import sys, callscore
        opened = []
        sys.addaudithook(lambda event, args: event == "open" and opened.append(str(args[0])))
        callscore.run("eval.yaml")
        print(sum(name.endswith("cases.jsonl") for name in opened))
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "2"


def test_cases_are_scored_while_models_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    advance = ScoringPass.advance

    def advance_and_record(self: ScoringPass, *args: object) -> int:
        scored = advance(self, *args)  # type: ignore[arg-type]
        order.extend(["scored"] * scored)
        return scored

    def on_event(event: Event) -> None:
        if isinstance(event, Completed):
            order.append("answered")

    monkeypatch.setattr(ScoringPass, "advance", advance_and_record)
    cases_file(tmp_path, 100)
    callscore.run(eval_file(tmp_path, [NEAR]), on_event=on_event)
    last = len(order) - order[::-1].index("answered")
    assert order[:last].count("scored") > 50


def test_an_error_while_scoring_ends_the_run_and_keeps_the_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: ScoringPass, *args: object) -> int:
        raise StoreError("results.jsonl: cannot be written: No space left on device")

    monkeypatch.setattr(ScoringPass, "advance", fail)
    cases_file(tmp_path, 100)
    with pytest.raises(StoreError, match="No space left"):
        callscore.run(eval_file(tmp_path, [NEAR]), store=tmp_path / "runs.db")
    with Journal(tmp_path / "runs.db") as journal:
        assert journal.run(1).answered == 100


def test_sentences_are_compared_when_all_models_have_answered() -> None:
    async def is_compared_before_all_answered() -> bool:
        judge, all_answered = ScriptedJudge(lambda question: "vague"), asyncio.Event()
        judge_runner = JudgeRunner(judge, DeferredEmbedder(ChrfEmbedder(), all_answered))
        case = msgspec.convert(qa_case([question()]), type=Case)
        worded = asyncio.create_task(judge_runner.ask(case, [WORDED]))
        compared = asyncio.create_task(judge_runner.ask(case, [COMPARED]))
        await worded
        is_compared = compared.done()
        all_answered.set()
        await compared
        return is_compared

    assert asyncio.run(is_compared_before_all_answered()) is False
