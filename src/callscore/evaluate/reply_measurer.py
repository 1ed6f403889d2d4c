"""Measures single replies: with the verdicts on them, and at the worst and best of open ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from callscore.core.case import Case, Malformed
from callscore.core.judging import Audit, Item, Question, Verdict, Verdicts
from callscore.core.measure import MALFORMED, UNDECIDED, Measure
from callscore.core.suite import Metric
from callscore.core.task import BenchmarkLayer, Measured
from callscore.core.verdict_rules import NOT_CITED, TOO_MANY, WHOLE, VerdictRules
from callscore.evaluate.case_steps import (
    JudgedItems,
    MeasuredReply,
    ParsedCase,
    ParsedReply,
    ask_after,
)
from callscore.evaluate.cases import LoadedCase
from callscore.evaluate.judging import NO_JUDGEMENT, Judgement, as_json
from callscore.evaluate.labels import is_judged
from callscore.evaluate.rubrics import rubric_library
from callscore.evaluate.substitutes import Marks, Substitutes, mark_measures
from callscore.judges.rubric import CANNOT_TELL
from callscore.scorecard.formula import TaskFormula, score_case
from callscore.scorecard.scored_reply import ReplyLabels, ScoredReply
from callscore.suites.registry import Catalog


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
    from callscore.judges.document_judge import (
        is_cited,  # imported only for scores of whole metrics
    )

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


NO_BENCHMARKS: Mapping[str, Measure] = {}


class TaskFormulas(msgspec.Struct, frozen=True):
    """How the replies to one task are scored."""

    formula: TaskFormula
    layer: BenchmarkLayer | None
    """The second layer, if it runs and applies to the task."""


class ScoringOptions(msgspec.Struct, frozen=True):
    """How the replies of a job are scored."""

    benchmarks: bool = False
    estimates: bool = False
    """Whether verdicts in files may be estimates."""
    substitutes: Substitutes | None = None
    """What takes the place of a judging model or an embedder; nothing by default."""
    has_judge: bool = False
    """Whether there is a judge or an embedder."""
    whole: bool = False
    """Whether verdicts score metrics as a whole (C-100)."""
    ranges: bool = False
    """Whether undecided replies are also measured at their worst and best (C-137)."""
    labelled: frozenset[str] = frozenset()
    """The metrics that people have labelled (STATS §5)."""
    intervals: bool = True
    """Whether the contributions of each call are recorded, for intervals."""


class ReplyMeasurer:
    """Measures and scores replies, one at a time."""

    def __init__(self, catalog: Catalog, options: ScoringOptions) -> None:
        self._catalog = catalog
        self._options = options
        self._of_task: dict[str, TaskFormulas] = {}

    def formulas_of(self, task: str) -> TaskFormulas:
        """How replies to a task are scored."""
        found = self._of_task.get(task)
        if found is None:
            layer = self._catalog.tasks()[task].benchmarks() if self._options.benchmarks else None
            found = self._of_task[task] = TaskFormulas(self._catalog.formula(task), layer)
        return found

    def measure(
        self,
        parsed_case: ParsedCase,
        parsed: ParsedReply,
        found: Judgement,
        frozen: Judgement,
        marks: Marks,
    ) -> MeasuredReply:
        """Measure one reply with the verdicts on it and on its case.

        `marks` has the metrics that a substitute serves, for every reply alike (C-125).
        """
        loaded = parsed_case.loaded
        verdicts: Verdicts = parsed.given
        if found.verdicts or frozen.verdicts:
            verdicts = {**frozen.verdicts, **found.verdicts, **parsed.given}
        measured = self._measures(loaded, parsed, verdicts, found)
        formulas = self.formulas_of(loaded.task.name)
        layer_two = NO_BENCHMARKS
        if formulas.layer is not None:
            failures = {**frozen.failures, **found.failures}
            layer_two = self._second_layer(formulas.layer, loaded, parsed, verdicts)
            layer_two = loaded.rules.with_failures(layer_two, failures)
        if marks.estimates:
            marked = mark_measures(measured.measures, marks)
            measured = msgspec.structs.replace(measured, measures=marked)
            layer_two = mark_measures(layer_two, marks)
        extremes = None
        if self._options.ranges and has_undecided(formulas.formula.row(measured.measures)):
            extremes = self._extremes(parsed_case, parsed, measured, verdicts)
        judged: Collection[Item] = ()
        if verdicts:
            of_case = frozen.verdicts.keys() - parsed_case.given.keys()
            asked = (found.verdicts.keys() | of_case) - parsed.given.keys()  # reviews
            judged = _judged_items(verdicts, asked)
        labels = None
        if self._options.labelled:
            labels = self._labels_on(loaded, parsed, verdicts, judged)
        scored = ScoredReply(
            measured, score_case(formulas.formula, measured), layer_two, extremes, labels
        )
        counted = _counted(judged, found) if judged else {}
        return MeasuredReply(parsed, scored, verdicts, found.verdicts, counted)

    def _labels_on(
        self,
        loaded: LoadedCase,
        parsed: ParsedReply,
        verdicts: Verdicts,
        judged: Collection[Item],
    ) -> ReplyLabels:
        """How many judged items of each row people labelled, and what they make of the reply."""
        formula, rules = self.formulas_of(loaded.task.name).formula, loaded.rules
        known = {item: parsed.labels[item] for item in judged if item in parsed.labels}
        people = None
        if known:
            overlaid = {**verdicts, **known}
            measured = self._measures(loaded, parsed, overlaid, Judgement(overlaid))
            people = ScoredReply(measured, score_case(formula, measured))
        sources = {
            slug: rules.sources_of(slug)
            for slug in formula.slugs
            if not self._options.labelled.isdisjoint(rules.sources_of(slug))
        }
        items, labelled = (
            {slug: sum(item.metric in of for item in some) for slug, of in sources.items()}
            for some in (judged, known)
        )
        return ReplyLabels({slug: n for slug, n in items.items() if n}, labelled, people)

    def _measures(
        self, loaded: LoadedCase, parsed: ParsedReply, verdicts: Verdicts, found: Judgement
    ) -> Measured:
        """All measures of a reply with these verdicts; `found` says which of them are missing."""
        measured = loaded.task.measure(loaded.reference, parsed.output, verdicts)
        if added := self._catalog.metrics_of(loaded.task.name):
            own = {
                metric.slug: _measure_added(metric, loaded.case, parsed, verdicts)
                for metric in added
            }
            measured = msgspec.structs.replace(measured, measures={**measured.measures, **own})
        if parsed.has_excess:
            measured = with_excess_flag(measured)
        if self._options.whole:
            measured = with_whole_scores(measured, loaded, parsed, verdicts)
        if found is not NO_JUDGEMENT or self._options.estimates:
            measured = with_judgement(loaded.rules, measured, verdicts, found)
        return measured

    def _extremes(
        self, parsed_case: ParsedCase, parsed: ParsedReply, measured: Measured, verdicts: Verdicts
    ) -> tuple[ScoredReply, ScoredReply]:
        """The reply with the worst and the best verdicts on its undecided items        C-137"""
        loaded = parsed_case.loaded
        formula = self.formulas_of(loaded.task.name).formula
        if self._options.whole:
            ends = extreme_scores(loaded.rules, measured.measures, verdicts)
        else:
            ends = extreme_verdicts(parsed_case, parsed, measured.measures, verdicts)
        worst, best = (
            self._measures(loaded, parsed, end, Judgement(end)) for end in (ends.worst, ends.best)
        )
        return (
            ScoredReply(worst, score_case(formula, worst)),
            ScoredReply(best, score_case(formula, best)),
        )

    def _second_layer(
        self, layer: BenchmarkLayer, loaded: LoadedCase, parsed: ParsedReply, verdicts: Verdicts
    ) -> Mapping[str, Measure]:
        if parsed.view is None:
            measures = layer.malformed(loaded.case)
        else:
            measures = layer.measure(parsed.view, verdicts)
        return (
            loaded.rules.with_whole_scores(measures, verdicts) if self._options.whole else measures
        )


def _judged_items(verdicts: Verdicts, asked_now: Collection[Item]) -> Collection[Item]:
    """The items that a judging model decided, now or in a file."""
    return [
        item for item, given in verdicts.items() if is_judged(given, asked_now=item in asked_now)
    ]


def _counted(judged: Collection[Item], found: Judgement) -> Mapping[str, JudgedItems]:
    """By metric, the items that a judging model decided, with their audit."""
    return {
        metric: JudgedItems(number, found.audit.get(metric, Audit()))
        for metric, number in Counter(item.metric for item in judged).items()
    }


def _measure_added(metric: Metric, case: Case, parsed: ParsedReply, verdicts: Verdicts) -> Measure:
    """Measure one reply with a metric of another package."""
    if isinstance(parsed.output, Malformed):
        return MALFORMED
    return metric.measure(case, as_json(parsed.reply), verdicts)


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
