"""A judging model behind a stub server, and its entry in a config."""

from __future__ import annotations

from typing import Any

from builders import Json
from callscore.core.case import Message
from callscore.judges.fakes import LiteralModel
from stub_servers import Answer, Behaviour, Request, Stub, chat_completion


def answer_as_judge(request: Request) -> Behaviour:
    """Reply like the literal model to the request of a judge, and to a preflight."""
    messages = [Message(m["role"], m["content"]) for m in request.json["messages"]]
    is_preflight = len(messages) == 1
    return Answer(chat_completion("ok" if is_preflight else LiteralModel().answer(messages)))


def without_counts(card: Json) -> Json:
    """A scorecard, or a result of scenarios, without what was sent to the judge (C-140)."""
    for part in (card, card.get("x_extension", {})):
        if part.get("judging"):
            sent = ("requests", "input_tokens", "output_tokens", "cost_usd", "stored")
            part["judging"] = {k: v for k, v in part["judging"].items() if k not in sent}
    return card


def judge_requests(stub: Stub) -> list[Request]:
    """The requests with something to judge, without preflights."""
    return [request for request in stub.requests if len(request.json["messages"]) > 1]


def judge_entry(url: str, **more: Any) -> Json:
    """The entry of the judge in a config."""
    return {
        "name": "judge",
        "provider": "openai",
        "model": "judge-1",
        "base_url": url,
        "api_key_env": "STUB_KEY",
        "price": {"input": 1.0, "output": 2.0},
        **more,
    }
