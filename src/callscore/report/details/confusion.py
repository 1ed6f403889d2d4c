"""Confusion matrices: expected and given labels, model by model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from callscore.report.details.decoded_case import DecodedCase, as_mapping, as_objects, has_reply

NO_LABEL = "(none)"
MAX_LABELS = 12
OTHER = "(other)"
CALL, NO_CALL, FAILED = "call", "no call", "failed"


class ConfusionMatrix:
    """Counts pairs of an expected and a given label."""

    def __init__(self, labels: Sequence[str] = ()) -> None:
        self._labels = dict.fromkeys(labels)
        self.models: dict[str, dict[tuple[str, str], int]] = {}

    @property
    def labels(self) -> Sequence[str]:
        """The labels in the order in which they were seen."""
        return tuple(self._labels)

    def add(self, model: str, expected: str, given: str) -> None:
        """Count one pair; labels beyond the first `MAX_LABELS` are counted as `OTHER`."""
        pair = (self._known_label(expected), self._known_label(given))
        counts = self.models.setdefault(model, {})
        counts[pair] = counts.get(pair, 0) + 1

    def _known_label(self, label: str) -> str:
        if label not in self._labels:
            if len(self._labels) >= MAX_LABELS:
                label = OTHER
            self._labels[label] = None
        return label


class SentimentConfusion(ConfusionMatrix):
    """Expected and given sentiment of each sentence."""

    def add_case(self, case: DecodedCase) -> None:
        """Count the sentences of one case."""
        expected = _labels(case.expected)
        if not expected:
            return
        for decoded in case.answers:
            if not has_reply(decoded):
                continue
            given = _labels(as_mapping(decoded.given))
            for sentence, label in expected.items():
                self.add(decoded.answer.model, label, given.get(sentence, NO_LABEL))


def _labels(outcome: Mapping[str, Any]) -> Mapping[str, str]:
    return {
        str(sentence.get("sentence_id")): str(sentence.get("label") or NO_LABEL)
        for sentence in as_objects(outcome.get("sentiment"))
    }


class CallDecisionConfusion(ConfusionMatrix):
    """Whether a tool had to be called, and whether it was."""

    def __init__(self) -> None:
        super().__init__((CALL, NO_CALL))

    def add_case(self, case: DecodedCase) -> None:
        """Count one case whose expected outcome lists calls, possibly none."""
        calls = case.expected.get("calls", case.expected.get("actions"))
        if not isinstance(calls, (list, tuple)):
            return
        expected = CALL if calls else NO_CALL
        for decoded in case.answers:
            if has_reply(decoded):
                self.add(
                    decoded.answer.model,
                    expected,
                    _decision(decoded.given, decoded.answer.tool_calls),
                )


def _decision(given: Mapping[str, Any] | None, tool_calls: Sequence[Any]) -> str:
    if tool_calls:
        return CALL
    if given is None:
        return FAILED
    calls = given.get("calls", given.get("actions"))
    if not isinstance(calls, (list, tuple)):
        return FAILED
    return CALL if calls else NO_CALL
