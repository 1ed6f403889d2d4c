"""Labels by people: questions about a call, their answers, and the cells of the files they edit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from callscore.core.case import JsonObject, Turn
from callscore.core.errors import UsageError


class CallTranscript(msgspec.Struct, frozen=True):
    """A call to label: one line of a file that `callscore import` writes."""

    id: str
    transcript: str | Sequence[Turn]
    call_id: str | None = None
    lang: str | None = None
    provenance: Any = None
    recording: Any = None
    """What it was read from, if it is a file of its own: a scenario."""

    @property
    def name(self) -> str:
        """The id of the call."""
        return self.call_id or self.id


class LabelItem(msgspec.Struct, frozen=True):
    """One question to a person about one call."""

    call_id: str
    part: str
    item: str
    question: str
    options: Sequence[str] = ()
    """The allowed answers; empty if any text is allowed."""
    required: bool = True
    text: str = ""
    """The part of the transcript that the question is about."""
    asks_reason: bool = False
    """Whether the person is also asked for a reason."""
    section: str = ""
    """The part of the form that the question belongs to."""
    help: str = ""
    """What the person has to know besides the question."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Identifies the item in a filled-in sheet."""
        return self.call_id, self.part, self.item


class Label(msgspec.Struct, frozen=True):
    """The answer of a person to one item."""

    answer: str
    comment: str = ""
    place: str = ""
    """The file and row that it was read from."""


CallLabels = Mapping[tuple[str, str], Label]
"""The labels of one call, by part and item."""


class Labelling(Protocol):
    """How people label the cases of one task."""

    accepts_form: bool
    """Whether a QA form can be the config of the cases (`--form`)."""
    requires: str
    """What the config or the transcript must have, as error messages name it."""

    def items(self, call: CallTranscript, config: JsonObject) -> Iterable[LabelItem]:
        """The questions about a call; none if the config defines none."""
        ...

    def expected_outcome(
        self, call: CallTranscript, labels: CallLabels, config: JsonObject
    ) -> Mapping[str, Any]:
        """The expected outcome of the case; every required item has a label.

        Raises DataError if an answer has the wrong form.
        """
        ...


@runtime_checkable
class FileLabelling(Labelling, Protocol):
    """How people label files, each of which is written again: the expected steps of scenarios."""

    def read_call(self, name: str, text: str) -> CallTranscript:
        """A file as a call; raises DataError."""
        ...

    def expected_outcome(
        self, call: CallTranscript, labels: CallLabels, config: JsonObject
    ) -> Mapping[str, Any]:
        """The value of the file with the answers of people."""
        ...


class NoLabelling(UsageError):
    """The cases of a task cannot be labelled by people."""

    def __init__(self, task: str) -> None:
        super().__init__(
            f"cases of the task {task!r} cannot be labelled: it has no `labelling`; expected "
            "another task"
        )


_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "'", "＝", "＋", "－", "＠")
"""First characters of a cell that a spreadsheet may execute, or that look like our escape."""


def escape_formula(value: object) -> str:
    """The cell of a value, with an apostrophe in front if a spreadsheet might execute it."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_STARTS) else text


def unescape_formula(cell: str) -> str:
    """The text that `escape_formula` has written."""
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(_STARTS) else cell
