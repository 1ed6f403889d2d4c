"""Parses plans: JSON or YAML, fenced or not, after a think block (C-118, Q5, Q9, Q12).

Invalid JSON and YAML are parsed leniently if possible; the plan lists the repairs (C-128).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from callscore.core.case import Malformed
from callscore.suites.orchestration.plan.lenient_json import (
    KINDS,
    read_lenient_json,
    strip_think_block,
)
from callscore.suites.orchestration.plan.model import PlannedStep, Workflow, WorkflowPlan
from callscore.suites.orchestration.yaml_text import read_strict

UNKNOWN_STATUS = "UNK"
MAX_FENCES = 8
TAB_WIDTH = 2
UNESCAPED_QUOTE, TABS = "unescaped_quote", "tabs"
READING_REPAIRS = (*KINDS, UNESCAPED_QUOTE, TABS)
"""Repairs that make a text JSON or YAML (C-128)."""

_FIRST_WORKFLOW_LINE = re.compile(r"^(?:(?!workflow_)\w)*+workflow_[\w-]*+\s*+:", re.MULTILINE)
_UNESCAPED_QUOTE = re.compile(r'^([^\S\n]*(?:- )?[\w-]+:[ \t]*)"(.*)"[ \t]*$', re.MULTILINE)
_CONTROL_ESCAPE = re.compile(r"_x[0-9A-Fa-f]{4}_")
_STATUS_SPELLINGS = {"canceled": "cancelled", "competed": "completed"}
_DECODER = json.JSONDecoder()


def read_plan(text: str) -> WorkflowPlan | Malformed:
    """The plan in the text, or why there is none."""
    answer = strip_think_block(text)
    if "workflow_" not in answer:
        return Malformed("no_plan", "the text names no workflow")
    why = Malformed("unreadable_plan", "no reading of the text is a plan")
    for read, candidate in _candidates(answer):
        try:
            value, repairs = read(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, Mapping) and any("workflow_" in str(key) for key in value):
            plan = plan_of(value, repairs)
            if isinstance(plan, WorkflowPlan):
                return plan
            why = plan
    return why


Read = Callable[[str], tuple[Any, tuple[str, ...]]]
"""Text → the parsed value, and the repairs that it needed."""


def _candidates(text: str) -> Iterator[tuple[Read, str]]:
    """Parts of the text that may be a plan, with their parsers: the strict ones first."""
    fenced = list(_fenced_blocks(text))
    braced = _texts_from_brace(text)
    bare = _FIRST_WORKFLOW_LINE.search(text)
    for body in fenced:
        yield (_read_json if body.startswith("{") else _read_yaml), body
    for body in braced:
        yield _read_json, body
    if bare is not None:
        yield _read_yaml, text[bare.start() :]
        yield _read_yaml_with_quotes, text[bare.start() :]
    for body in (*(body for body in fenced if body.startswith("{")), *braced):
        yield read_lenient_json, body
    for body in (*fenced, *([text[bare.start() :]] if bare is not None else ())):
        if "\t" in body:
            yield _read_yaml_with_tabs, body


def _texts_from_brace(text: str) -> list[str]:
    """The text from the first brace, and from the last brace before the first workflow."""
    first, nearest = text.find("{"), text.rfind("{", 0, text.find("workflow_"))
    return [text[place:] for place in dict.fromkeys((first, max(first, nearest))) if place >= 0]


def _fenced_blocks(text: str) -> Iterator[str]:
    parts = text.split("```", 2 * MAX_FENCES)
    for part in parts[1::2]:
        tag, _, body = part.partition("\n")
        yield (body if "{" not in tag and ":" not in tag else part.removeprefix("json")).strip()


def _read_json(text: str) -> tuple[Any, tuple[str, ...]]:
    return _DECODER.raw_decode(text)[0], ()


def _read_yaml(text: str) -> tuple[Any, tuple[str, ...]]:
    return read_strict(text), ()


def _read_yaml_with_quotes(text: str) -> tuple[Any, tuple[str, ...]]:
    return read_strict(_UNESCAPED_QUOTE.sub(_escape_quotes, text)), (UNESCAPED_QUOTE,)


def _read_yaml_with_tabs(text: str) -> tuple[Any, tuple[str, ...]]:
    return read_strict(text.expandtabs(TAB_WIDTH)), (TABS,)


def _escape_quotes(line: re.Match[str]) -> str:
    inside = re.sub(r'(?<!\\)"', r"\"", line.group(2))
    return f'{line.group(1)}"{inside}"'


def plan_of(value: Mapping[Any, Any], repairs: tuple[str, ...] = ()) -> WorkflowPlan | Malformed:
    """A decoded mapping as a plan; a wrong type anywhere makes the plan malformed (Q5)."""
    found: set[str] = set(repairs)
    workflows = []
    for name, attributes in value.items():
        if not isinstance(name, str) or "workflow" not in name:
            continue
        if not isinstance(attributes, Mapping):
            return Malformed("workflow_not_a_mapping", name)
        steps = _steps(attributes.get("steps"), found)
        if isinstance(steps, Malformed):
            return steps
        dependencies = _dependencies(attributes)
        if dependencies is None:
            return Malformed("dependencies_not_names", name)
        status = _status(attributes.get("status"), found)
        workflows.append(Workflow(name, steps, dependencies, status))
    return WorkflowPlan(tuple(workflows), tuple(sorted(found)))


def _steps(steps: Any, found: set[str]) -> tuple[PlannedStep, ...] | Malformed:
    if steps is None:
        return ()
    if not isinstance(steps, list):
        return Malformed("steps_not_a_list", type(steps).__name__)
    planned = []
    for step in steps:
        if not isinstance(step, Mapping):
            return Malformed("step_not_a_mapping", type(step).__name__)
        agent = step.get("agent_id") or step.get("name")
        if agent is None or agent == "":
            found.add("step_without_agent")
            continue
        if not isinstance(agent, str):
            return Malformed("agent_not_a_name", type(agent).__name__)
        query = step.get("refined_query")
        planned.append(
            PlannedStep(
                agent.strip(),
                _status(step.get("status"), found),
                query if isinstance(query, str) else "",
            )
        )
    return tuple(planned)


def _status(status: Any, found: set[str]) -> str:
    """The status in its usual spelling: lower case, `cancelled`, without typos of gold plans."""
    if status is None:
        return UNKNOWN_STATUS
    word = _CONTROL_ESCAPE.sub("", str(status)).strip().lower()
    spelling = _STATUS_SPELLINGS.get(word, word)
    if spelling != status:
        found.add("status_spelling")
    return spelling


def _dependencies(attributes: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The names in `depends_on` and `depend_on`: one or a list (Q1, Q9); None if it is neither."""
    names: list[str] = []
    for key in ("depends_on", "depend_on"):
        given = attributes.get(key)
        listed = [given] if isinstance(given, str) else given or []
        if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
            return None
        names += [name.strip() for name in listed if name.strip()]
    return tuple(dict.fromkeys(names))
