"""Calls of voice agents as conversations, with the results of their tools.

Read are ElevenLabs, Retell and Vapi, from their APIs or webhooks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from callscore.importers.agents.conversations import Request
from callscore.importers.agents.loose_json import as_number, objects_in
from callscore.importers.agents.messages import decoded
from callscore.importers.agents.spent import Spent, add_spent, spent_in

_RETELL_LISTS = ("transcript_with_tool_calls", "message_with_tool_calls")
_WRAPPERS = ("data", "call", "chat", "message")


def voice_request(value: Mapping[str, Any]) -> Request | None:
    """The conversation of a recorded call; None if it is of none of these systems."""
    for wrapper in _WRAPPERS:
        inner = value.get(wrapper)
        if isinstance(inner, Mapping) and (found := voice_request(inner)) is not None:
            return found
    turns: Any = value.get("transcript")
    if _is_list_with(turns, "role") and _is_list_with(turns, "time_in_call_secs"):
        return _elevenlabs(value, turns)
    for key in _RETELL_LISTS:
        if isinstance(value.get(key), list):
            name = str(value.get("call_id") or value.get("chat_id") or "")
            return Request(name, list(_retell(value[key])))
    artifact = value.get("artifact")
    listed: Any = (
        artifact.get("messages") if isinstance(artifact, Mapping) else value.get("messages")
    )
    if _is_list_with(listed, "secondsFromStart"):
        return _vapi(value, listed)
    return None


def _is_list_with(value: Any, key: str) -> bool:
    return isinstance(value, list) and any(isinstance(one, Mapping) and key in one for one in value)


def _elevenlabs(call: Mapping[str, Any], turns: Sequence[Any]) -> Request:
    """Every turn with its own agent; a transfer names the agent in its result."""
    messages: list[dict[str, Any]] = []
    models: list[str] = []
    first = ""
    for turn in turns:
        if not isinstance(turn, Mapping):
            continue
        about = turn.get("agent_metadata")
        agent = str(about.get("agent_id") or "") if isinstance(about, Mapping) else ""
        first = first or agent
        results = objects_in(turn.get("tool_results"))
        to = {str(one.get("request_id")): _transferred_to(one) for one in results}
        calls = [
            _elevenlabs_call(one, to.get(str(one.get("request_id")), ""))
            for one in objects_in(turn.get("tool_calls"))
        ]
        if turn.get("message") or calls:
            message = {
                "role": turn.get("role"),
                "content": turn.get("message"),
                "tool_calls": calls,
                "name": agent if agent != first else "",
                "spent": _spent(turn),
            }
            messages.append(message)
        messages += [_elevenlabs_result(one) for one in results]
        models += _models(turn)
    return Request(
        str(call.get("conversation_id") or ""),
        messages,
        model=models[0] if models else "",
        error=str(call.get("status")) if call.get("status") == "failed" else "",
    )


def _elevenlabs_call(call: Mapping[str, Any], to: str) -> dict[str, Any]:
    arguments = decoded(call.get("params_as_json"))
    if to and isinstance(arguments, Mapping):
        arguments = {**arguments, "to_agent": to}
    return {
        "id": call.get("request_id"),
        "name": call.get("tool_name"),
        "arguments": arguments,
    }


def _elevenlabs_result(result: Mapping[str, Any]) -> dict[str, Any]:
    value = result.get("result_value")
    return {
        "role": "tool",
        "tool_call_id": result.get("request_id"),
        "name": result.get("tool_name"),
        "content": result.get("result") if value is None else value,
        "is_error": result.get("is_error"),
    }


def _transferred_to(result: Mapping[str, Any]) -> str:
    inner = result.get("result")
    named = (inner if isinstance(inner, Mapping) else decoded(result.get("result_value"))) or {}
    return str(named.get("to_agent") or "") if isinstance(named, Mapping) else ""


def _models(turn: Mapping[str, Any]) -> list[str]:
    if turn.get("producing_llm"):
        return [str(turn["producing_llm"])]
    usage = turn.get("llm_usage")
    named = usage.get("model_usage") if isinstance(usage, Mapping) else None
    return list(map(str, named)) if isinstance(named, Mapping) else []


def _retell(items: Sequence[Any]) -> Iterator[dict[str, Any]]:
    for item in items:
        if not isinstance(item, Mapping):
            continue
        role = item.get("role")
        if role == "tool_call_invocation":
            yield {"type": "tool_call", **item, "role": None, "id": item.get("tool_call_id")}
        elif role == "tool_call_result":
            yield {**item, "role": "tool"}
        elif role in ("agent", "user"):
            yield {"role": role, "content": item.get("content")}
        elif role == "dtmf":
            yield {"role": "user", "content": f"[dtmf {item.get('digit')}]"}
        else:
            yield {"type": str(role)}


def _vapi(call: Mapping[str, Any], listed: Sequence[Any]) -> Request:
    messages = []
    for item in listed:
        if not isinstance(item, Mapping):
            continue
        role = item.get("role")
        if role in ("tool_call_result", "tool"):
            found = {**item, "role": "tool", "tool_call_id": item.get("toolCallId")}
        elif role in ("tool_calls", "tool_call"):
            found = {"role": "assistant", "tool_calls": item.get("toolCalls")}
        else:
            found = {**item, "content": item.get("message", item.get("content"))}
        messages.append(found)
    assistant = call.get("assistant")
    given = assistant.get("model") if isinstance(assistant, Mapping) else None
    model: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    about = call.get("call")  # of a report, which has no id of its own
    name = str(call.get("id") or (about.get("id") if isinstance(about, Mapping) else "") or "")
    return Request(name, messages, model=str(model.get("model") or ""), tools=model.get("tools"))


def _spent(turn: Mapping[str, Any]) -> Spent:
    """Tokens and cost of a turn of ElevenLabs, over the models that it asked."""
    usage = turn.get("llm_usage")
    given = usage.get("model_usage") if isinstance(usage, Mapping) else None
    if not isinstance(given, Mapping):
        return Spent()
    return add_spent(_spent_of_model(one) for one in given.values() if isinstance(one, Mapping))


def _spent_of_model(usage: Mapping[str, Any]) -> Spent:
    """Tokens of all kinds, those of the cache included."""
    listed = [(name, one) for name, one in usage.items() if isinstance(one, Mapping)]
    tokens = {
        f"{side}_tokens": sum(
            as_number(one.get("tokens")) or 0 for name, one in listed if name.startswith(side)
        )
        for side in ("input", "output")
    }
    return spent_in(
        tokens, None, math.fsum(as_number(one.get("price")) or 0.0 for _, one in listed)
    )
