"""The framework's own judge (`style: document`): its system prompt, one metric per request.

The judge gives a number, which is accepted within its range and steps: no more is asked of it than
the framework asks (C-100). A citation that is neither a field nor found is flagged. There are no
items, no canaries and no second judge: it judges as the framework says, for comparison with other
evaluations.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core import strict_json
from callscore.core.case import Failed, JsonObject, Message, Prompt
from callscore.core.judging import (
    INJECTION_SUSPECTED,
    Item,
    JudgeRequest,
    JudgeResult,
    Unjudged,
    Verdict,
)
from callscore.core.provider import AttemptFailed
from callscore.core.verdict_rules import (
    DOCUMENT,
    NOT_CITED,
    RECORD_KEYS,
    WHOLE,
    FrameworkJudge,
    JudgedMetric,
)
from callscore.judges.evidence import (
    SIDES,
    fields_of,
    leaves_of,
    plain_path,
    shares_word,
    sources_of,
)
from callscore.judges.injection import suspicions
from callscore.judges.judge_reply import LONGEST_ANSWER, strip_wrapping
from callscore.judges.llm import PROBE, JudgeUsage, Sender, reply_text
from callscore.judges.prompt_blocks import (
    block,
    encode_lines,
    json_lines,
    nonce,
    shortened_lines,
    turn_lines,
)
from callscore.judges.rubric import built_in_library
from callscore.metrics.text import contains, n2

_PATH = re.compile(r"[^\W\d][\w.]*(?:\[[^\[\]]{1,60}\][\w.]*)*")
SHORTEST_CITED = 8
"""In characters; a text that merely contains a shorter value does not cite it."""
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {key: {"type": "number" if key == "score" else "string"} for key in RECORD_KEYS},
    "required": list(RECORD_KEYS),
    "additionalProperties": False,
}


class DocumentJudge:
    """Scores the open metrics of a reply, one request each; if a model fails, the next is asked."""

    judges_whole = True

    def __init__(self, senders: Sequence[Sender], framework: FrameworkJudge) -> None:
        self._senders = senders
        self._framework = framework
        providers = [sender.provider for sender in senders]
        self.name = "+".join(provider.name for provider in providers)
        models = [f"{p.name}@{p.request(PROBE, 0).key.hex()[:12]}" for p in providers]
        digest = f"{framework.digest[:12]}.{built_in_library().digest[:12]}"
        self.signature = f"{DOCUMENT}({'+'.join(models)}+{digest})"

    async def judge(self, judge_request: JudgeRequest) -> JudgeResult | Failed:
        """A valid score of every open metric, or why there is none (C-102)."""
        slugs = requested_metrics(judge_request, self._framework)
        if judge_request.model_output is None or not slugs:
            return JudgeResult(())
        scores = await asyncio.gather(*(self._score_metric(judge_request, slug) for slug in slugs))
        usage = sum((of_metric for _, of_metric in scores), JudgeUsage())
        verdicts = [score for score, _ in scores if isinstance(score, Verdict)]
        void = [score for score, _ in scores if isinstance(score, Unjudged)]
        if void and not verdicts:
            return usage.to_failed(void[0].why)
        uncited = [verdict for verdict in verdicts if not _is_cited(verdict, judge_request)]
        flags = [f"{NOT_CITED}: {verdict.metric}" for verdict in uncited]
        if suspicions(judge_request, sources_of(judge_request)):
            flags.append(INJECTION_SUSPECTED)
        return usage.to_result(verdicts, sorted(flags), void)

    async def _score_metric(
        self, judge_request: JudgeRequest, slug: str
    ) -> tuple[Verdict | Unjudged, JudgeUsage]:
        """Ask each model for one metric, once, and once more with the error, until one is valid."""
        first_prompt = metric_prompt(judge_request, slug, self._framework)
        usage, why = JudgeUsage(), "no judge is configured"
        for sender in self._senders:
            prompt = first_prompt
            for _ in range(2):
                reply, of_attempt = await sender.send(prompt, judge_request.repeat)
                usage += of_attempt
                if isinstance(reply, AttemptFailed):
                    why = f"{reply.kind}: {reply.message}"
                    break
                verdict = read_record(reply_text(reply), slug, self._framework)
                if isinstance(verdict, Verdict):
                    return msgspec.structs.replace(verdict, by=self.signature), usage
                why = verdict
                prompt = _retry_prompt(first_prompt, why)
        return Unjudged(Item(slug, WHOLE), why), usage


def requested_metrics(judge_request: JudgeRequest, framework: FrameworkJudge) -> Sequence[str]:
    """The metrics of a request's questions that the framework's judge scores."""
    slugs: dict[str, None] = {}
    for question in judge_request.questions:
        for slug in framework.scored_with.get(question.metric, (question.metric,)):
            if question.offered and slug in framework.metrics:
                slugs[slug] = None
    return list(slugs)


def metric_prompt(judge_request: JudgeRequest, slug: str, framework: FrameworkJudge) -> Prompt:
    """The framework's system prompt and its five inputs; the metric is last, for prompt caching."""
    metric = framework.metrics[slug]
    parts = {
        "transcript": list(turn_lines(judge_request.turns)),
        "expected_outcome": json_lines(judge_request.expected_outcome),
        "config": json_lines(judge_request.config),
        "model_output": shortened_lines(judge_request.model_output),
    }
    mark = nonce(*(encode_lines(lines) for lines in parts.values()))
    blocks = [block(name, mark, lines) for name, lines in parts.items()]
    blocks.append(block("metric", mark, [metric.name, "", *metric.definition.strip().split("\n")]))
    user = "\n\n".join((*blocks, built_in_library().prompts["closing_document"].strip()))
    return Prompt((Message("system", framework.prompt), Message("user", user)), SCHEMA)


def _retry_prompt(prompt: Prompt, why: str) -> Prompt:
    instruction = built_in_library().prompts["again_document"].strip().replace("{problem}", why)
    system, user = prompt.messages
    return Prompt((system, Message("user", f"{user.content}\n\n{instruction}")), prompt.schema)


def read_record(text: str, slug: str, framework: FrameworkJudge) -> Verdict | str:
    """The score of a five-key answer, or what is wrong with it, without quoting it."""
    try:
        value = strict_json.decode(strip_wrapping(text).encode(), max_bytes=LONGEST_ANSWER).value
    except (strict_json.JsonFault, UnicodeEncodeError):
        return "it is not one JSON object"
    if not isinstance(value, dict) or not value.keys() >= set(RECORD_KEYS):
        return f"expected one object with the keys {', '.join(RECORD_KEYS)}"
    metric = framework.metrics[slug]
    problem = _score_fault(value["score"], metric) or _metric_fault(
        value["metric"], slug, framework.metrics
    )
    if problem:
        return problem
    expected, observed, reason = (_as_text(value[key]) for key in RECORD_KEYS[2:])
    return Verdict(
        slug, WHOLE, value=float(value["score"]), text=expected, quote=observed, note=reason
    )


def _score_fault(score: Any, metric: JudgedMetric) -> str:
    if isinstance(score, bool) or not isinstance(score, (int, float)) or not math.isfinite(score):
        return "the score is not a number"
    fault = metric.fault(score)
    return f"the score {fault}" if fault else ""


def _metric_fault(name: Any, slug: str, metrics: Mapping[str, JudgedMetric]) -> str:
    """Whether a record is about another metric; a name in similar words is accepted."""
    metric = metrics[slug]
    named = n2(name) if isinstance(name, str) else ""
    if named in (n2(metric.name), n2(slug)):
        return ""
    others = {n2(word) for key, other in metrics.items() for word in (key, other.name)}
    is_other = named in others or not shares_word(named, metric.name)
    return f"the metric is {metric.name}" if is_other else ""


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_cited(verdict: Verdict, judge_request: JudgeRequest) -> bool:
    """Whether both citations of a record are found."""
    return is_cited(verdict.text, judge_request.expected_outcome) and is_cited(
        verdict.quote, judge_request.model_output
    )


def is_cited(citation: str, document: Any) -> bool:
    """Whether a citation is a field of a JSON document, a value, part of one, or contains one."""
    words = n2(citation)
    if not any(char.isalnum() for char in words):
        return citation.strip() in _json_texts(document)
    if _names_field(citation, document):
        return True
    for leaf in map(n2, leaves_of(document)):
        if contains(leaf, words) or (len(leaf) >= SHORTEST_CITED and contains(words, leaf)):
            return True
    return any(words == n2(text) for text in _json_texts(document))


def _names_field(citation: str, document: Any) -> bool:
    """Whether a citation is, or has, the path of a field (`questions[0].reason`)."""
    fields = fields_of(document)
    paths = [citation, *(path for path in _PATH.findall(citation) if "." in path or "[" in path)]
    return any(plain_path(path, side) in fields for path in paths for side in SIDES)


def _json_texts(value: Any) -> Iterable[str]:
    """A JSON value and everything in it, as JSON."""
    yield json.dumps(value, ensure_ascii=False)
    yield json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, (Mapping, list, tuple)):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _json_texts(inner)
