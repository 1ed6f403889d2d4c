"""What a scenario says about its conversation: the user's goal, and the expected end.

user:    {goal: text, facts: [text] or {name: text}}
expect:  a list of
         {called: TOOL, arguments: {…}}              it was called so, and returned no error
         {not_called: TOOL, arguments: {…}}          it was not
         {said: text or [text]}                      the agent said one of these
         {tool: TOOL, arguments: {…}, result: {…}}   asked after the end, the tool returns this
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from callscore.core.errors import DataError

FactKind = Literal["called", "not_called", "said", "tool"]
_KEYS: Mapping[FactKind, frozenset[str]] = {
    "called": frozenset({"called", "arguments"}),
    "not_called": frozenset({"not_called", "arguments"}),
    "said": frozenset({"said"}),
    "tool": frozenset({"tool", "arguments", "result"}),
}
_FORMS = (
    "expected {called: TOOL, arguments}, {not_called: TOOL, arguments}, {said: text}, or "
    "{tool: TOOL, arguments, result}"
)


class ExpectedFact(msgspec.Struct, frozen=True):
    """One fact that must hold when the conversation has ended."""

    kind: FactKind
    tool: str = ""
    arguments: Mapping[str, Any] = {}
    """The arguments that count; others may have any value."""
    texts: tuple[str, ...] = ()
    """Of `said`: the accepted texts."""
    result: Any = None

    def __str__(self) -> str:
        if self.kind == "said":
            return f"said {' or '.join(map(repr, self.texts))}"
        given = ", ".join(f"{key}={value!r}" for key, value in self.arguments.items())
        shown = f"{self.kind.replace('_', ' ')} {self.tool}({given})"
        return f"{shown} = {self.result!r}" if self.kind == "tool" else shown


class Ending(msgspec.Struct, frozen=True):
    """The goal of the user, the facts that the user may reveal, and the expected end."""

    facts: tuple[ExpectedFact, ...] = ()
    goal: str = ""
    known: tuple[str, ...] = ()


NO_ENDING = Ending()


def read_ending(value: Mapping[str, Any]) -> Ending:
    """`user` and `expect` of a decoded scenario file; raises DataError with the field."""
    goal, known = _user(value.get("user"))
    expected = value.get("expect")
    if expected is None:
        return Ending((), goal, known)
    if not isinstance(expected, list) or not expected:
        raise DataError(f"expected a list of facts; {_FORMS}", field="expect")
    return Ending(tuple(_fact(entry, at) for at, entry in enumerate(expected)), goal, known)


def _user(user: Any) -> tuple[str, tuple[str, ...]]:
    if user is None:
        return "", ()
    if not isinstance(user, Mapping) or user.keys() - {"goal", "facts"}:
        raise DataError("expected goal and facts", field="user")
    goal, facts = user.get("goal"), user.get("facts", [])
    if not isinstance(goal, str) or not goal.strip():
        raise DataError("expected the goal of the user, as text", field="user.goal")
    if isinstance(facts, Mapping):
        facts = [f"{name}: {fact}" for name, fact in facts.items()]
    if not isinstance(facts, list) or not all(isinstance(fact, str) for fact in facts):
        raise DataError("expected texts, as a list or by name", field="user.facts")
    return goal, tuple(facts)


def _fact(entry: Any, at: int) -> ExpectedFact:
    where = f"expect[{at}]"
    kinds: Sequence[FactKind] = [
        kind for kind in _KEYS if isinstance(entry, Mapping) and kind in entry
    ]
    if len(kinds) != 1 or entry.keys() - _KEYS[kinds[0]]:
        raise DataError(_FORMS, field=where)
    kind = kinds[0]
    if kind == "said":
        texts = entry["said"] if isinstance(entry["said"], list) else [entry["said"]]
        if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
            raise DataError("expected a text, or a list of accepted ones", field=f"{where}.said")
        return ExpectedFact(kind, texts=tuple(texts))
    tool, arguments = entry[kind], entry.get("arguments", {})
    if not isinstance(tool, str) or not tool:
        raise DataError("expected the name of a tool", field=f"{where}.{kind}")
    if not isinstance(arguments, Mapping):
        raise DataError("expected an object", field=f"{where}.arguments")
    if kind == "tool" and "result" not in entry:
        raise DataError("missing; expected what the tool returns", field=f"{where}.result")
    return ExpectedFact(kind, tool, arguments, result=entry.get("result"))
