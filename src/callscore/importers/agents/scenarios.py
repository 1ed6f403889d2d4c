"""Traces as scenario files, agent cards, and recordings of scenarios."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from callscore.importers.agents.conversations import AgentTrace
from callscore.importers.agents.messages import Event, TracedCall
from callscore.importers.agents.spent import Spent, add_spent

AGENT = "assistant"
"""The id of an agent that a trace does not name."""
AWAITING = "AWAITING_USER_INPUT"
NO_AGENT = "system prompts of agents without a name"
_OTHER_LETTER = re.compile(r"\W+")
_SPEAKERS = ("user", "system", "main")


class Decision(NamedTuple):
    """What an agent did at once: called tools, handed over, or said something."""

    turn: int
    agent: str
    calls: Sequence[TracedCall]
    text: str
    spent: Spent = Spent()

    @property
    def hand_offs(self) -> list[str]:
        """The agents to which it handed over."""
        return [agent_id(call.hand_off) for call in self.calls if call.hand_off]


def agent_id(name: str) -> str:
    """The id of an agent in cards and scenarios."""
    return _OTHER_LETTER.sub("_", name).strip("_").lower() or AGENT


def scenario_steps(trace: AgentTrace) -> list[dict[str, Any]]:
    """The steps of a scenario whose expected steps are what the agent did."""
    steps: list[dict[str, Any]] = []
    decisions = {id(event): decision for event, decision in _decisions(trace)}
    asked = ""
    for place, event in enumerate(trace.events):
        decision = decisions.get(id(event))
        if event.role == "user":
            asked = event.text
            steps.append({"user": event.text})
        elif decision is not None and decision.calls:
            steps += _acting_steps(decision, asked)
        elif decision is not None:
            follows = [one.role for one in trace.events[place + 1 :]][:1]
            asks = decision.turn and event.text.rstrip().endswith("?")  # a greeting asks nothing
            if asks and follows == ["user"]:
                steps.append({decision.agent: {"status": AWAITING, "message": event.text}})
            else:
                steps.append({"main": event.text})
    return steps


def _acting_steps(decision: Decision, asked: str) -> Iterator[dict[str, Any]]:
    """What the agent said before it acted, the plan of its hand-overs, and its other calls."""
    if decision.text.strip():
        yield {"main": decision.text}
    if decision.hand_offs:
        yield {"main": _plan(decision.hand_offs, asked)}
    calls = [_call_content(call) for call in decision.calls if not call.hand_off]
    if calls:
        yield {decision.agent: calls if len(calls) > 1 else calls[0]}


def _decisions(trace: AgentTrace) -> Iterator[tuple[Event, Decision]]:
    """Every event of the agent; after a hand-over, the next agent acts."""
    turn, agent = 0, ""
    for event in trace.events:
        if event.role == "user":
            turn += 1
        elif event.role == "assistant":
            acting = agent_id(event.agent or agent)
            decision = Decision(turn, acting, event.calls, event.text, event.spent)
            yield event, decision
            if decision.hand_offs:
                agent = decision.hand_offs[-1]


def _plan(agents: Sequence[str], query: str) -> dict[str, Any]:
    return {
        f"workflow_{number}": {
            "status": "pending",
            "steps": [{"name": agent, "status": "pending", "refined_query": query}],
        }
        for number, agent in enumerate(agents, 1)
    }


def _call_content(call: TracedCall) -> dict[str, Any]:
    arguments = call.arguments if isinstance(call.arguments, Mapping) else {}
    content = {"tool": call.name, "arguments": arguments}
    return {**content, "tool_call_result": call.result} if call.has_result else content


def cards_of(traces: Sequence[AgentTrace]) -> dict[str, dict[str, Any]]:
    """By agent, its card: the tools that it called, and defined tools without a call."""
    called: dict[str, dict[str, dict[str, Any]]] = {}
    defined = {tool.name: tool for trace in traces for tool in trace.tools}
    for trace in traces:
        for _, decision in _decisions(trace):
            for agent in (decision.agent, *decision.hand_offs):
                called.setdefault(agent, {})
            for call in decision.calls:
                if not call.hand_off:
                    mine = called[decision.agent].setdefault(call.name, {})
                    mine |= dict.fromkeys(
                        call.arguments if isinstance(call.arguments, Mapping) else (), {}
                    )
    used = {name for tools in called.values() for name in tools}
    for agent, tools in list(called.items())[:1]:
        called[agent] = tools | {name: {} for name in defined if name not in used}
    return {
        agent: {
            "agent_card": {"agent_id": agent},
            "tools": [
                _card_tool(name, seen, defined.get(name))
                for name, seen in tools.items()
                if not TracedCall(name, {}).hand_off
            ],
        }
        for agent, tools in called.items()
    }


def system_prompts(traces: Sequence[AgentTrace]) -> dict[str, list[str]]:
    """By agent, its system prompts, the most frequent first."""
    found: dict[str, Counter[str]] = {}
    for trace in traces:
        agents = {decision.agent for _, decision in _decisions(trace)}
        of_trace: dict[str, list[str]] = {}
        for event in trace.events:
            if event.role != "system" or not event.text:
                continue
            if event.agent or len(agents) == 1:
                name = agent_id(event.agent) if event.agent else next(iter(agents))
                of_trace.setdefault(name, []).append(event.text)
            else:
                trace.unread[NO_AGENT] += 1
        for name, texts in of_trace.items():
            found.setdefault(name, Counter())["\n\n".join(texts)] += 1
    return {agent: [text for text, _ in of.most_common()] for agent, of in found.items()}


def _card_tool(name: str, seen: Mapping[str, Any], tool: Any) -> dict[str, Any]:
    if tool is not None:
        return {"name": name, "description": tool.description, "parameters": tool.parameters}
    return {"name": name, "parameters": {"type": "object", "properties": dict(seen)}}


def recording(
    traces: Sequence[AgentTrace], scenario: str, steps: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], int]:
    """Traces as runs of a scenario, and the number of calls that answer none of its steps."""
    answered = [_answers(trace, steps) for trace in traces]
    document = {
        "callscore": "orchestration-1",
        "scenario_id": scenario,
        "model": traces[0].model,
        "asking_back": "text",
        "scenario": {"steps": list(steps)},
        "runs": [{"run": run, "answers": found} for run, (found, _) in enumerate(answered, 1)],
    }
    return document, sum(strays for _, strays in answered)


def _answers(
    trace: AgentTrace, steps: Sequence[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], int]:
    """The answers to the steps of a scenario, and the number of calls that fit none.

    Steps are answered turn by turn: after the k-th message of the user, the i-th expected step by
    the i-th thing that the agent did. Calls beyond the expected steps belong to the last of them.
    """
    done: dict[int, list[Decision]] = {}
    for _, decision in _decisions(trace):
        done.setdefault(decision.turn, []).append(decision)
    answers: list[dict[str, Any]] = []
    for turn, numbers in _due_steps(steps).items():
        found = done.pop(turn, [])
        acts = [one for one in found if one.calls] + [one for one in found if not one.calls]
        for place, number in enumerate(numbers):
            if place >= len(acts) and trace.error:
                answers.append({"step": number, "error": trace.error})
            elif place < len(acts):
                last = place == len(numbers) - 1
                surplus = [one for one in acts[place + 1 :] if one.calls] if last else []
                answers.append({"step": number, **_answer([acts[place], *surplus])})
    return answers, sum(len(one.calls) for found in done.values() for one in found)


def _due_steps(steps: Sequence[Mapping[str, Any]]) -> dict[int, list[int]]:
    """By turn of the user, the numbers of the steps in which an agent decides."""
    due: dict[int, list[int]] = {}
    turn = 0
    for number, step in enumerate(steps, 1):
        speaker, content = _speaker(step)
        turn += speaker == "user"
        if speaker not in _SPEAKERS or (speaker == "main" and _is_plan(content)):
            due.setdefault(turn, []).append(int(step.get("step_id", number)))
    return due


def _speaker(step: Mapping[str, Any]) -> tuple[str, Any]:
    if "data" in step:
        kind = step.get("agent_type")
        return (kind if kind in _SPEAKERS else step["agent"]), step["data"].get("content")
    if "agent" in step:
        return step["agent"], step.get("content")
    return next(iter(step.items()))


def _is_plan(content: Any) -> bool:
    return isinstance(content, Mapping) or str(content).lstrip().startswith(
        ("workflow_", "interrupt")
    )


def _answer(acts: Sequence[Decision]) -> dict[str, Any]:
    first, spent = acts[0], add_spent(act.spent for act in acts).as_json()
    if first.hand_offs:
        plan = json.dumps(_plan(first.hand_offs, ""), ensure_ascii=False)
        return {"content": plan, **spent}
    calls = [{"name": call.name, "arguments": call.arguments} for act in acts for call in act.calls]
    return {"content": first.text, **({"tool_calls": calls} if calls else {}), **spent}
