"""The framework's own judge (`style: document`): its system prompt, one metric per request.

The judge gives a number. It is accepted only within its range and steps, and if both values that it
cites occur in the reference and in the output. There are no items, no canaries and no second judge:
it judges as the framework says, for comparison with other evaluations.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core import strict_json
from callscore.core.case import Failed, JsonObject, Message, Prompt
from callscore.core.framework import (
    DOCUMENT,
    RECORD_KEYS,
    WHOLE,
    JudgedMetric,
    framework_digest,
    judge_prompt,
    judged_metrics,
)
from callscore.core.judging import Item, JudgeRequest, JudgeResult, Unjudged, Verdict
from callscore.core.provider import AttemptFailed
from callscore.judges.case_block import json_lines, shortened_lines, turn_lines
from callscore.judges.delimiters import block, encode_lines, nonce
from callscore.judges.evidence import leaves_of, sources_of
from callscore.judges.injection import INJECTION_SUSPECTED, suspicions
from callscore.judges.llm import PROBE, JudgeUsage, Sender, reply_text
from callscore.judges.parse import LONGEST_ANSWER, strip_wrapping
from callscore.judges.rubric import built_in_library
from callscore.metrics.text import contains, n2

SHORTEST_CITED = 8
"""Characters; a shorter value may only be cited as a whole."""
TOGETHER: Mapping[str, Sequence[str]] = {
    "bench.contextual_precision": (
        "bench.faithfulness",
        "bench.hallucination_rate",
        "bench.contextual_precision",
        "bench.contextual_recall",
        "bench.contextual_relevancy",
    )
}
"""Criteria without their own questions, which the framework scores together with another one."""
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {key: {"type": "number" if key == "score" else "string"} for key in RECORD_KEYS},
    "required": list(RECORD_KEYS),
    "additionalProperties": False,
}


class DocumentJudge:
    """Scores the open metrics of a reply, one request each; the next model if one fails."""

    judges_whole = True

    def __init__(self, senders: Sequence[Sender]) -> None:
        self._senders = senders
        providers = [sender.provider for sender in senders]
        self.name = "+".join(provider.name for provider in providers)
        named = [f"{p.name}@{p.request(PROBE, 0).key.hex()[:12]}" for p in providers]
        digest = f"{framework_digest()[:12]}.{built_in_library().digest[:12]}"
        self.signature = f"{DOCUMENT}({'+'.join(named)}+{digest})"

    async def judge(self, judge_request: JudgeRequest) -> JudgeResult | Failed:
        """A valid score of every open metric, or why there is none (C-102)."""
        slugs = requested_metrics(judge_request)
        if judge_request.model_output is None or not slugs:
            return JudgeResult(())
        scored = await asyncio.gather(*(self._score_metric(judge_request, slug) for slug in slugs))
        spent = sum((more for _, more in scored), JudgeUsage())
        given = [found for found, _ in scored if isinstance(found, Verdict)]
        void = [found for found, _ in scored if isinstance(found, Unjudged)]
        if void and not given:
            return spent.to_failed(void[0].why)
        flags = (
            [INJECTION_SUSPECTED] if suspicions(judge_request, sources_of(judge_request)) else []
        )
        return JudgeResult(
            given,
            flags,
            spent.requests,
            spent.input_tokens,
            spent.output_tokens,
            spent.cost_usd,
            void,
        )

    async def _score_metric(
        self, judge_request: JudgeRequest, slug: str
    ) -> tuple[Verdict | Unjudged, JudgeUsage]:
        """Ask for one metric: once, once more with the error, then the next model."""
        prompt = metric_prompt(judge_request, slug)
        spent, why = JudgeUsage(), "no judge is configured"
        for sender in self._senders:
            again = prompt
            for _ in range(2):
                reply, more = await sender.send(again, judge_request.repeat)
                spent += more
                if isinstance(reply, AttemptFailed):
                    why = f"{reply.kind}: {reply.message}"
                    break
                found = read_record(reply_text(reply), judge_request, slug)
                if isinstance(found, Verdict):
                    return msgspec.structs.replace(found, by=self.signature), spent
                why = found
                again = _retry_prompt(prompt, why)
        return Unjudged(Item(slug, WHOLE), why), spent


def requested_metrics(judge_request: JudgeRequest) -> Sequence[str]:
    """The metrics of a request's questions that the framework's judge scores."""
    slugs: dict[str, None] = {}
    for question in judge_request.questions:
        for slug in TOGETHER.get(question.metric, (question.metric,)):
            if question.offered and slug in judged_metrics():
                slugs[slug] = None
    return list(slugs)


def metric_prompt(judge_request: JudgeRequest, slug: str) -> Prompt:
    """The framework's system prompt and its five inputs; what is the same for all comes first."""
    metric = judged_metrics()[slug]
    parts = {
        "transcript": list(turn_lines(judge_request.turns)),
        "expected_outcome": json_lines(judge_request.expected_outcome),
        "config": json_lines(judge_request.config),
        "model_output": shortened_lines(judge_request.model_output),
    }
    mark = nonce(*(encode_lines(lines) for lines in parts.values()))
    blocks = [block(name, mark, lines) for name, lines in parts.items()]
    blocks += [block("metric", mark, [metric.name, "", *metric.definition.strip().split("\n")])]
    user = "\n\n".join((*blocks, built_in_library().prompts["closing_document"].strip()))
    return Prompt((Message("system", judge_prompt()), Message("user", user)), SCHEMA)


def _retry_prompt(prompt: Prompt, why: str) -> Prompt:
    instruction = built_in_library().prompts["again_document"].strip().replace("{problem}", why)
    system, user = prompt.messages
    return Prompt((system, Message("user", f"{user.content}\n\n{instruction}")), prompt.schema)


def read_record(text: str, judge_request: JudgeRequest, slug: str) -> Verdict | str:
    """The score of a five-key answer, or what is wrong with it, without quoting it."""
    try:
        value = strict_json.decode(strip_wrapping(text).encode(), max_bytes=LONGEST_ANSWER).value
    except (strict_json.JsonFault, UnicodeEncodeError):
        return "it is not one JSON object"
    if not isinstance(value, dict) or value.keys() != set(RECORD_KEYS):
        return f"expected one object with the keys {', '.join(RECORD_KEYS)}, and no others"
    metric = judged_metrics()[slug]
    problem = _score_fault(value["score"], metric) or _metric_fault(value["metric"], metric, slug)
    if problem:
        return problem
    expected, observed, reason = (_as_text(value[key]) for key in RECORD_KEYS[2:])
    if not is_cited(expected, judge_request.expected_outcome):
        return "expected_outcome_reference is not a value of expected_outcome"
    if not is_cited(observed, judge_request.model_output):
        return "model_output_observed is not a value of model_output"
    if not reason.strip():
        return "the reason is empty"
    return Verdict(
        slug, WHOLE, value=float(value["score"]), text=expected, quote=observed, note=reason
    )


def _score_fault(score: Any, metric: JudgedMetric) -> str:
    if isinstance(score, bool) or not isinstance(score, (int, float)) or not math.isfinite(score):
        return "the score is not a number"
    fault = metric.fault(score)
    return f"the score {fault}" if fault else ""


def _metric_fault(named: Any, metric: JudgedMetric, slug: str) -> str:
    if isinstance(named, str) and n2(named) in (n2(metric.name), n2(slug)):
        return ""
    return f"the metric is {metric.name}"


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def is_cited(cited: str, value: Any) -> bool:
    """Whether a citation is a value of a JSON document, a part of one, or a sentence that contains
    one.
    """
    sought = n2(cited)
    if not any(char.isalnum() for char in sought):
        return cited.strip() in _json_texts(value)
    for leaf in map(n2, leaves_of(value)):
        if contains(leaf, sought) or (len(leaf) >= SHORTEST_CITED and contains(sought, leaf)):
            return True
    return any(sought == n2(text) for text in _json_texts(value))


def _json_texts(value: Any) -> Iterable[str]:
    """A JSON value and everything in it, as JSON."""
    yield json.dumps(value, ensure_ascii=False)
    yield json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    inner = value.values() if isinstance(value, Mapping) else value
    if isinstance(value, (Mapping, list, tuple)):
        for one in inner:
            yield from _json_texts(one)
