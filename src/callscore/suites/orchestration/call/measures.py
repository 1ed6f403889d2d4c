"""Name, key and value F1 of one step where a call was due        001 FC, C-115"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from unicodedata import normalize

from callscore.core.case import Tool
from callscore.core.judging import Question, Verdict
from callscore.metrics.classification import Counts, f1_or_one, multiset_counts
from callscore.metrics.graphs.assignment import Assignment
from callscore.suites.orchestration.call.compare import AcceptedValues, Match, compare
from callscore.suites.orchestration.call.questions import DIFFERENT, METRIC, SAME, same_meaning
from callscore.suites.orchestration.call.schema import Difference, schema_violations
from callscore.suites.orchestration.scenario.cards import argument_schema
from callscore.suites.orchestration.scenario.model import DecodedCall

EqualValues = Callable[[DecodedCall, DecodedCall], int]
"""Predicted and expected call → the number of arguments with equal values."""


class CallPair(NamedTuple):
    """A predicted call and the expected one; one of them is None if the other has no partner."""

    predicted: DecodedCall | None
    expected: DecodedCall | None


def pair_calls(
    predicted: Sequence[DecodedCall], expected: Sequence[DecodedCall], equal_values: EqualValues
) -> list[CallPair]:
    """Maximise equal names, then shared keys, then equal values, over all pairs        C-115

    Values only break ties, as between five calls of one tool. Pairs are in the order of the
    expected calls, followed by surplus predictions.
    """
    if len(predicted) == len(expected) == 1:
        return [CallPair(predicted[0], expected[0])]
    weights = _weights(predicted, expected, equal_values)
    partner = _assign(weights, len(predicted), len(expected))
    pairs = [
        CallPair(predicted[partner[j]] if j in partner else None, call)
        for j, call in enumerate(expected)
    ]
    taken = set(partner.values())
    return pairs + [CallPair(call, None) for i, call in enumerate(predicted) if i not in taken]


def _weights(
    predicted: Sequence[DecodedCall], expected: Sequence[DecodedCall], equal_values: EqualValues
) -> list[list[int]]:
    """One integer per pair, scaled so that a name outweighs all keys, and a key all values."""
    scale = 1 + sum(len(call.arguments) for call in expected)
    return [
        [
            scale * (scale * (call.name == due.name) + len(call.arguments.keys() & due.arguments))
            + equal_values(call, due)
            for due in expected
        ]
        for call in predicted
    ]


def _assign(weights: list[list[int]], rows: int, columns: int) -> dict[int, int]:
    """The pairing with the greatest total weight: expected index → predicted index."""
    size = max(rows, columns)
    padded = [row + [0] * (size - columns) for row in weights]
    assignment = Assignment(padded + [[0] * size for _ in range(size - rows)])
    assignment.settle(0)
    partners = {assignment.column_of[row]: row for row in range(rows)}
    return {column: row for column, row in partners.items() if column < columns}


Tools = Mapping[str, Tool]
Ask = Callable[[Question], Verdict | None]
"""A question → its verdict, or None."""
_BY_CODE = Verdict(METRIC, "", DIFFERENT)


class CallScore(NamedTuple):
    """The three F1 scores of a step, the undecided values, and the differences."""

    name: float
    key: float
    value: float
    undecided: tuple[Question, ...] = ()
    differences: tuple[Difference, ...] = ()
    gain: float = 0.0
    """How much higher `value` would be if the undecided values were right        C-141"""

    @property
    def value_at_best(self) -> float:
        """The F1 of values as if the undecided ones were right        C-141"""
        return self.value + self.gain


NO_CALL = CallScore(0.0, 0.0, 0.0)
"""The score of a step where a call was due and none was made        C-115"""


class _ValueComparison(NamedTuple):
    """The values of all paired calls compared: number of equal ones, questions, differences."""

    equal: int
    open: int
    """Undecided values that do not count as equal."""
    undecided: list[Question]
    differences: list[Difference]


def measure_calls(
    predicted: Sequence[DecodedCall],
    expected: Sequence[DecodedCall],
    malformed: Sequence[str],
    tools: Tools,
    ask: Ask,
) -> CallScore:
    """F1 of names, of keys and of (key, value) pairs, over paired calls        001 FC, C-115

    A malformed call among well-formed ones counts as one more predicted name. Without a call on
    one side there is nothing to compare: no arguments are then no agreement.
    """
    predicted, expected = _composed(predicted), _composed(expected)
    paired = pair_calls(predicted, expected, lambda mine, due: _equal_values(mine, due, tools))
    pairs = [_without_omitted(pair) for pair in paired]
    names = [*(call.name for call in predicted), *malformed]
    if bool(predicted) != bool(expected):
        return NO_CALL._replace(differences=tuple(_name_differences(pairs)))
    keys = key_counts(pairs)
    values = _compare_values(pairs, tools, ask)
    unequal = keys.tp - values.equal
    wrong = unequal - values.open
    value = f1_or_one(Counts(values.equal, keys.fp + unequal, keys.fn + unequal))
    at_best = f1_or_one(Counts(values.equal + values.open, keys.fp + wrong, keys.fn + wrong))
    return CallScore(
        name=f1_or_one(multiset_counts((call.name for call in expected), names)),
        key=f1_or_one(keys),
        value=value,
        undecided=tuple(values.undecided),
        differences=(
            *_name_differences(pairs),
            *values.differences,
            *schema_violations(predicted, expected, tools),
        ),
        gain=at_best - value,
    )


def _composed(calls: Sequence[DecodedCall]) -> Sequence[DecodedCall]:
    """The calls with names and argument keys as NFC: equal letters are equal        C-115"""
    return [
        call
        if call.name.isascii() and all(key.isascii() for key in call.arguments)
        else DecodedCall(
            normalize("NFC", call.name),
            {normalize("NFC", key): value for key, value in call.arguments.items()},
        )
        for call in calls
    ]


def _without_omitted(pair: CallPair) -> CallPair:
    """The pair without optional arguments that the prediction left out."""
    mine, due = pair
    if due is None or not any(
        isinstance(value, AcceptedValues) for value in due.arguments.values()
    ):
        return pair
    given = mine.arguments if mine is not None else {}
    kept = {
        key: value
        for key, value in due.arguments.items()
        if key in given or not (isinstance(value, AcceptedValues) and value.optional)
    }
    return CallPair(mine, DecodedCall(due.name, kept))


def key_counts(pairs: Sequence[CallPair]) -> Counts:
    """Argument keys, call by call        C-115"""
    shared = predicted = expected = 0
    for mine, due in pairs:
        predicted += len(mine.arguments) if mine else 0
        expected += len(due.arguments) if due else 0
        if mine and due:
            shared += len(mine.arguments.keys() & due.arguments.keys())
    return Counts(shared, predicted - shared, expected - shared)


def _equal_values(mine: DecodedCall, due: DecodedCall, tools: Tools) -> int:
    tool = tools.get(due.name)
    return sum(
        compare(mine.arguments[key], due.arguments[key], argument_schema(tool, key)) is Match.EQUAL
        for key in due.arguments
        if key in mine.arguments
    )


def _compare_values(pairs: Sequence[CallPair], tools: Tools, ask: Ask) -> _ValueComparison:
    """Compare the arguments that both calls of a pair have, by code or by a verdict."""
    equal = open_values = 0
    undecided: list[Question] = []
    differences: list[Difference] = []
    for place, (mine, due) in enumerate(pairs):
        if mine is None or due is None:
            continue
        differences += _key_differences(place, mine, due)
        tool = tools.get(due.name)
        for key in due.arguments:
            if key not in mine.arguments:
                continue
            given, wanted = mine.arguments[key], due.arguments[key]
            match = compare(given, wanted, argument_schema(tool, key))
            if match is Match.EQUAL:
                equal += 1
                continue
            question = same_meaning(
                f"calls[{place}].{key}", _display_text(given), _display_text(wanted)
            )
            verdict = ask(question) if match is Match.OPEN else _BY_CODE
            decided = _is_decided(verdict)
            undecided += [] if decided else [question]
            if verdict is not None and verdict.verdict == SAME:
                equal += 1
            else:
                open_values += not decided
                differences.append(_value_difference(question, decided=decided))
    return _ValueComparison(equal, open_values, undecided, differences)


def _is_decided(verdict: Verdict | None) -> bool:
    """Whether the verdict is final; an approximate one leaves the value open        C-115, C-125"""
    return verdict is not None and verdict.verdict in (SAME, DIFFERENT) and not verdict.approximate


def _value_difference(question: Question, *, decided: bool) -> Difference:
    detail = f"{question.item}: {question.text[:80]!r} for {question.reference[:80]!r}"
    return Difference("wrong_value" if decided else "undecided_value", detail)


def _display_text(value: Any) -> str:
    if isinstance(value, AcceptedValues):
        return " | ".join(_display_text(alternative) for alternative in value.values)
    return value if isinstance(value, str) else repr(value)


def _name_differences(pairs: Sequence[CallPair]) -> list[Difference]:
    differences = []
    for mine, due in pairs:
        if mine is None and due is not None:
            differences.append(Difference("missing_call", due.name))
        elif due is None and mine is not None:
            differences.append(Difference("surplus_call", mine.name))
        elif mine is not None and due is not None and mine.name != due.name:
            differences.append(Difference("wrong_tool", f"{mine.name} for {due.name}"))
    return differences


def _key_differences(place: int, mine: DecodedCall, due: DecodedCall) -> list[Difference]:
    missing = [k for k in due.arguments if k not in mine.arguments]
    surplus = [k for k in mine.arguments if k not in due.arguments]
    return [Difference("missing_argument", f"calls[{place}].{key}") for key in missing] + [
        Difference("surplus_argument", f"calls[{place}].{key}") for key in surplus
    ]
