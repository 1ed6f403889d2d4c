"""A case with the JSON objects in its replies, each decoded once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.report.source import Answer, CaseView

MAX_DECODED_LENGTH = 2_000_000
"""A longer reply is shown as text only."""


class DecodedAnswer(msgspec.Struct, frozen=True):
    """An answer and the JSON object in its reply; None if there is none."""

    answer: Answer
    given: Mapping[str, Any] | None


class DecodedCase(msgspec.Struct, frozen=True):
    """A case with its decoded answers."""

    view: CaseView
    answers: Sequence[DecodedAnswer]

    @property
    def expected(self) -> Mapping[str, Any]:
        """The expected outcome."""
        return self.view.case.expected_outcome

    @property
    def has_repeats(self) -> bool:
        """Whether a model was asked more than once."""
        return any(decoded.answer.run > 1 for decoded in self.answers)

    @property
    def tags(self) -> Sequence[str]:
        """The tags of the case as texts; none if they have an unknown form."""
        tags = self.view.case.tags
        if isinstance(tags, str):
            return (tags,)
        return tuple(map(str, tags)) if isinstance(tags, (list, tuple)) else ()


def has_reply(decoded: DecodedAnswer) -> bool:
    """Whether there was a reply, valid or not."""
    return decoded.answer.result.status not in ("error", "not_run")


def decode_case(view: CaseView) -> DecodedCase:
    """Decode the replies of all models to a case."""
    return DecodedCase(
        view, [DecodedAnswer(answer, decode_reply(answer)) for answer in view.answers]
    )


def decode_reply(answer: Answer) -> Mapping[str, Any] | None:
    """Return the JSON object in a reply: the whole text, or from its first brace to its last."""
    if answer.given is not None:
        return answer.given
    raw = answer.text
    if raw is None or len(raw) > MAX_DECODED_LENGTH:
        return None
    decoded = _decode_object(raw)
    if decoded is None and "{" in raw:
        decoded = _decode_object(raw[raw.index("{") : raw.rfind("}") + 1])
    return decoded


def _decode_object(raw: str) -> Mapping[str, Any] | None:
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def as_objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in a list; nothing if the value is not a list."""
    if isinstance(value, (list, tuple)):
        yield from (entry for entry in value if isinstance(entry, dict))


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_number(value: Any) -> float | None:
    """Return the value if it is a number, else None; true and false are not numbers."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number else None
