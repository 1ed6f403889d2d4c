"""Where the replies to a case come from: outputs files, indexed once, or the case itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.case import Case, Failed, Reply
from callscore.core.errors import DataError, UsageError
from callscore.evaluate.cases import position_of, unknown_case
from callscore.store.files import Line, LinesByKey, blocks_of, lines_in, lines_of, with_line_number
from callscore.store.input_records import (
    OutputRecord,
    read_output,
    read_output_head,
    read_output_heads,
    reply_of,
    run_of,
)

EMBEDDED_MODEL = "model_output"
"""The name under which an output embedded in a case is scored."""

CaseReplies = Mapping[str, Mapping[int, Reply | Failed]]
"""By model, then by run."""


class ReplySource(Protocol):
    """Provides the replies of the models; a run has one that reads its journal."""

    @property
    def models(self) -> Sequence[str]:
        """The names of the models."""
        ...

    @property
    def labels(self) -> Mapping[str, str]:
        """The label of a provider that is not a real model."""
        ...

    def replies(self, position: int, case: Case) -> CaseReplies:
        """Every reply to a case; `position` is its number among all cases."""
        ...

    def between(self, first: int, end: int) -> ReplySource:
        """The replies to the cases from position `first` to before `end`, for another process."""
        ...

    def close(self) -> None:
        """Close files."""
        ...


class RepliesInMemory(msgspec.Struct, frozen=True):
    """The replies to some cases, for another process that scores them."""

    models: Sequence[str]
    labels: Mapping[str, str]
    found: Mapping[str, CaseReplies]
    """By the id of the case."""

    def replies(self, position: int, case: Case) -> CaseReplies:
        """Every reply to a case."""
        return self.found.get(case.id, {})

    def between(self, first: int, end: int) -> RepliesInMemory:
        """The same: it has no more than the cases of one process."""
        return self

    def close(self) -> None:
        """Do nothing: no file is open."""


class EmbeddedReplies:
    """Replies embedded in the cases."""

    models: Sequence[str] = (EMBEDDED_MODEL,)
    labels: Mapping[str, str] = {}

    def between(self, first: int, end: int) -> EmbeddedReplies:
        """The same: every case has its own reply."""
        return self

    def replies(self, position: int, case: Case) -> CaseReplies:
        """The `model_output` of the case."""
        if case.model_output is None:
            return {}
        text = case.model_output
        return {
            EMBEDDED_MODEL: {1: Reply(text if isinstance(text, str) else msgspec.json.encode(text))}
        }

    def close(self) -> None:
        """Nothing to close."""


class RecordedReplies:
    """Outputs in files, indexed by the position of their case."""

    labels: Mapping[str, str] = {}

    def __init__(self, lines: LinesByKey, models: Sequence[str]) -> None:
        self._lines = lines
        self.models = models

    def between(self, first: int, end: int) -> RecordedReplies:
        """The outputs for the cases from position `first` to before `end`."""
        return RecordedReplies(self._lines.between(first, end), self.models)

    def held(self) -> RecordedReplies:
        """The same outputs in memory, for a machine without the files."""
        return RecordedReplies(self._lines.held(), self.models)

    def replies(self, position: int, case: Case) -> CaseReplies:
        """Every recorded output for the case; the same model and run twice is an error."""
        found: dict[str, dict[int, Reply | Failed]] = {}
        for line in self._lines.lines(position):
            record = read_output(line)
            if record.case_id != case.id:  # two ids with the same hash
                raise unknown_case(record.case_id, with_line_number(line))
            run = run_of(record)
            runs = found.get(record.model)
            if runs is None:
                found[record.model] = {run: reply_of(record)}
            elif run in runs:
                raise duplicate_output(record, line)
            else:
                runs[run] = reply_of(record)
        return found

    def close(self) -> None:
        """Close the files."""
        self._lines.close()


def duplicate_output(record: OutputRecord, line: Line) -> DataError:
    """The error for a second line of the same case, model and run."""
    return DataError(
        f"model {record.model!r}, run {run_of(record)} appears twice; expected one line each",
        field="case_id",
        case_id=record.case_id,
        place=with_line_number(line).place,
    )


def open_replies(config: ScoreConfig, ids: Mapping[str, int]) -> RecordedReplies | EmbeddedReplies:
    """The replies in the outputs files; without such a file, those in the cases."""
    if not config.outputs:
        return _open_embedded(config)
    lines = LinesByKey(config.outputs)
    models: set[str] = set()
    for block in blocks_of(config.outputs):
        heads = read_output_heads(block.lines)
        keys = [ids.get(head.case_id, -1) for head in heads]
        if keys and -1 not in keys:
            lines.add_block(keys, block)
            models.update([head.model for head in heads])
            continue
        for line in lines_in(block):
            head = read_output_head(line)
            models.add(head.model)
            lines.add(position_of(ids, head.case_id, line), line)
    if not models:
        raise UsageError(f"{', '.join(map(str, config.outputs))}: contains no output")
    return RecordedReplies(lines, sorted(models))


def _open_embedded(config: ScoreConfig) -> EmbeddedReplies:
    if not any(b'"model_output"' in line.raw for line in lines_of(config.case_sources)):
        raise UsageError(
            "no outputs to score; expected --outputs with a file, or cases with `model_output`"
        )
    return EmbeddedReplies()
