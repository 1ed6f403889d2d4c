"""`--dry-run` counts the worst case of judging: no answer can cost more requests or tokens."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import callscore
from builders import Json, output, qa_case, question, score, text_case, text_outcome
from calls_suite import tasks
from callscore.core.case import Case, Reply
from callscore.core.judging import JudgeResult
from callscore.core.run import JudgeSpec
from callscore.core.verdict_rules import MOST_STATED, TOO_MANY
from callscore.evaluate.judging import judge_request_of
from callscore.judges.fakes import LiteralModel
from callscore.judges.llm import LLMJudge
from callscore.runner.cases import CasePrompt
from callscore.runner.estimate import JudgedAnswers, estimate_judging, most_items
from callscore.suites.calls.benchmarks.layer import CallBenchmarks
from callscore.suites.calls.spec import make_settings
from eval_files import read_lines

SAMPLE = Path(callscore.__file__).parent / "demo" / "calls"
FLOOD = [f"The agent said the word number {n} aloud" for n in range(5_000)]


def flooded() -> Json:
    answer = text_outcome()
    answer["summary"]["highlights"] = FLOOD
    return answer


class Counting(LiteralModel):
    """Counts what it is asked; every item gets the word that nothing supports."""

    def __init__(self) -> None:
        super().__init__("counting")
        self.requests = self.bytes = 0

    async def attempt(self, call: Any) -> Any:
        self.requests += 1
        self.bytes += len(call.body)
        return await super().attempt(call)


def test_statements_beyond_the_bound_are_the_models_fault_and_flagged(tmp_path: Path) -> None:
    model = Counting()
    found = score(
        [text_case()], [output("c1", flooded())], tmp_path, judge=LLMJudge(model), benchmarks=True
    )
    assert TOO_MANY in found.results[0]["flags"]
    assert found.results[0]["metrics"]["text.highlight_correctness"] == 0.0
    assert model.requests <= 8
    assert model.bytes < 1_500_000


def test_an_answer_within_the_bound_is_not_flagged(tmp_path: Path) -> None:
    answer = text_outcome()
    answer["summary"]["highlights"] = FLOOD[:MOST_STATED]
    found = score([text_case()], [output("c1", answer)], tmp_path, judge=LLMJudge(Counting()))
    assert TOO_MANY not in found.results[0]["flags"]


def test_a_form_of_many_questions_is_no_fault_of_the_model(tmp_path: Path) -> None:
    form = [question(f"Q{n}", reason="the human's words") for n in range(150)]
    given = {"questions": [q | {"reason": f"Hello from {q['question_id']}"} for q in form]}
    model = Counting()
    found = score([qa_case(form)], [output("c1", given)], tmp_path, judge=LLMJudge(model))
    assert found.results[0]["flags"] == []
    assert model.requests == 3


def asked_about(case: Case, answer: object) -> Counting:
    """Everything that a judge is asked about an answer, and about its case."""
    task, layer = tasks(make_settings())[case.task], CallBenchmarks(make_settings())
    reference, reply = task.reference(case), Reply(json.dumps(answer))
    result = task.read(reference, reply)
    asked = [
        *task.ask(reference, result),
        *layer.ask(layer.view(case, reference, result, reply)),
    ]
    model = Counting()
    for questions, shown in ((asked, reply), (layer.ask_case(case), None)):
        given = judge_request_of(case, [q for q in questions if q.offered], shown)
        if given.questions:
            assert isinstance(asyncio.run(LLMJudge(model).judge(given)), JudgeResult)
    return model


@pytest.mark.parametrize("line", range(0, 52, 5))
def test_no_sample_answer_costs_more_than_the_worst_case(line: int) -> None:
    case = msgspec.convert(read_lines(SAMPLE / "cases.jsonl")[line], Case)
    outputs = [o for o in read_lines(SAMPLE / "outputs.jsonl") if o["case_id"] == case.id]
    answer = next(o["output"] for o in outputs if o["model"] == "sample-large")
    if isinstance(answer, str):
        answer = json.loads(answer.removeprefix("```json").removesuffix("```"))
    prompt = tasks(make_settings())[case.task].prompt(case)
    answers = JudgedAnswers(1, len(json.dumps(answer)) // 4, benchmarks=True)
    judge = JudgeSpec("j", "openai", "j")
    (estimate,) = estimate_judging([judge], answers, [CasePrompt(case, prompt)])
    model = asked_about(case, answer)
    assert model.requests <= estimate.calls / 2
    assert model.bytes / 4 <= estimate.input_tokens / 2


def test_the_bound_of_a_case_grows_with_its_reference_not_with_the_answer() -> None:
    case = msgspec.convert(text_case(), Case)
    plain = most_items(case, benchmarks=False)
    assert plain.of_case == 0
    assert plain.of_answer == 2 + 2 + 2 * MOST_STATED
    assert most_items(case, benchmarks=True).of_answer > plain.of_answer


def test_every_judge_of_a_panel_is_counted() -> None:
    case = msgspec.convert(text_case(), Case)
    prompt = tasks(make_settings())[case.task].prompt(case)
    specs = [JudgeSpec(name, "openai", name) for name in ("one", "two")]
    found = estimate_judging(specs, JudgedAnswers(3, 100, False), [CasePrompt(case, prompt)])
    assert [estimate.model for estimate in found] == [
        "one (judge, at most)",
        "two (judge, at most)",
    ]
    assert {estimate.calls for estimate in found} == {2 * 3 * 4}


def test_the_frameworks_judge_is_asked_once_a_metric() -> None:
    case = msgspec.convert(text_case(), Case)
    prompt = tasks(make_settings())[case.task].prompt(case)
    spec = JudgeSpec("one", "openai", "one", style="document")
    (found,) = estimate_judging([spec], JudgedAnswers(1, 100, False), [CasePrompt(case, prompt)])
    assert found.calls == 2 * 4
