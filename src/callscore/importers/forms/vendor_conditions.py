"""Conditions of questions in forms of Amazon Connect and Genesys Cloud.

A condition that cannot be read is never dropped in silence: a note of the form names it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.metrics.forms.form import Condition

_PREDICATE = re.compile(
    r"(?:/?form/questionGroup/(?P<group>\d+)|\.\.)/question/(?P<question>\d+)/answer/(?P<answer>\d+)/?"
)


class UnreadableCondition(ValueError):
    """A condition has a part that this module does not know."""


class Position(msgspec.Struct, frozen=True):
    """The question at a place of a form, and the ids of its options in order."""

    question_id: str
    options: Sequence[str]


def read_condition(
    condition: Condition | str | None, what: str, notes: list[str]
) -> Condition | None:
    """The condition; None with a note if it is a text that says why it cannot be read."""
    if isinstance(condition, str):
        notes.append(
            f"{what}: its condition cannot be read ({condition}); it is asked on every call"
        )
        return None
    return condition


def genesys_condition(
    value: Mapping[str, Any] | None,
    group: int | None,
    positions: Mapping[tuple[int, int], Position],
) -> Condition | str | None:
    """The condition of a question or group, from predicates with zero-based indexes.

    `group` is the one that relative paths (`../question/0/answer/1`) begin in.
    """
    predicates = (value or {}).get("predicates")
    if not value or predicates in (None, []):
        return None
    operation = value.get("combiningOperation") or "AND"
    if not isinstance(predicates, list) or operation not in ("AND", "OR"):
        return f"{operation!r} of {predicates!r}"
    parts: list[Condition] = []
    for predicate in predicates:
        match = _PREDICATE.fullmatch(predicate.strip()) if isinstance(predicate, str) else None
        at = None if match is None else match["group"] if match["group"] is not None else group
        if match is None or at is None:
            return repr(predicate)
        found = positions.get((int(at), int(match["question"])))
        answer = int(match["answer"])
        if found is None or answer >= len(found.options):
            return f"{predicate!r} names an answer that the form does not have"
        parts.append(Condition(found.question_id, [found.options[answer]]))
    return _join(parts, operation)


def amazon_condition(enablement: Mapping[str, Any] | None) -> Condition | str | None:
    """The condition of a question from its `Enablement`: nested operands, AND and OR, DISABLE."""
    condition = (enablement or {}).get("Condition")
    if enablement is None or condition is None:
        return None
    action = enablement.get("Action", "ENABLE")
    if action == enablement.get("DefaultAction"):
        return f"Action and DefaultAction are both {action!r}"
    try:
        found = _amazon_part(condition)
    except UnreadableCondition as error:
        return str(error)
    if action == "DISABLE":
        return msgspec.structs.replace(found, negated=not found.negated)
    return found if action == "ENABLE" else f"Action {action!r}"


def _amazon_part(condition: Any) -> Condition:
    operands = condition.get("Operands") if isinstance(condition, dict) else None
    if not isinstance(operands, list) or not operands:
        raise UnreadableCondition(f"Operands {operands!r}")
    operator = condition.get("Operator", "AND" if len(operands) == 1 else None)
    if operator not in ("AND", "OR"):
        raise UnreadableCondition(f"Operator {operator!r}")
    return _join([_amazon_operand(one) for one in operands], operator)


def _amazon_operand(operand: Any) -> Condition:
    if not isinstance(operand, dict):
        raise UnreadableCondition(f"operand {operand!r}")
    if "Condition" in operand:
        return _amazon_part(operand["Condition"])
    expression = operand.get("Expression", operand)
    source = expression.get("Source") if isinstance(expression, dict) else None
    values = expression.get("Values") if isinstance(expression, dict) else None
    if not isinstance(source, dict) or not source.get("RefId") or not isinstance(values, list):
        raise UnreadableCondition(f"expression {expression!r}")
    answers = [str(one.get("RefId") or one.get("Value")) for one in values if isinstance(one, dict)]
    comparator = expression.get("Comparator", "IN")
    one_of_one = comparator in ("ALL_IN", "EXACT") and len(answers) == 1
    if not answers or (comparator not in ("IN", "NOT_IN") and not one_of_one):
        raise UnreadableCondition(f"Comparator {comparator!r} of {len(answers)} values")
    return Condition(str(source["RefId"]), answers, negated=comparator == "NOT_IN")


def _join(parts: Sequence[Condition], operation: str) -> Condition:
    if len(parts) == 1:
        return parts[0]
    return Condition(all_of=parts) if operation == "AND" else Condition(any_of=parts)


def join_conditions(*conditions: Condition | None) -> Condition | None:
    """All conditions together; None if there is none."""
    given = [one for one in conditions if one is not None]
    return _join(given, "AND") if given else None
