"""Whether the scores of five-key records cite values that exist        C-100"""

from __future__ import annotations

from collections.abc import Iterable

from callscore.core.case import Case
from callscore.core.framework import WHOLE
from callscore.evaluate.case_steps import ParsedReply
from callscore.evaluate.judging import as_json

NOT_CITED = "citation_not_found"


def uncited_scores(case: Case, answer: ParsedReply) -> Iterable[str]:
    """A flag for every metric whose record cites no value of the reference or the reply."""
    from callscore.judges.document import is_cited  # imported only for scores of whole metrics

    output = as_json(answer.reply)
    return {
        f"{NOT_CITED}: {item.metric}"
        for item, given in answer.given.items()
        if item.item == WHOLE
        for verdict in given
        if not (is_cited(verdict.text, case.expected_outcome) and is_cited(verdict.quote, output))
    }
