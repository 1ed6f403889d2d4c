"""A case in the steps of scoring: parsed, judged, measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from callscore.core.case import Case, Failed, Malformed, Reply
from callscore.core.judging import NO_VERDICTS, Audit, Question, Verdicts
from callscore.core.measure import Measure
from callscore.core.scorecard import CaseResult
from callscore.evaluate.cases import LoadedCase
from callscore.evaluate.judging import NO_JUDGEMENT, Judgement, JudgeRunner
from callscore.report.source import Answer, CaseView
from callscore.scorecard.scored_reply import ScoredReply
from callscore.store.worklists import OpenItem


class ParsedReply(msgspec.Struct, frozen=True, gc=False):
    """One reply as its task parsed it, verdicts from files, and the questions still open."""

    model: str
    run: int
    reply: Reply
    output: Any
    view: Any
    """The reply as the benchmarks see it; None if they do not run or it is malformed."""
    given: Verdicts
    questions: Sequence[Question]
    has_excess: bool = False
    """Whether it has more statements than are judged."""
    labels: Verdicts = NO_VERDICTS
    """What people say about a sample of its items (STATS §5)."""


class ParsedCase(msgspec.Struct, frozen=True, gc=False):
    """A case with all its replies, ready to be judged and measured."""

    loaded: LoadedCase
    replies: Mapping[str, Sequence[ParsedReply | tuple[int, Failed]]]
    """By model; a failed run has its run number."""
    frozen: Sequence[Question] = ()
    """Questions about the case itself, asked before those about its replies."""
    given: Verdicts = NO_VERDICTS
    """Verdicts from files on these questions."""


class JudgedCase(msgspec.Struct, frozen=True):
    """The verdicts on the replies of a case, in their order, and on the case itself."""

    replies: Sequence[Judgement]
    frozen: Judgement = NO_JUDGEMENT


NOT_JUDGED = JudgedCase(())


class JudgedItems(NamedTuple):
    """How many items a judging model decided, and how a second one checked them."""

    items: int
    audit: Audit = Audit()

    def __add__(self, other: object) -> JudgedItems:
        """The sum of both."""
        if not isinstance(other, JudgedItems):
            return NotImplemented
        return JudgedItems(self.items + other.items, self.audit + other.audit)


class MeasuredReply(msgspec.Struct, frozen=True, gc=False):
    """One reply with its measures and score, and the verdicts behind them."""

    parsed: ParsedReply
    scored: ScoredReply
    verdicts: Verdicts
    found: Verdicts
    """The verdicts that judge and embedder gave in this pass."""
    judged: Mapping[str, JudgedItems] = {}
    """By metric, what a judging model decided, in this pass or in a file."""


class MeasuredCase(msgspec.Struct, frozen=True, gc=False):
    """A case with all its replies measured, ready to be added to the tallies."""

    loaded: LoadedCase
    replies: Mapping[str, Sequence[MeasuredReply | tuple[int, Failed]]]
    frozen: Verdicts
    """The verdicts of judge and embedder on the case itself."""
    open_items: Sequence[OpenItem] = ()
    """Items without a verdict, if requested."""


async def judge_case(parsed_case: ParsedCase, judge_runner: JudgeRunner) -> JudgedCase:
    """Ask judge and embedder all open questions about a case, one request per reply.

    Questions about a reply may depend on verdicts on the case; then those come first.
    """
    import asyncio

    case, replies = parsed_case.loaded.case, parsed_replies(parsed_case)
    language = parsed_case.loaded.task.compared_language(case)
    if judge_runner.judges_whole:
        return await _judge_whole_metrics(parsed_case, judge_runner)
    asked = [parsed.questions for parsed in replies]
    if len(asked) == 1 and not parsed_case.frozen and not parsed_case.given:
        # Nothing to run concurrently: asyncio tasks would cost more than they save.
        return JudgedCase([await judge_runner.ask(case, asked[0], replies[0].reply, language)])
    about_case = asyncio.ensure_future(judge_runner.ask(case, parsed_case.frozen, None, language))
    if parsed_case.loaded.task.presume(parsed_case.frozen) or parsed_case.given:
        known = {**(await about_case).verdicts, **parsed_case.given}
        asked = [[*parsed.questions, *ask_after(parsed_case, parsed, known)] for parsed in replies]
    frozen, *found = await asyncio.gather(
        about_case,
        *(
            judge_runner.ask(case, questions, parsed.reply, language)
            for questions, parsed in zip(asked, replies, strict=True)
        ),
    )
    return JudgedCase(found, frozen)


async def _judge_whole_metrics(parsed_case: ParsedCase, judge_runner: JudgeRunner) -> JudgedCase:
    """Ask a judge of whole metrics about every reply; it has no questions about the case."""
    import asyncio

    case, replies = parsed_case.loaded.case, parsed_replies(parsed_case)
    language = parsed_case.loaded.task.compared_language(case)
    asked = [[*a.questions, *parsed_case.frozen] if a.questions else [] for a in replies]
    found = await asyncio.gather(
        *(
            judge_runner.ask(case, questions, a.reply, language)
            for questions, a in zip(asked, replies, strict=True)
        )
    )
    return JudgedCase(found)


def ask_after(parsed_case: ParsedCase, parsed: ParsedReply, known: Verdicts) -> Sequence[Question]:
    """The open questions about a reply once the verdicts on its case are known        C-74"""
    if isinstance(parsed.output, Malformed):
        return ()
    asked = parsed_case.loaded.task.ask_after(parsed_case.loaded.reference, parsed.output, known)
    return parsed_case.loaded.rules.open_questions(asked, parsed.given) if asked else ()


def parsed_replies(parsed_case: ParsedCase) -> list[ParsedReply]:
    """The replies of a case that did not fail, in the order of models and runs."""
    return [a for runs in parsed_case.replies.values() for a in runs if isinstance(a, ParsedReply)]


_CANONICAL = msgspec.json.Encoder(order="sorted")


def case_view(measured: MeasuredCase, results: Iterable[CaseResult]) -> CaseView:
    """The case with the replies of all models, of which these are the results."""
    runs = {
        (model, run.parsed.run if isinstance(run, MeasuredReply) else run[0]): run
        for model, runs in measured.replies.items()
        for run in runs
    }
    answers = [_answer(result, runs.get((result.model, result.run))) for result in results]
    case = measured.loaded.case
    return CaseView(case, answers, _other_keys(case, measured.loaded.content))


def _answer(result: CaseResult, run: MeasuredReply | tuple[int, Failed] | None) -> Answer:
    if run is None:
        return Answer(result)
    if not isinstance(run, MeasuredReply):
        return Answer(result, cost_usd=run[1].cost_usd, error=run[1].why)
    reply, scored = run.parsed.reply, run.scored
    return Answer(
        result,
        {
            slug: _plain(measure)
            for slug, measure in (*scored.measured.measures.items(), *scored.benchmarks.items())
        },
        reply_text(reply),
        isinstance(reply.text, bytes),
        reply.tool_calls,
        reply.finish_reason,
        reply.input_tokens,
        reply.output_tokens,
        reply.cost_usd,
        reply.latency_ms,
        reply.model,
        None,
        [verdict for verdicts in run.verdicts.values() for verdict in verdicts],
        [label for labels in run.parsed.labels.values() for label in labels],
    )


def _plain(measure: Measure) -> Measure:
    """The measure with numbers only: a count of one item may be a boolean."""
    if not isinstance(measure.numerator, bool):
        return measure
    return msgspec.structs.replace(measure, numerator=float(measure.numerator))


def reply_text(reply: Reply) -> str:
    """The reply as encodable text: a lone surrogate has no UTF-8 bytes."""
    text = reply.text
    if isinstance(text, bytes):
        return text.decode("utf-8", "replace")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _other_keys(case: Case, content: bytes) -> Sequence[tuple[int, str, Any]]:
    """The undocumented keys, which come last in the canonical form (C-132)."""
    documented = len(_CANONICAL.encode(case))
    if not content or len(content) == documented:
        return ()
    found: Sequence[tuple[int, str, Any]] = msgspec.json.decode(content[documented:])
    return found
