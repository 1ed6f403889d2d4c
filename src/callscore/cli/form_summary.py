"""The QA form on a card: counted as cases are scored, if the data have a form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from callscore.core.errors import UsageError

if TYPE_CHECKING:
    from callscore.config.score import ScoreConfig
    from callscore.core.scorecard import Scorecard
    from callscore.evaluate.scorer import OnCase
    from callscore.report.layout import Line
    from callscore.report.source import CaseView
    from callscore.store.files import Source

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
