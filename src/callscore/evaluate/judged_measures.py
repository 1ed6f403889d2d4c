"""The measures of a reply after judging: whole scores, estimates, failures, and their flags."""

from __future__ import annotations

import msgspec

from callscore.core.case import Case
from callscore.core.framework import NOT_CITED, WHOLE
from callscore.core.judging import Verdicts
from callscore.core.task import Measured
from callscore.core.verdict_rules import TOO_MANY, VerdictRules
from callscore.evaluate.case_steps import ParsedReply
from callscore.evaluate.cases import LoadedCase
from callscore.evaluate.judging import Judgement, as_json


def with_whole_scores(
    measured: Measured, loaded: LoadedCase, parsed: ParsedReply, verdicts: Verdicts
) -> Measured:
    """Add the scores that a judge gave to whole metrics, and flag uncited ones        C-100"""
    uncited = uncited_scores(loaded.case, parsed)
    flags = sorted({*measured.flags, *uncited}) if uncited else measured.flags
    measures = loaded.rules.with_whole_scores(measured.measures, verdicts)
    return msgspec.structs.replace(measured, measures=measures, flags=flags)


def uncited_scores(case: Case, parsed: ParsedReply) -> set[str]:
    """A flag for every record that cites what is neither a field nor found        C-100"""
    from callscore.judges.document import is_cited  # imported only for scores of whole metrics

    output = as_json(parsed.reply)
    return {
        f"{NOT_CITED}: {item.metric}"
        for item, verdicts in parsed.given.items()
        if item.item == WHOLE
        for verdict in verdicts
        if not (is_cited(verdict.text, case.expected_outcome) and is_cited(verdict.quote, output))
    }


def with_excess_flag(measured: Measured) -> Measured:
    """Flag the measures of a reply that has more statements than are judged."""
    return msgspec.structs.replace(measured, flags=sorted({*measured.flags, TOO_MANY}))


def with_judgement(
    rules: VerdictRules, measured: Measured, verdicts: Verdicts, judgement: Judgement
) -> Measured:
    """Mark the measures that depend on estimates or lack a verdict, and add the flags."""
    measures = rules.with_failures(
        rules.mark_approximate(measured.measures, verdicts), judgement.failures
    )
    causes = [f"unjudged: {why}" for why in judgement.failures.values()]
    if any(measure.estimated for measure in measures.values()):
        causes.append("estimate")
    flags = sorted({*measured.flags, *judgement.flags, *causes})
    return Measured(measures, flags, measured.secondary)
