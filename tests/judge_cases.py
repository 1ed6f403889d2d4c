"""Short constructors for judge requests, and models that answer them as a test needs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from callscore.core.case import Case, Failed, Malformed, Message, Reply, Turn, turns
from callscore.core.judging import (
    Item,
    Judge,
    JudgeRequest,
    JudgeResult,
    Question,
    Verdict,
    Verdicts,
)
from callscore.core.provider import AttemptFailed, ProviderRequest, ProviderResponse
from callscore.core.task import Task
from callscore.judges.fakes import LiteralModel
from callscore.judges.judge_items import sort_questions
from callscore.judges.judge_prompt import Composer, JudgePrompt
from callscore.judges.llm import LLMJudge
from callscore.judges.rubric import built_in_library

TURNS = (
    Turn("Good morning, this is Ana from Acme. How can I help you?", speaker="Agent", start=0.0),
    Turn("I was charged twice, 49 dollars each time.", speaker="Customer", start=7.0),
    Turn("I will refund 49 dollars within three days.", speaker="Agent", start=15.0),
)
EXPECTED = {
    "summary": {
        "call_purpose": "Refund of a duplicate charge",
        "highlights": ["Duplicate charge confirmed", "49 dollars refunded"],
    }
}
RUBRICS = built_in_library().rubrics


def make_question(
    rubric: str, text: str, reference: str = "", *, metric: str = "", item: str = ""
) -> Question:
    """A question of one rubric."""
    used = RUBRICS[rubric]
    return Question(metric or used.asks[0], item or text, text, reference, tuple(used.words))


def judge_request(*questions: Question, **changes: Any) -> JudgeRequest:
    """A judge request about one small call."""
    built = JudgeRequest("text", TURNS, {"language": "en"}, EXPECTED, questions)
    return msgspec.structs.replace(built, **changes)


def compose_request(given: JudgeRequest) -> JudgePrompt:
    """The only prompt for a judge request."""
    (only,) = Composer(built_in_library()).compose(
        given, sort_questions(given, built_in_library()).asked
    )
    return only


def judge(given: JudgeRequest, by: Judge | None = None) -> JudgeResult | Failed:
    """Judge a request, by default with the literal model."""
    return asyncio.run((by or LLMJudge(LiteralModel())).judge(given))


def words(answer: JudgeResult | Failed) -> dict[str, str | None]:
    """The words of the verdicts, by item."""
    assert isinstance(answer, JudgeResult), answer
    return {verdict.item: verdict.verdict for verdict in answer.verdicts}


def group_by_item(given: Sequence[Verdict]) -> Verdicts:
    """Verdicts as a task receives them."""
    return {Item(verdict.metric, verdict.item): [verdict] for verdict in given}


def judge_request_of(task: Task[Any, Any], case: Case, answer: object) -> JudgeRequest:
    """The judge request for an answer to a case."""
    reference = task.reference(case)
    output = task.read(reference, Reply(json.dumps(answer)))
    assert not isinstance(output, Malformed), output
    return JudgeRequest(
        case.task,
        turns(case.transcript),
        case.config,
        case.expected_outcome,
        task.ask(reference, output),
        model_output=answer,
    )


Write = Callable[[Sequence[Message]], str]


class WritingModel(LiteralModel):
    """A model with scripted answers: texts, or functions of the messages; the last one repeats.

    It records the body of every request.
    """

    def __init__(self, *write: Write | str, name: str = "writing") -> None:
        super().__init__(name)
        self._write = list(write)
        self.bodies: list[bytes] = []

    async def attempt(self, call: ProviderRequest) -> ProviderResponse | AttemptFailed:
        self.bodies.append(call.body)
        return await super().attempt(call)

    def answer(self, messages: Sequence[Message]) -> str:
        write = self._write.pop(0) if len(self._write) > 1 else self._write[0]
        return write if isinstance(write, str) else write(messages)


def literal_answer(messages: Sequence[Message]) -> str:
    """The answer of the literal model."""
    return LiteralModel().answer(messages)


def change_items(change: Callable[[list[dict[str, Any]]], Any]) -> Write:
    """The literal answer with changed items; if `change` returns an object, that is the answer."""

    def write(messages: Sequence[Message]) -> str:
        value = json.loads(literal_answer(messages))
        replaced = change(value["items"])
        return json.dumps(value if replaced is None else replaced)

    return write
