"""`task: orchestration` in a case file: single-turn cases, scored like those of other tasks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from callscore.core.case import Case, Malformed, Message, Prompt, Reply, Tool
from callscore.core.errors import DataError
from callscore.core.judging import Item, Question, Verdict, Verdicts
from callscore.core.measure import MALFORMED, Measure, undefined
from callscore.core.strict_json import is_finished, read_object
from callscore.core.task import ItemCount, Measured, Task
from callscore.suites.orchestration.call.measures import CallScore, measure_calls
from callscore.suites.orchestration.call.questions import METRIC, OFFERED
from callscore.suites.orchestration.decision.parse import read_calls
from callscore.suites.orchestration.scenario.model import DecodedCall
from callscore.suites.orchestration.single_turn import calls as call_forms
from callscore.suites.orchestration.single_turn.calls import (
    calls_by_tool_name,
    offered_tools,
    read_tools,
)
from callscore.suites.orchestration.single_turn.graph import SubTasks, measure_graph, read_graph

if TYPE_CHECKING:
    from callscore.core.noise import FakeReply, JsonOutcome, Noise

VERDICT_WORDS: Mapping[str, tuple[str, ...]] = {METRIC: OFFERED}
CALL_SLUGS = (
    "orchestration.function_name_f1",
    "orchestration.arguments_key_f1",
    "orchestration.arguments_value_f1",
    "orchestration.exact_calls",
)
GRAPH_SLUGS = (
    "orchestration.plan_similarity",
    "orchestration.node_f1",
    "orchestration.edge_f1",
    "orchestration.exact_plan",
)
SCORE = "orchestration.case_score"
CALL_TOOLS = (
    "Serve the request with your tools: call every tool that it needs, with the arguments that the "
    "conversation gives. If no tool fits, or something required is missing, call none and say so."
)
_PLAIN_TEXT = ("not_json", "refusal")
CALL_FORM = '{"calls": [{"name": …, "arguments": {…}}]}'
GRAPH_FORM = '{"nodes": [{"id": 1, "text": …}], "edges": [["START", "1"], ["1", "END"]]}'
_OTHER_FORM = undefined("the case has no part of this kind")


class SingleTurnReference(msgspec.Struct, frozen=True):
    """The expected calls or graph; if `actions`, read-only calls are ignored."""

    calls: tuple[DecodedCall, ...] | None = None
    graph: SubTasks | None = None
    actions: bool = False
    tools: Mapping[str, Tool] = {}


class SingleTurnOutput(msgspec.Struct, frozen=True):
    """The model's calls with the names of malformed ones, or its graph."""

    calls: tuple[DecodedCall, ...] = ()
    malformed: tuple[str, ...] = ()
    graph: SubTasks | None = None


class OrchestrationTask(Task[SingleTurnReference, SingleTurnOutput]):
    """Calls with accepted values, lists of actions, graphs of sub-tasks."""

    name = "orchestration"

    def reference(self, case: Case) -> SingleTurnReference:
        """The expected calls, actions or graph; raises DataError if there are none."""
        expected = case.expected_outcome
        tools = read_tools(case.config.get("tools"))
        if "calls" in expected:
            calls = call_forms.expected_calls(expected["calls"])
            return SingleTurnReference(calls, tools=tools)
        if "actions" in expected:
            calls = call_forms.expected_actions(expected["actions"])
            return SingleTurnReference(
                calls, actions=True, tools=read_tools(case.config.get("tools"))
            )
        graph = read_graph(expected)
        if isinstance(graph, Malformed):
            raise DataError(
                "expected calls, actions, or nodes and edges; scenarios are scored by "
                "`callscore orchestration score`",
                field="expected_outcome",
            )
        return SingleTurnReference(graph=graph)

    def prompt(self, case: Case) -> Prompt:
        """The conversation with the tools, or the form of the reply if there are none."""
        transcript = case.transcript
        turns = (
            transcript
            if isinstance(transcript, str)
            else "\n".join(f"{turn.speaker or 'user'}: {turn.text}" for turn in transcript)
        )
        if "nodes" in case.expected_outcome:
            return Prompt((Message("system", _asked_as(GRAPH_FORM)), Message("user", turns)))
        tools = offered_tools(read_tools(case.config.get("tools")))
        system = CALL_TOOLS if tools else _asked_as(CALL_FORM)
        return Prompt((Message("system", system), Message("user", turns)), tools=tools)

    def outcome_keys(self) -> Sequence[str]:
        """The keys of the three forms of an expected outcome."""
        return ("calls", "actions", "nodes", "edges")

    def read(self, reference: SingleTurnReference, reply: Reply) -> SingleTurnOutput | Malformed:
        """The model's calls or graph, or why it is neither.

        Calls may be tool calls or text. Plain text makes no call if tools were offered.
        """
        if reply.tool_calls and reference.graph is None and is_finished(reply):
            named = calls_by_tool_name(reply.tool_calls, reference.tools)
            return _output(reference, *read_calls(named))
        parsed = read_object(reply, "fenced")
        if isinstance(parsed, Malformed):
            says_so = reference.tools and parsed.cause in _PLAIN_TEXT
            return SingleTurnOutput() if says_so else parsed
        if reference.graph is not None:
            graph = read_graph(parsed.value)
            return graph if isinstance(graph, Malformed) else SingleTurnOutput(graph=graph)
        found = call_forms.predicted_calls(parsed.value)
        if isinstance(found, Malformed):
            return found
        return _output(reference, *found)

    def count_items(self, case: Case) -> ItemCount:
        """Every value of the expected calls may need a judge."""
        expected = case.expected_outcome
        if "calls" not in expected and "actions" not in expected:
            return ItemCount(0, 0)
        return ItemCount(0, sum(1 for _ in _leaves(expected)))

    def answer_by_rules(self, prompt: Prompt) -> FakeReply:
        """One call of the tool that fits best, or a graph with one node."""
        from callscore.suites.orchestration.rules import answer_case

        is_graph = GRAPH_FORM in prompt.messages[0].content
        return answer_case(prompt.messages[1:], None if is_graph else prompt.tools)

    def degrade(self, outcome: JsonOutcome, noise: Noise) -> FakeReply | None:
        """Calls, actions or graphs with changed, missing and invented parts."""
        from callscore.suites.orchestration.noise import degrade_case

        degrade_case(outcome, noise)
        return None

    def ask(self, reference: SingleTurnReference, output: SingleTurnOutput) -> Sequence[Question]:
        """Argument values that only a judge can compare."""
        if reference.calls is None:
            return ()
        return self._compare_calls(reference, output, {}).undecided

    def measure(
        self,
        reference: SingleTurnReference,
        output: SingleTurnOutput | Malformed,
        verdicts: Verdicts,
    ) -> Measured:
        """Name, key and value F1, or node and edge F1 with the graph similarity."""
        slugs = CALL_SLUGS if reference.calls is not None else GRAPH_SLUGS
        if isinstance(output, Malformed):
            return Measured(_fill_slugs(dict.fromkeys(slugs, MALFORMED)), (output.cause,))
        if reference.calls is not None:
            return self._measure_calls(reference, output, verdicts)
        return _measure_graph(reference, output)

    def _compare_calls(
        self, reference: SingleTurnReference, output: SingleTurnOutput, verdicts: Verdicts
    ) -> CallScore:
        def ask(question: Question) -> Verdict | None:
            given = verdicts.get(Item(question.metric, question.item), ())
            return given[-1] if given else None

        due = reference.calls or ()
        return measure_calls(output.calls, due, output.malformed, reference.tools, ask)

    def _measure_calls(
        self, reference: SingleTurnReference, output: SingleTurnOutput, verdicts: Verdicts
    ) -> Measured:
        found = self._compare_calls(reference, output, verdicts)
        open_values = bool(found.undecided)
        exact = found.name == found.key == found.value == 1.0
        values = (found.name, found.key, found.value, float(exact))
        measures = dict(zip(CALL_SLUGS, map(_value, values), strict=True))
        for slug in CALL_SLUGS[2:]:
            measures[slug] = msgspec.structs.replace(measures[slug], approximate=open_values)
        return Measured(_fill_slugs(measures), ("undecided_values",) if open_values else ())


def _measure_graph(reference: SingleTurnReference, output: SingleTurnOutput) -> Measured:
    if reference.graph is None or output.graph is None:
        return Measured(_fill_slugs(dict.fromkeys(GRAPH_SLUGS, MALFORMED)), ("structure",))
    found = measure_graph(output.graph, reference.graph)
    values = (found.similarity, found.node_f1, found.edge_f1, float(found.exact))
    measures = {
        slug: msgspec.structs.replace(_value(value), approximate=found.lexical)
        for slug, value in zip(GRAPH_SLUGS, values, strict=True)
    }
    return Measured(_fill_slugs(measures), ("nodes_matched_by_words",) if found.lexical else ())


def _output(
    reference: SingleTurnReference, calls: Sequence[DecodedCall], malformed: Sequence[str]
) -> SingleTurnOutput:
    """The calls that are compared; in lists of actions, those that change something."""
    compared = call_forms.state_changing_calls(calls) if reference.actions else calls
    return SingleTurnOutput(tuple(compared), tuple(malformed))


def _asked_as(form: str) -> str:
    return f"Return one JSON object of the form {form}."


def _leaves(value: Any) -> Iterator[Any]:
    """Every value in an outcome that is neither list nor object."""
    if isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _leaves(inner)
    else:
        yield value


def _value(value: float) -> Measure:
    return Measure(value, value, 1.0)


def _fill_slugs(measures: Mapping[str, Measure]) -> Mapping[str, Measure]:
    """Every slug of the task; those of the other form do not apply."""
    found = {slug: measures.get(slug, _OTHER_FORM) for slug in (*CALL_SLUGS, *GRAPH_SLUGS)}
    return {**found, SCORE: _case_score(found)}


def _case_score(measures: Mapping[str, Measure]) -> Measure:
    """(name + key + value) / 3 for calls, the graph similarity for graphs        001 FC, C-117

    A malformed reply is a failed generation: it scores 0, like failed plans (C-118).
    """
    graph = measures[GRAPH_SLUGS[0]]
    parts = [graph] if graph is not _OTHER_FORM else [measures[slug] for slug in CALL_SLUGS[:3]]
    values = [part.value for part in parts if part.value is not None]
    if len(values) < len(parts):
        return _value(0.0)
    score = _value(math.fsum(values) / len(values))
    approximate = any(part.approximate for part in parts)
    return msgspec.structs.replace(score, approximate=approximate)
