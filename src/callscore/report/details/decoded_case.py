"""A case as a report reads it: each reply parsed once, as far as it can be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.report.source import Answer, CaseView

LONGEST_DECODED = 2_000_000
"""A reply that is longer is shown as text only."""


class DecodedAnswer(msgspec.Struct, frozen=True):
    """An answer with its reply as JSON; None if it is no JSON object."""

    answer: Answer
    given: Mapping[str, Any] | None


class DecodedCase(msgspec.Struct, frozen=True):
    """A case with all its answers parsed."""

    view: CaseView
    answers: Sequence[DecodedAnswer]

    @property
    def expected(self) -> Mapping[str, Any]:
        """The expected outcome."""
        return self.view.case.expected_outcome

    @property
    def has_repeats(self) -> bool:
        """Whether a model answered more than once."""
        return any(decoded.answer.run > 1 for decoded in self.answers)

    @property
    def tags(self) -> Sequence[str]:
        """The case's tags as texts, whatever form they have."""
        found = self.view.case.tags
        if isinstance(found, str):
            return (found,)
        return tuple(map(str, found)) if isinstance(found, (list, tuple)) else ()


def has_reply(decoded: DecodedAnswer) -> bool:
    """Whether there was a reply, right or wrong."""
    return decoded.answer.result.status not in ("error", "not_run")


def decode_case(view: CaseView) -> DecodedCase:
    """Parse what every model answered."""
    return DecodedCase(
        view, [DecodedAnswer(answer, decode_reply(answer)) for answer in view.answers]
    )


def decode_reply(answer: Answer) -> Mapping[str, Any] | None:
    """The JSON object in a reply: the whole text, or from its first brace to its last."""
    if answer.given is not None:
        return answer.given
    raw = answer.text
    if raw is None or len(raw) > LONGEST_DECODED:
        return None
    found = _decode_object(raw)
    if found is None and "{" in raw:
        found = _decode_object(raw[raw.index("{") : raw.rfind("}") + 1])
    return found


def _decode_object(raw: str) -> Mapping[str, Any] | None:
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def as_objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of a list; nothing if the value is no list."""
    if isinstance(value, (list, tuple)):
        yield from (entry for entry in value if isinstance(entry, dict))


def as_mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_number(value: Any) -> float | None:
    """The value if it is a number, else None; true and false are no numbers."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number else None
