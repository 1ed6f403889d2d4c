"""Prints and writes scorecards, for all commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from callscore.cli.console import terminal_width
from callscore.core.errors import Inconclusive, UsageError
from callscore.core.scorecard import Scorecard
from callscore.report.json import scorecard_json
from callscore.report.safe_text import sanitize
from callscore.store.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from callscore.config.score import ScoreConfig
    from callscore.core.scorecard import Scorecard
    from callscore.evaluate.scorer import OnCase
    from callscore.report.layout import Line, StyledText
    from callscore.report.source import CaseView
    from callscore.store.files import Source

STANDARD_OUTPUT = Path("-")
PIPE_WIDTH = 200
COLOURS = ("green", "yellow", "red")


def path_unless_stdout(target: Path | None) -> Path | None:
    """The target; None if it is stdout."""
    return None if target == STANDARD_OUTPUT else target


def show_scorecard(
    card: Scorecard,
    title: str,
    json_file: Path | None,
    form: FormSummary,
    *,
    all_rows: bool = False,
) -> None:
    """Write the JSON if requested; print the card unless the JSON goes to stdout."""
    write_scorecard(card, json_file)
    if json_file != STANDARD_OUTPUT:
        print_card(card, title, all_rows=all_rows, form=form)


def write_scorecard(card: Scorecard, json_file: Path | None) -> None:
    """Write the JSON if requested: to a file, or to stdout."""
    if json_file is not None:
        write_bytes(json_file, scorecard_json(card))


def write_bytes(target: Path, content: bytes) -> None:
    """Write a whole file, or to stdout."""
    write_parts(target, [content])


def write_parts(target: Path, parts: Iterable[bytes]) -> None:
    """Write a whole file in parts, or to stdout."""
    if target == STANDARD_OUTPUT:
        sys.stdout.buffer.writelines(parts)
        return
    with atomic_write(target) as file:
        file.writelines(parts)


def print_card(
    card: Scorecard,
    title: str,
    *,
    all_rows: bool = False,
    repeat_decision: bool = True,
    form: FormSummary | None = None,
) -> None:
    """Print the scorecard; the decision in words opens and closes it.

    `form` has the QA form of the data, if there is one.
    """
    from callscore.report.decision_statements import describe_estimate
    from callscore.report.numbers import show_count
    from callscore.report.terminal import decision_lines, scorecard_lines
    from callscore.suites.registry import template_of

    if card.estimate:
        title = f"{describe_estimate(card).partition(':')[0].lower()} · {title}"
    if card.skipped_cases:
        title += f" · {show_count(card.skipped_cases, 'unusable case')} skipped"
    width = _width()
    below = list(form.lines(card, width)) if form is not None else []
    _print(
        scorecard_lines(
            card,
            template_of(card),
            title,
            width,
            all_rows=all_rows,
            repeat_decision=repeat_decision and not below,
        )
    )
    if below:
        _print([*below, [], *(decision_lines(card, width) if repeat_decision else ())])


def print_verdict(card: Scorecard) -> None:
    """Print the decision in words only."""
    from callscore.report.terminal import decision_lines

    _print(decision_lines(card, _width()))


def print_lines(lines_for: Callable[[int], Iterable[Line]]) -> None:
    """Print lines that are made for the width of the terminal."""
    _print(lines_for(_width()))


def _print(lines: Iterable[Line]) -> None:
    has_colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    shown = _style if has_colours else _plain
    click.echo("\n".join("".join(map(shown, line)).rstrip() for line in lines))


def _width() -> int:
    """The width of the terminal, or COLUMNS; a default that is wide enough for files."""
    return terminal_width(sys.stdout) or PIPE_WIDTH


def _plain(piece: StyledText) -> str:
    return sanitize(piece.text)


def _style(piece: StyledText) -> str:
    """A piece with the terminal's control sequences; its text has none."""
    words, text = piece.style.split(), sanitize(piece.text)
    if not words or not text.strip():
        return text
    colour = next((word for word in words if word in COLOURS), None)
    # None, not False: "not dim" is the same sequence as "not bold", and would undo that.
    return click.style(text, fg=colour, bold="bold" in words or None, dim="dim" in words or None)


def require_verdicts(card: Scorecard) -> None:
    """Raise Inconclusive if a judge was asked and gave no usable verdict at all."""
    judging = card.judging
    if judging is not None and judging.is_silent:
        raise Inconclusive(
            f"the judge gave no usable verdict ({judging.items} asked for); the notes say why"
        )


def require_complete(card: Scorecard) -> None:
    """Raise Inconclusive if a requested score has no conclusive result."""
    unfinished = [
        f"{model.model}: {task} {score.status}"
        for model in card.models
        for task, score in model.tasks.items()
        if score.status in ("incomplete", "error", "not_run")
    ]
    unfinished += [
        f"{model.model}: {task} depends on estimates of {', '.join(score.undecided_gates)}"
        for model in card.models
        for task, score in model.tasks.items()
        if score.status == "valid" and score.undecided_gates
    ]
    if unfinished:
        raise Inconclusive("not complete: " + "; ".join(unfinished))


FIRST_BYTES = 1 << 20


class FormSummary:
    """Counts the marks of all models; nothing unless a case file has an imported form."""

    def __init__(self, scoring: ScoreConfig) -> None:
        self._has_form = any(map(_has_form, scoring.case_sources))
        if self._has_form:
            from callscore.report.details.form_agreement import FormTotals, QuestionCounter

            settings = msgspec.to_builtins(scoring.checked_settings()) | dict(scoring.settings)
            self._totals, self._questions = FormTotals(), QuestionCounter(settings)

    def counting(self, other: OnCase | None = None) -> OnCase | None:
        """What receives every case that is scored: the counter, and `other`."""
        if not self._has_form:
            return other

        def count(view: CaseView) -> None:
            if other is not None:
                other(view)
            self._add(view)

        return count

    def add_all(self, cases: Iterable[CaseView]) -> None:
        """Count the cases of a report."""
        for view in cases if self._has_form else ():
            self._add(view)

    def _add(self, view: CaseView) -> None:
        from callscore.report.details.decoded_case import decode_case

        if "questions" in view.case.expected_outcome:
            case = decode_case(view)
            self._totals.add(case)
            self._questions.add(case)

    def lines(self, card: Scorecard, width: int) -> Iterable[Line]:
        """The form by section and question; empty if there is none."""
        if not self._has_form:
            return ()
        from callscore.report.forms import form_lines

        models = [model.model for model in card.models]
        return form_lines(self._totals, self._questions.worst_first(), models, width)


def _has_form(source: Source) -> bool:
    """Whether a case file begins like one of `callscore import --form`."""
    from callscore.store.files import open_lines  # `--help` reads no file

    try:
        with open_lines(source) as file:
            begin = file.read(FIRST_BYTES).replace(b" ", b"")
    except (OSError, UsageError):
        return False
    return b'"form":{' in begin
