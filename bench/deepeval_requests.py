"""What DeepEval's metrics send for the same measures: its own code, before a scripted model.

The model answers every prompt in the shape that its schema demands and at an honest length, so
that later prompts hold what they would hold: one truth a sentence of the call, one claim a claim
of the answer, a short reason wherever the prompt asks for one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

os.environ.setdefault("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")

from deepeval.metrics import (
    AnswerRelevancyMetric,
    ContextualPrecisionMetric,
    ContextualRecallMetric,
    FaithfulnessMetric,
    GEval,
    HallucinationMetric,
)
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase, SingleTurnParams

from bench.judge_calls import ProviderResponse
from callscore.core.case import turns
from callscore.suites.calls.structure import split_sentences
from callscore.suites.calls.text.claims import claims

REASON = "The statement agrees with what the customer and the agent say in this part of the call."
SUMMARY = (
    "The score is 0.80 because one statement of the actual output differs from what is said in the"
    " call, while all others agree with it."
)
NO_EVERY = 5
"""One verdict in five is a no, which has a reason where only a no needs one."""
SPARING = ("deepeval.metrics.faithfulness", "deepeval.metrics.answer_relevancy")
OUTPUT, EXPECTED = SingleTurnParams.ACTUAL_OUTPUT, SingleTurnParams.EXPECTED_OUTPUT
CONTEXT = SingleTurnParams.CONTEXT
INPUT = "Summarise this call: its purpose, its highlights and the required fields."


class Sent(NamedTuple):
    """One request: its prompt, the schema of its answer, and the answer."""

    prompt: str
    schema: str
    answer: str


class Scripted(DeepEvalBaseLLM):  # type: ignore[misc]
    """Answers by schema; what it was sent is kept."""

    def __init__(self, truths: Sequence[str], stated: Sequence[str], verdicts: int) -> None:
        self._lists = {"truths": truths, "claims": stated, "statements": stated}
        self._verdicts = verdicts
        self.sent: list[Sent] = []
        super().__init__("scripted")

    def load_model(self) -> Any:
        return self

    def get_model_name(self) -> str:
        return "scripted"

    def generate(self, prompt: str, schema: Any) -> Any:
        answer = self._answer(schema)
        # a model of OpenAI's answers G-Eval without a schema, for its log probabilities
        shape = "" if "score" in schema.model_fields else _compact(schema.model_json_schema())
        self.sent.append(Sent(prompt, shape, json.dumps(answer, ensure_ascii=False)))
        return schema.model_validate(answer)

    async def a_generate(self, prompt: str, schema: Any) -> Any:
        return self.generate(prompt, schema)

    def _answer(self, schema: Any) -> dict[str, Any]:
        fields = schema.model_fields
        if "score" in fields:
            return {"reason": f"{REASON} {SUMMARY}", "score": 8}
        if "verdicts" in fields:
            return {"verdicts": [self._verdict(schema, n) for n in range(self._verdicts)]}
        if "reason" in fields:
            return {"reason": SUMMARY}
        return {name: list(self._lists[name]) for name in fields}

    def _verdict(self, schema: Any, number: int) -> dict[str, str]:
        is_no = number % NO_EVERY == NO_EVERY - 1
        verdict = {"verdict": "no" if is_no else "yes"}
        spares_reasons = schema.__module__.startswith(SPARING)
        return verdict if spares_reasons and not is_no else {"reason": REASON, **verdict}


def g_eval(criteria: str, case: LLMTestCase, *params: SingleTurnParams) -> Sequence[Sent]:
    """One G-Eval request; its steps are given, as they are once they exist."""
    model = Scripted((), (), 0)
    steps = [part.strip() for part in criteria.split(";")]
    metric = GEval("measure", list(params), evaluation_steps=steps, model=model, async_mode=False)
    metric.measure(case, _show_indicator=False)
    return model.sent


def text(answered: ProviderResponse) -> Iterator[Sent]:
    """Intent, highlight recall, highlight correctness, fabrication: as the framework counts."""
    given, wanted = answered.answer["summary"], answered.case.expected_outcome["summary"]
    yield from _intent(given, wanted)
    yield from _recall(given["highlights"], wanted["highlights"])
    grounds = _Grounds(answered, _compact(wanted), [claim.text for claim in claims(wanted)])
    yield from _faithfulness(grounds, given["highlights"])
    yield from _faithfulness(grounds, [claim.text for claim in claims(given)])


def text_by_g_eval(answered: ProviderResponse) -> Iterator[Sent]:
    """The same four measures, one G-Eval each: the leanest, a number without items."""
    given, wanted = answered.answer["summary"], answered.case.expected_outcome["summary"]
    yield from _intent(given, wanted)
    case = _case(_lines(given["highlights"]), _lines(wanted["highlights"]), answered)
    yield from g_eval(RECALL, case, OUTPUT, EXPECTED)
    for told in (_lines(given["highlights"]), _compact(given)):
        case = _case(told, _compact(wanted), answered)
        yield from g_eval(CORRECTNESS, case, OUTPUT, EXPECTED, CONTEXT)


def text_benchmarks(answered: ProviderResponse) -> Iterator[Sent]:
    """The benchmarks but faithfulness, which is above."""
    given, wanted = answered.answer["summary"], answered.case.expected_outcome["summary"]
    case = _case(_compact(given), _compact(wanted), answered)
    yield from g_eval(ANSWER, case, OUTPUT, EXPECTED)
    yield from _relevancy(case, [claim.text for claim in claims(given)])
    yield from _of_context(answered, case, len(claims(wanted)))


def text_benchmarks_lean(answered: ProviderResponse) -> Iterator[Sent]:
    """The same five, one G-Eval each."""
    given, wanted = answered.answer["summary"], answered.case.expected_outcome["summary"]
    case = _case(_compact(given), _compact(wanted), answered)
    yield from g_eval(RELEVANCY, case, SingleTurnParams.INPUT, OUTPUT)
    yield from g_eval(ANSWER, case, OUTPUT, EXPECTED)
    for steps in (CORRECTNESS, PRECISION, NEEDED):
        yield from g_eval(steps, case, OUTPUT, EXPECTED, CONTEXT)


def qa(answered: ProviderResponse) -> Iterator[Sent]:
    """Evidence of each question's reason: one G-Eval a question, as each has points of its own."""
    for given, wanted in _questions(answered):
        yield from g_eval(EVIDENCE, _case(given, wanted, answered), OUTPUT, EXPECTED, CONTEXT)


def qa_by_g_eval(answered: ProviderResponse) -> Iterator[Sent]:
    """One G-Eval for the whole form: the leanest, no points of a question."""
    pairs = list(_questions(answered))
    case = _case(_lines([g for g, _ in pairs]), _lines([w for _, w in pairs]), answered)
    yield from g_eval(EVIDENCE, case, OUTPUT, EXPECTED, CONTEXT)


def qa_benchmarks(answered: ProviderResponse) -> Iterator[Sent]:
    """Argument correctness of each question, faithfulness, and the other benchmarks."""
    pairs = list(_questions(answered))
    for given, wanted in pairs:
        yield from g_eval(ARGUMENT, _case(given, wanted, answered), OUTPUT, EXPECTED, CONTEXT)
    yield from _qa_of_context(answered, pairs)


def qa_benchmarks_lean(answered: ProviderResponse) -> Iterator[Sent]:
    """The same six, one G-Eval each."""
    pairs = list(_questions(answered))
    case = _case(_lines([g for g, _ in pairs]), _lines([w for _, w in pairs]), answered)
    yield from g_eval(RELEVANCY, case, SingleTurnParams.INPUT, OUTPUT)
    for steps in (ARGUMENT, CORRECTNESS, CORRECTNESS, PRECISION, NEEDED):
        yield from g_eval(steps, case, OUTPUT, EXPECTED, CONTEXT)


def translation(answered: ProviderResponse) -> Iterator[Sent]:
    """Fluency of each sentence; names and facts once."""
    given = answered.answer["sentence_translations"]
    wanted = answered.case.expected_outcome["sentence_translations"]
    for ours, theirs in zip(given, wanted, strict=True):
        case = _case(ours["translated_text"], theirs["translated_text"], answered)
        yield from g_eval(FLUENCY, case, OUTPUT, EXPECTED)
    yield from _names_and_facts(answered)


def translation_by_g_eval(answered: ProviderResponse) -> Iterator[Sent]:
    """Fluency, names and facts of the whole translation, one G-Eval each."""
    texts = (
        answered.answer["full_translation"],
        answered.case.expected_outcome["full_translation"],
    )
    yield from g_eval(FLUENCY, _case(*texts, answered), OUTPUT, EXPECTED)
    yield from _names_and_facts(answered)


INTENT = (
    "Compare the goal of the customer in 'actual output' with that in 'expected output';"
    " Give the full score if both name the same goal in the same domain, whatever the wording;"
    " Give half if the domain is right and the goal only partly named, or another goal is added;"
    " Give zero if goal or domain differ"
)
RECALL = (
    "For each highlight of 'expected output' check whether 'actual output' states it;"
    " A highlight counts only if its whole content is stated;"
    " An amount, name, date or outcome stated otherwise counts as missing;"
    " The score is the share of highlights that are stated"
)
CORRECTNESS = (
    "For each statement of 'actual output' check whether 'context' or 'expected output' supports"
    " it; A statement with a part that is in neither, or is said otherwise, does not count;"
    " The score is the share of statements that are supported"
)
RELEVANCY = (
    "For each statement of 'actual output' check whether it answers 'input';"
    " The score is the share of statements that do"
)
ANSWER = (
    "Check whether the facts in 'actual output' contradict any facts in 'expected output';"
    " Heavily penalise the omission of detail;"
    " Vague language or contradicting opinions are OK"
)
PRECISION = (
    "Find the turns of 'context' on which 'actual output' relies;"
    " Check which of them are needed to arrive at 'expected output';"
    " The score is the share of the turns relied on that are needed"
)
NEEDED = (
    "Find the turns of 'context' that are needed to arrive at 'expected output';"
    " Check on which of them 'actual output' relies;"
    " The score is the share of the needed turns that are relied on"
)
EVIDENCE = (
    "Check whether the reason in 'actual output' names a specific quote, moment or action;"
    " Check whether that occurs in 'context' as described;"
    " Give the full score for both, half for a specific reason that does not hold, else zero"
)
ARGUMENT = (
    "Check whether the ground in 'actual output' holds in 'context';"
    " Check whether the mark in 'expected output' follows from it;"
    " Give the full score for both, half for one, else zero"
)
FLUENCY = (
    "Read 'actual output' as a native speaker of its language, with 'expected output' as a guide;"
    " Give the full score if it reads as a native speaker would write it;"
    " Take off for small slips, noticeable errors and significant errors in this order;"
    " Give zero if it cannot be understood"
)
NAMES = (
    "Check whether every name of 'expected output' stands in 'actual output';"
    " An inflected form counts as the same name, a shortened or translated one does not;"
    " The score is the share of names that are kept"
)
FACTS = (
    "Check whether every number, date, identifier and outcome of 'expected output' is kept in"
    " 'actual output'; A fact with another value counts as lost;"
    " The score is the share of facts that are kept"
)


def _intent(given: dict[str, Any], wanted: dict[str, Any]) -> Sequence[Sent]:
    case = LLMTestCase(
        input=INPUT, actual_output=given["call_purpose"], expected_output=wanted["call_purpose"]
    )
    return g_eval(INTENT, case, OUTPUT, EXPECTED)


def _recall(given: Sequence[str], wanted: Sequence[str]) -> Sequence[Sent]:
    case = LLMTestCase(
        input=INPUT,
        actual_output=_lines(given),
        expected_output=_lines(wanted),
        retrieval_context=list(given),
    )
    return _measured(ContextualRecallMetric, Scripted((), (), len(wanted)), case)


class _Grounds(NamedTuple):
    """What a statement may rest on: the call, and the reference with its facts."""

    answered: ProviderResponse
    reference: str
    facts: Sequence[str]


def _faithfulness(grounds: _Grounds, stated: Sequence[str]) -> Sequence[Sent]:
    case = _case(_lines(stated), "", grounds.answered)
    context = [grounds.answered.transcript, grounds.reference]
    spoken = turns(grounds.answered.case.transcript)
    truths = [*(one for turn in spoken for one in split_sentences(turn.text)), *grounds.facts]
    model = Scripted(truths, stated, len(stated))
    case = case.model_copy(update={"retrieval_context": context})
    return _measured(FaithfulnessMetric, model, case)


def _relevancy(case: LLMTestCase, stated: Sequence[str]) -> Sequence[Sent]:
    return _measured(AnswerRelevancyMetric, Scripted((), stated, len(stated)), case)


def _of_context(answered: ProviderResponse, case: LLMTestCase, expected: int) -> Iterator[Sent]:
    """Hallucination with call and reference as contexts; the others with a node a turn."""
    both = [answered.transcript, case.expected_output]
    with_both = case.model_copy(update={"context": both})
    yield from _measured(HallucinationMetric, Scripted((), (), len(both)), with_both)
    nodes = [turn.text for turn in turns(answered.case.transcript)]
    case = case.model_copy(update={"retrieval_context": nodes})
    yield from _measured(ContextualPrecisionMetric, Scripted((), (), len(nodes)), case)
    yield from _measured(ContextualRecallMetric, Scripted((), (), expected), case)


def _qa_of_context(answered: ProviderResponse, pairs: Sequence[tuple[str, str]]) -> Iterator[Sent]:
    given, wanted = [reason for reason, _ in pairs], [mark for _, mark in pairs]
    yield from _faithfulness(_Grounds(answered, _lines(wanted), wanted), given)
    case = _case(_lines(given), _lines(wanted), answered)
    yield from _relevancy(case, given)
    yield from _of_context(answered, case, len(pairs))


def _questions(answered: ProviderResponse) -> Iterator[tuple[str, str]]:
    """Question and reason of the answer, mark and reason of the human."""
    asked = {q["question_id"]: q.get("question", "") for q in answered.case.config["questions"]}
    wanted = answered.case.expected_outcome["questions"]
    for ours, theirs in zip(answered.answer["questions"], wanted, strict=True):
        question = asked.get(theirs["question_id"], "")
        mark = f"{theirs['score']} of {theirs['max_score']}"
        yield f"{question} {ours['reason']}", f"{mark}: {theirs['reason']}"


def _names_and_facts(answered: ProviderResponse) -> Iterator[Sent]:
    expected = answered.case.expected_outcome
    names = [entry.get("expected", str(entry)) for entry in expected["named_entities_handled"]]
    facts = [fact["expected"] for fact in answered.case.config.get("critical_facts", ())]
    for steps, listed in ((NAMES, names), (FACTS, facts)):
        if listed:
            case = _case(answered.answer["full_translation"], _lines(listed), answered)
            yield from g_eval(steps, case, OUTPUT, EXPECTED)


def _case(given: str, wanted: str, answered: ProviderResponse) -> LLMTestCase:
    context = [answered.transcript]
    return LLMTestCase(
        input=INPUT,
        actual_output=given,
        expected_output=wanted or None,
        context=context,
        retrieval_context=context,
    )


def _measured(metric: Any, model: Scripted, case: LLMTestCase) -> Sequence[Sent]:
    metric(model=model, async_mode=False).measure(case, _show_indicator=False)
    return model.sent


def _lines(texts: Sequence[str]) -> str:
    return "\n".join(texts)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
