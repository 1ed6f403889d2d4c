"""Scores cases: parses replies, collects questions for the judge, measures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from callscore.core.blocks import BLOCK, BlockSize
from callscore.core.case import Case, Failed, Malformed, Reply
from callscore.core.judging import NO_VERDICTS, Item, Question, Verdict, Verdicts
from callscore.core.scorecard import CaseResult
from callscore.core.verdict_rules import NOT_CITED, FiveKeyRecord
from callscore.evaluate.case_steps import (
    JudgedCase,
    MeasuredCase,
    MeasuredReply,
    ParsedCase,
    ParsedReply,
    case_view,
)
from callscore.evaluate.cases import LoadedCase
from callscore.evaluate.given_verdicts import (
    NOTHING_GIVEN,
    GivenVerdicts,
    given_verdicts_on,
    verdict_record,
)
from callscore.evaluate.judging import NO_JUDGEMENT, Judgement, JudgeRunner
from callscore.evaluate.labels import labels_on
from callscore.evaluate.reply_measurer import ReplyMeasurer, ScoringOptions
from callscore.evaluate.sub_blocks import OnSubBlock, keep_sub_block
from callscore.evaluate.substitutes import Substitutes
from callscore.evaluate.sums import BlockSums, Sums
from callscore.report.source import CaseView
from callscore.scorecard.five_key_records import ModelReply, records_of
from callscore.scorecard.scored_reply import ScoredReply
from callscore.scorecard.tally import TaskTally
from callscore.stats.contributions import Charge, TaskContributions, call_key
from callscore.store.verdict_records import VerdictRecord
from callscore.store.worklists import OnOpen, OpenItem
from callscore.suites.registry import Catalog

OnResult = Callable[[CaseResult], None]
OnRecord = Callable[[FiveKeyRecord], None]
OnVerdict = Callable[[VerdictRecord], None]
OnLines = Callable[[bytes], object]
OnCase = Callable[[CaseView], None]

LEAK = "leak:"
"""Prefix of the flags that report data which must not be written down."""


class _ModelReplies(msgspec.Struct):
    """The replies of a model to some cases of a task, to be added to its tally."""

    model: str
    tally: TaskTally
    cases: list[tuple[str, Sequence[ScoredReply]]] = []
    """By id; only cases with at least one reply."""
    charges: list[Charge] = []
    """For the same cases."""
    costs: list[float | None] = []
    failed: int = 0


OnProgress = Callable[[int, int], None]


def ignore_progress(done: int, total: int) -> None:
    """Ignore progress."""


class LineSinks(NamedTuple):
    """Write lines of results, records and verdicts that are encoded already."""

    results: OnLines | None = None
    records: OnLines | None = None
    verdicts: OnLines | None = None


class Sinks(msgspec.Struct, frozen=True):
    """Where results, records and progress go, and the judge runner."""

    on_result: OnResult
    on_record: OnRecord | None = None
    on_verdict: OnVerdict | None = None
    progress: OnProgress = ignore_progress
    on_open: OnOpen | None = None
    """Called with every item that still awaits a verdict."""
    judge_runner: JudgeRunner | None = None
    on_case: OnCase | None = None
    """Receives every case with all its replies, for a report."""
    on_sub_block: OnSubBlock | None = None
    """Receives what every sub-block adds to the sums, for an index."""
    lines: LineSinks | None = None
    """Where the same lines go if other processes encode them; None if they cannot."""


class Scorer:
    """Parses and measures the replies to one case after another; adds them to the tallies.

    `models` has the flags common to all results of each model.
    """

    def __init__(
        self,
        catalog: Catalog,
        models: Mapping[str, Sequence[str]],
        sinks: Sinks,
        options: ScoringOptions,
        blocks: BlockSize = BLOCK,
    ) -> None:
        self._catalog = catalog
        self._models = models
        self._sinks = sinks
        self._options = options
        self._has_judge = options.has_judge or sinks.on_open is not None
        self.substitutes = options.substitutes or Substitutes(None, {}, whole=options.whole)
        self._measurer = ReplyMeasurer(catalog, options)
        self._kept: list[MeasuredCase] = []
        """The cases of the current sub-block, if sub-blocks are kept."""
        keeps = sinks.on_sub_block is not None
        self._sums = BlockSums(blocks, self._keep_sub_block if keeps else None)

    def _keep_sub_block(self, sums: Sums) -> None:
        assert self._sinks.on_sub_block is not None  # checked when it was made
        self._sinks.on_sub_block(keep_sub_block(self._kept, sums, self._models))
        self._kept = []

    def finish(self) -> Sums:
        """The sums of all cases; a model without any has no tally."""
        found = self._sums.finish()
        found.tallies = {model: found.tallies.get(model, {}) for model in self._models}
        return found

    def _tally(self, model: str, task: str) -> TaskTally:
        tallies = self._sums.current.tallies.setdefault(model, {})
        tally = tallies.get(task)
        if tally is None:
            kept = self._contributions(model, task) if self._options.intervals else None
            tally = tallies[task] = TaskTally(contributions=kept)
        return tally

    def _contributions(self, model: str, task: str) -> TaskContributions:
        found = self._sums.contributions(model, task)
        if not isinstance(found, TaskContributions):
            settings = self._catalog.settings_of(self._catalog.suite_of(task))
            found = TaskContributions(keeps_open=settings.coverage_required < 1)
        return found

    def parse(
        self,
        loaded: LoadedCase,
        replies: Mapping[str, Mapping[int, Reply | Failed]],
        given: GivenVerdicts,
        labels: GivenVerdicts = NOTHING_GIVEN,
    ) -> ParsedCase:
        """Parse the replies to a case; collect the open questions about each."""
        found: dict[str, list[ParsedReply | tuple[int, Failed]]] = {}
        for model in self._models:
            if runs := replies.get(model):
                parsed = found[model] = []
                for run in sorted(runs) if len(runs) > 1 else runs:
                    one = self._parse(loaded, model, run, runs[run], given)
                    if labels and isinstance(one, ParsedReply):
                        on_reply = labels_on(loaded.rules, labels, model, run)
                        one = msgspec.structs.replace(one, labels=on_reply)
                    parsed.append(one)
        if not given and not self._has_judge:
            return ParsedCase(loaded, found)
        asked = self._case_questions(loaded)
        if not asked:
            return ParsedCase(loaded, found)
        about_case = [Item(question.metric, question.item) for question in asked]
        given_once = given.get((None, 1), NO_VERDICTS)
        known = {item: given_once[item] for item in about_case if item in given_once}
        if not self._has_judge:
            return ParsedCase(loaded, found, (), known)
        return ParsedCase(loaded, found, loaded.rules.open_questions(asked, known), known)

    def _case_questions(self, loaded: LoadedCase) -> Sequence[Question]:
        """Questions about the case itself, independent of the replies        C-74, C-94"""
        layer = self._measurer.formulas_of(loaded.task.name).layer
        of_layer = layer.ask_case(loaded.case) if layer is not None else ()
        return [*loaded.task.ask_case(loaded.reference), *of_layer]

    def _parse(
        self, loaded: LoadedCase, model: str, run: int, reply: Reply | Failed, given: GivenVerdicts
    ) -> ParsedReply | tuple[int, Failed]:
        if isinstance(reply, Failed):
            return run, reply
        task, reference = loaded.task, loaded.reference
        output = task.read(reference, reply)
        known = given_verdicts_on(loaded.rules, given, model, run) if given else NO_VERDICTS
        layer = self._measurer.formulas_of(task.name).layer if self._options.benchmarks else None
        if isinstance(output, Malformed) or not (self._has_judge or layer is not None):
            return ParsedReply(model, run, reply, output, None, known, ())
        view = None
        if layer is not None:
            view = layer.view(loaded.case, reference, output, reply)
        if not self._has_judge:
            return ParsedReply(model, run, reply, output, view, known, ())
        asked = list(task.ask(reference, output))
        if layer is not None:
            asked += layer.ask(view)
        questions, excess = loaded.rules.limit_statements(loaded.rules.open_questions(asked, known))
        if excess:
            known = {**known, **{Item(v.metric, v.item): [v] for v in excess}}
        return ParsedReply(model, run, reply, output, view, known, questions, bool(excess))

    def measure(self, parsed_case: ParsedCase, judged: JudgedCase) -> MeasuredCase:
        """Measure every reply to a case; nothing is written or added yet."""
        results, frozen = iter(judged.replies), judged.frozen
        if parsed_case.given or parsed_case.frozen:
            about_case = {**frozen.verdicts, **parsed_case.given}
            frozen = Judgement(about_case, frozen.failures)
        loaded = parsed_case.loaded
        layer = self._measurer.formulas_of(loaded.task.name).layer
        marks = self.substitutes.of_case(
            loaded, layer, frozen.verdicts or _given_verdicts(parsed_case)
        )
        measured: dict[str, list[MeasuredReply | tuple[int, Failed]]] = {}
        for model, runs in parsed_case.replies.items():
            done = measured[model] = []
            for parsed in runs:
                if isinstance(parsed, ParsedReply):
                    found = next(results, NO_JUDGEMENT) if judged.replies else NO_JUDGEMENT
                    done.append(self._measurer.measure(parsed_case, parsed, found, frozen, marks))
                else:
                    done.append(parsed)
        waiting: Sequence[OpenItem] = ()
        if (
            self._sinks.on_open is not None and not self._options.whole
        ):  # items and whole scores never mix
            from callscore.evaluate.worklist import waiting_items

            waiting = waiting_items(parsed_case, measured, frozen.verdicts)
        return MeasuredCase(parsed_case.loaded, measured, judged.frozen.verdicts, waiting)

    def add(self, cases: Sequence[MeasuredCase]) -> None:
        """Write the results of some cases, in their order, and add them to the tallies."""
        at = 0
        while at < len(cases):
            together = cases[at : at + self._sums.room]
            self._add(together)
            if self._sinks.on_sub_block is not None:
                self._kept += together
            self._sums.count(len(together))
            at += len(together)

    def _add(self, cases: Sequence[MeasuredCase]) -> None:
        """Add cases of one sub-block."""
        groups: dict[str, list[_ModelReplies]] = {}
        for measured in cases:
            case = measured.loaded.case
            key = call_key(case.call_id, case.id)
            self._emit_case(measured)
            results: list[CaseResult] = []
            of_task = groups.get(case.task)
            if of_task is None:
                of_task = groups[case.task] = [
                    _ModelReplies(model, self._tally(model, case.task)) for model in self._models
                ]
            for group in of_task:
                runs = measured.replies.get(group.model)
                if runs:
                    results += self._emit(measured.loaded, runs, group, key)
                else:
                    group.tally.add_not_run()
                    results.append(CaseResult(case.id, group.model, 1, case.task, "not_run"))
                    self._sinks.on_result(results[-1])
            if self._sinks.on_case is not None:
                self._sinks.on_case(case_view(measured, results))
        for task, of_task in groups.items():
            for group in of_task:
                group.tally.add_calls(group.costs, group.failed)
                if group.cases:
                    self._add_up(task, group)

    def _emit_case(self, measured: MeasuredCase) -> None:
        if self._sinks.on_verdict is not None:
            self._emit_verdicts(measured.loaded.case, None, measured.frozen)
        if self._sinks.on_open is not None:
            for item in measured.open_items:
                self._sinks.on_open(item)

    def _add_up(self, task: str, group: _ModelReplies) -> None:
        formulas = self._measurer.formulas_of(task)
        group.tally.add_cases(formulas.formula, group.cases, group.charges)
        if formulas.layer is not None:
            suite = self._catalog.suite_of(task)
            limits, ddof = suite.spec.benchmarks.criteria, self._catalog.settings.consistency_ddof
            group.tally.add_benchmarks([replies for _, replies in group.cases], limits, ddof)

    def _charge(self, key: int, runs: int, answered: int, group: _ModelReplies) -> None:
        """Record the call and the cost of the case that was emitted last."""
        kept = group.tally.contributions
        costs = group.costs[-runs:]
        spend = costs[0] or 0.0 if len(costs) == 1 else math.fsum(cost or 0.0 for cost in costs)
        charge = Charge(key, spend, answered)
        if answered:
            group.charges.append(charge)
        elif isinstance(kept, TaskContributions):
            kept.add_unanswered(charge)

    def _emit(
        self,
        loaded: LoadedCase,
        runs: Sequence[MeasuredReply | tuple[int, Failed]],
        group: _ModelReplies,
        key: int,
    ) -> list[CaseResult]:
        """Write the results of every run of a model on a case; collect those with a reply.

        `key` is that of the call.
        """
        case, tally, model = loaded.case, group.tally, group.model
        marks = self._models[model]
        replies: list[ScoredReply] = []
        results: list[CaseResult] = []
        if len(runs) > tally.most_runs:
            tally.most_runs = len(runs)
        for run in runs:
            if isinstance(run, MeasuredReply):
                group.costs.append(run.parsed.reply.cost_usd)
                results.append(_result(case, model, run, marks))
                if flags := run.scored.measured.flags:
                    self._note_leaks(model, case.id, flags)
                    uncited = sum(flag.startswith(NOT_CITED) for flag in flags)
                    self._sums.current.uncited[model] += uncited
                if self._sinks.on_record is not None:
                    self._record(loaded, run, self._sinks.on_record)
                if self._sinks.on_verdict is not None:
                    self._emit_verdicts(case, run.parsed, run.found)
                for metric, items in run.judged.items():
                    self._sums.current.add_judged(model, metric, items)
                replies.append(run.scored)
            else:
                group.failed += 1
                number, failure = run
                group.costs.append(failure.cost_usd or 0.0)
                flags = (failure.why,)
                results.append(CaseResult(case.id, model, number, case.task, "error", flags=flags))
            self._sinks.on_result(results[-1])
        if replies:
            group.cases.append((case.id, replies))
        else:
            tally.add_error()
        self._charge(key, len(runs), len(replies), group)
        return results

    def _note_leaks(self, model: str, case_id: str, flags: Sequence[str]) -> None:
        for flag in flags:
            if flag.startswith(LEAK):
                leaks = self._sums.current.leaks
                found = leaks.setdefault((model, flag.removeprefix(LEAK)), [])
                if not found or found[-1] != case_id:
                    found.append(case_id)

    def _emit_verdicts(self, case: Case, parsed: ParsedReply | None, verdicts: Verdicts) -> None:
        """Emit the verdicts of judge and embedder as lines of a verdicts file."""
        assert self._sinks.on_verdict is not None  # checked by the caller
        model, run = (parsed.model, parsed.run) if parsed is not None else (None, 1)
        for given in verdicts.values():
            for verdict in given:
                self._sinks.on_verdict(verdict_record(case.id, model, run, verdict))

    def _record(self, loaded: LoadedCase, measured: MeasuredReply, on_record: OnRecord) -> None:
        parsed, scored = measured.parsed, measured.scored
        author = ModelReply(loaded.case, parsed.model, parsed.run, parsed.reply)
        measures = {**scored.measured.measures, **scored.benchmarks}
        verdicts = measured.verdicts
        faults = loaded.task.explain(loaded.reference, parsed.output, verdicts)
        for record in records_of(loaded.suite, loaded.task, author, measures, verdicts, faults):
            on_record(record)


def _result(case: Case, model: str, run: MeasuredReply, marks: Sequence[str]) -> CaseResult:
    """The result of a measured reply, with the flags common to all results of its model."""
    scored = run.scored
    score, flags, metrics = scored.score, scored.measured.flags, scored.score.values
    if scored.benchmarks:
        second = {slug: measure.value for slug, measure in scored.benchmarks.items()}
        metrics = {**metrics, **second}
    return CaseResult(
        case.id,
        model,
        run.parsed.run,
        case.task,
        score.status,
        score.score,
        score.ungated_score,
        score.reasons,
        sorted({*flags, *marks}) if marks else flags,
        metrics,
    )


def _given_verdicts(parsed_case: ParsedCase) -> Verdicts:
    """The verdicts in files on all replies: a dossier has those about a case with each reply."""
    found: dict[Item, Sequence[Verdict]] = {}
    for runs in parsed_case.replies.values():
        for parsed in runs:
            if isinstance(parsed, ParsedReply) and parsed.given:
                found.update(parsed.given)
    return found
