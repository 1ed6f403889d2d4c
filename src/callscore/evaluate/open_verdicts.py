"""The worst and the best verdicts on what is still undecided        C-137"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from callscore.core.judging import Item, Question, Verdict, Verdicts
from callscore.core.measure import UNDECIDED, Measure
from callscore.core.verdict_rules import WHOLE, VerdictRules
from callscore.evaluate.case_steps import ParsedCase, ParsedReply, ask_after
from callscore.evaluate.rubrics import rubric_library
from callscore.judges.rubric import CANNOT_TELL

ASSUMED = "assumed"
"""Who gives these verdicts; they are never stored."""


class Extremes(NamedTuple):
    """All verdicts on a reply, the open ones as if they were the worst and the best."""

    worst: Verdicts
    best: Verdicts


def has_undecided(measures: Iterable[Measure]) -> bool:
    """Whether a measure of a reply awaits a verdict."""
    return any(measure.absence in UNDECIDED for measure in measures)


def extreme_verdicts(
    parsed_case: ParsedCase,
    parsed: ParsedReply,
    measures: Mapping[str, Measure],
    verdicts: Verdicts,
) -> Extremes:
    """Complete the verdicts on a reply: the strictest and the most lenient word of each rubric.

    Only what an undecided measure uses is completed. A question of another package, whose words
    have no known order, stays open.
    """
    task, rules = parsed_case.loaded.task, parsed_case.loaded.rules
    unknown = [q for q in parsed_case.frozen if Item(q.metric, q.item) not in verdicts]
    verdicts = {**task.presume(unknown), **verdicts}
    judged = rules.framework_judge().metrics
    undecided = [slug for slug in judged if _is_undecided(measures.get(slug))]
    used = {metric for slug in undecided for metric in rules.sources_of(slug)}
    worst, best = dict(verdicts), dict(verdicts)
    asked = task.ask(parsed_case.loaded.reference, parsed.output)
    for question in [*asked, *ask_after(parsed_case, parsed, verdicts)]:
        item = Item(question.metric, question.item)
        given = verdicts.get(item, ())
        if question.metric not in used or not _is_open(rules, question, given):
            continue
        for side, verdict in zip((worst, best), _extremes_of(question), strict=False):
            side[item] = [verdict]
    return Extremes(worst, best)


def extreme_scores(
    rules: VerdictRules, measures: Mapping[str, Measure], verdicts: Verdicts
) -> Extremes:
    """The same for scores of whole metrics: 0 and 1 (C-100)."""
    undecided = [
        slug for slug in rules.framework_judge().metrics if _is_undecided(measures.get(slug))
    ]
    worst, best = (
        {Item(slug, WHOLE): [Verdict(slug, WHOLE, value=score, by=ASSUMED)] for slug in undecided}
        for score in (0.0, 1.0)
    )
    return Extremes({**verdicts, **worst}, {**verdicts, **best})


def _is_undecided(measure: Measure | None) -> bool:
    return measure is not None and measure.absence in UNDECIDED


def _is_open(rules: VerdictRules, question: Question, given: Sequence[Verdict]) -> bool:
    """Whether no verdict decides a question; for some questions abstaining does not (C-69)."""
    if rules.needs_a_word(question):
        return all(verdict.verdict == CANNOT_TELL for verdict in given)
    return not given


def _extremes_of(question: Question) -> Sequence[Verdict]:
    """The worst and the best verdict on a question; none if the order of its words is unknown."""
    metric, item = question.metric, question.item
    if not question.offered:
        return [Verdict(metric, item, value=cosine, by=ASSUMED) for cosine in (0.0, 1.0)]
    rubric = rubric_library().rubric_for(question)
    if rubric is None:
        return ()
    words = [word for word in rubric.words if word != CANNOT_TELL]
    return [
        Verdict(metric, item, word, text=question.text, by=ASSUMED)
        for word in (words[-1], words[0])
    ]
