"""Scores a run with other verdicts of people: only their cases are measured again.

The sub-blocks of these cases are added up again from the measures that the index keeps, and join
the others in the order of a full pass; so every value has the bytes of one. Intervals need all
contributions, and follow on their own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import iadd
from typing import NamedTuple

import msgspec

from callscore.core.scorecard import Scorecard
from callscore.evaluate.judging import JudgedBlock, JudgeRunner
from callscore.evaluate.reply_measurer import ScoringOptions
from callscore.evaluate.scorecards import joint_scorecard, scorecard
from callscore.evaluate.scorer import Scorer, Sinks
from callscore.evaluate.scoring_pass import ScoringResult, scoring_options
from callscore.evaluate.sub_blocks import (
    KeptCase,
    KeptCaseReader,
    decode_cases,
    decode_sums,
    encode_cases,
    encode_sums,
)
from callscore.evaluate.sums import Sums
from callscore.processes.value_bytes import to_bytes
from callscore.report.source import CaseView, DataFile, Provenance
from callscore.results.fingerprint import data_in, with_people
from callscore.results.reviewed_run import RunOfReviews
from callscore.results.rows import case_row, decode_view, encode_view
from callscore.results.scoring_parts import (
    BLOCKS,
    EVERYTHING,
    SUB_BLOCKS,
    KeptScoring,
    decode_card,
    decode_contributions,
    decode_head,
    decode_kept,
    decode_people,
    encode_contributions,
    encode_head,
    encode_kept,
    encode_people,
)
from callscore.results.single_case import (
    GivenByPeople,
    Kinds,
    RunOfCases,
    ScoredAsAWhole,
    SingleCase,
    inputs_of,
    measure_again,
)
from callscore.results.writer import leader_of
from callscore.runner.people import PEOPLE, PeopleVerdicts
from callscore.stats.contributions import TaskContributions
from callscore.store.index_rows import CaseRow, Change, Encoded, Scoring, SubBlock, SumRow
from callscore.store.results_index import ResultsIndex
from callscore.store.run_records import RunRecord
from callscore.store.worklists import OpenItem

MOST_CASES = 64
"""With changes in more cases, the run is scored again as a whole, in the background."""

ON_ITS_OWN = "is measured in another way on its own"


class _PeopleLine(msgspec.Struct):
    case_id: str
    metric: str
    by: str = ""


_read_line = msgspec.json.Decoder(_PeopleLine).decode


class _People:
    """Lines of verdicts of people, by case."""

    def __init__(self, lines: bytes) -> None:
        self.cases: dict[str, bytes] = {}
        authors: set[str] = set()
        self._on_benchmarks = False
        for line in lines.splitlines(keepends=True):
            read = _read_line(line)
            self.cases[read.case_id] = self.cases.get(read.case_id, b"") + line
            authors.add(read.by)
            self._on_benchmarks |= read.metric.startswith("bench.")
        self.authors = sorted(authors)

    def kinds(self, run: RunOfCases) -> Kinds:
        """What they and the verdicts in files decide for every case."""
        files = run.files.given
        return Kinds(bool(self.cases) or files.worded, self._on_benchmarks or files.on_benchmarks)

    def changed_since(self, before: _People) -> list[str]:
        """The cases with other lines than before."""
        known = {**before.cases, **self.cases}
        return [one for one in known if before.cases.get(one) != self.cases.get(one)]


class _ChangedCase(NamedTuple):
    place: int
    before: SingleCase
    after: SingleCase
    row: CaseRow


def with_verdicts(
    index: ResultsIndex, scoring: Scoring, run: RunOfReviews, people: PeopleVerdicts
) -> bool:
    """Change a scoring to one with these verdicts of people; its intervals are left out.

    False if the scoring was changed by someone else meanwhile. Raises ScoredAsAWhole if a change of
    single cases cannot give what a full pass gives.
    """
    raw_kept, raw_people = index.kept(scoring.id)
    kept = decode_kept(raw_kept)
    if kept is None:
        raise ScoredAsAWhole("the run has scenarios only")
    before, after = _People(decode_people(raw_people)), _People(people.lines)
    run = run._replace(values=run.values._replace(cases=kept.calls.cases))
    _refuse_other_options(run.values, before.kinds(run.values), after.kinds(run.values))
    cases = after.changed_since(before)
    if len(cases) > MOST_CASES:
        raise ScoredAsAWhole(f"verdicts on {len(cases)} cases have changed")
    changed = [_measure(index, scoring, run, kept, (one, before, after)) for one in cases]
    sums: dict[str, Sums] = {}
    sub_blocks: list[SubBlock] = []
    rows: list[SumRow] = []
    adding = _Adding(index, scoring, kept, run.values, after.kinds(run.values))
    for model in run.values.models:
        added = adding.with_changes(model, changed)
        sums[model] = added.total
        sub_blocks += added.sub_blocks
        rows += added.rows
    calls = msgspec.structs.replace(
        kept.calls,
        judges=sorted({*after.authors, *run.values.files.given.judges}),
        unused_verdicts=kept.calls.unused_verdicts
        + sum(one.after.unused - one.before.unused for one in changed),
    )
    kept = msgspec.structs.replace(kept, calls=calls, judged=_judged(kept.judged, changed))
    card = card_of_sums(run.record, run.values, kept, sums, {})
    old = decode_card(index.card(scoring.id))
    provenance = _with_people(old.provenance, people.lines)
    whole = Encoded(
        to_bytes(msgspec.structs.replace(old, card=card, provenance=provenance)),
        encode_kept(kept),
        encode_people(people.lines),
        {},
    )
    found = with_people(data_in(scoring.fingerprint), people.lines)
    values_only = run.cases.config.intervals
    new = scoring._replace(
        fingerprint=found, head=_head(scoring, card, values_only), events=people.events
    )
    return index.change(new, whole, Change([one.row for one in changed], sub_blocks, rows))


def with_intervals(index: ResultsIndex, scoring: Scoring, run: RunOfReviews) -> bool:
    """Add the intervals to a scoring; False if it was changed by someone else meanwhile."""
    raw_kept, raw_people = index.kept(scoring.id)
    kept = decode_kept(raw_kept)
    assert kept is not None  # only such a scoring lacks them
    stale = set(index.stale_models(scoring.id))
    kinds = _People(decode_people(raw_people)).kinds(run.cases)
    adding = _Adding(index, scoring, kept, run.cases, kinds)
    contributions: dict[str, dict[str, TaskContributions]] = {}
    sums: dict[str, Sums] = {}
    for model in run.cases.models:
        sums[model] = adding.total(model)
        raw = index.contributions(scoring.id, model)
        found = contributions[model] = decode_contributions(raw) if raw is not None else {}
        if model in stale:
            found.update(adding.contributions(model))
    card = card_of_sums(run.record, run.cases, kept, sums, contributions)
    old = decode_card(index.card(scoring.id))
    whole = Encoded(
        to_bytes(msgspec.structs.replace(old, card=card)),
        raw_kept,
        raw_people,
        {model: encode_contributions(contributions[model]) for model in stale},
    )
    return index.change(scoring._replace(head=_head(scoring, card, False)), whole, Change())


def open_items_of(run: RunOfReviews, view: CaseView, people: PeopleVerdicts) -> list[OpenItem]:
    """The items of the replies to a case that await a verdict, also of people."""
    said = _People(people.lines)
    given = GivenByPeople(said.cases.get(view.case.id, b""), said.kinds(run.values))
    # A judge that is a model is not asked again: its words are those of the view.
    values = run.values if run.values.judging is None else run.values._replace(runner=None)
    found: list[OpenItem] = []
    measure_again(values, view, run.replies(view.case.id), given, found.append)
    known = {
        (answer.model, answer.run, one.metric, one.item)
        for answer in view.answers
        for one in answer.verdicts
        if one.verdict is not None and not one.approximate
    }
    return [
        one
        for one in found
        if one.model is not None and (one.model, one.run, one.metric, one.item) not in known
    ]


def _refuse_other_options(run: RunOfCases, before: Kinds, after: Kinds) -> None:
    """Refuse verdicts with which every reply would be measured in another way."""
    if run.files.given.whole or (run.runner is not None and run.runner.judges_whole):
        raise ScoredAsAWhole("metrics are scored as a whole")
    ways = [_options(run, kinds) for kinds in (before, after)]
    if ways[0] != ways[1]:
        raise ScoredAsAWhole("the verdicts are the first or the last ones of their kind")


def _options(run: RunOfCases, kinds: Kinds) -> ScoringOptions:
    found = scoring_options(run.config, inputs_of(run, kinds, {}, ""), run.runner)
    return msgspec.structs.replace(found, substitutes=None)


def _measure(
    index: ResultsIndex,
    scoring: Scoring,
    run: RunOfReviews,
    kept: KeptScoring,
    changed: tuple[str, _People, _People],
) -> _ChangedCase:
    """Measure a case with the verdicts before, which must give what is kept, and with those now."""
    case_id, before, after = changed
    values = run.values
    place = index.place_of(scoring.id, case_id)
    raw = None if place is None else index.view(scoring.id, place)
    if raw is None or place is None or place > kept.selected:
        raise ScoredAsAWhole(f"{case_id}: is a step of a scenario")
    view = decode_view(raw)
    replies = run.replies(case_id)
    with values.open_judge() as judge:
        first, second = (
            measure_again(
                values._replace(runner=judge),
                view,
                replies,
                GivenByPeople(people.cases.get(case_id, b""), people.kinds(values)),
            )
            for people in (before, after)
        )
    if (
        encode_view(first.view, with_replies=False) != raw
        or first.substitutes != second.substitutes
    ):
        raise ScoredAsAWhole(f"{case_id}: {ON_ITS_OWN}")
    spec = values.config.catalog.spec_with([view.case.task])
    return _ChangedCase(place, first, second, case_row(second.view, place, spec))


class _Added(NamedTuple):
    """What the replies of a model add up to with changed cases."""

    total: Sums
    sub_blocks: Sequence[SubBlock]
    rows: Sequence[SumRow]


class _Adding:
    """Adds up the kept measures of a scoring, in the order of a full pass."""

    def __init__(
        self,
        index: ResultsIndex,
        scoring: Scoring,
        kept: KeptScoring,
        run: RunOfCases,
        kinds: Kinds,
    ) -> None:
        self._index, self._id, self._kept = index, scoring.id, kept
        self._catalog = run.config.catalog
        self._options = _options(run, kinds)

    def total(self, model: str) -> Sums:
        """The sums of all cases."""
        return self._sums(model, EVERYTHING, 0, {})[0]

    def with_changes(self, model: str, changed: Sequence[_ChangedCase]) -> _Added:
        """Add up the sub-blocks of changed replies, then their blocks, then all blocks."""
        size = self._kept.size
        by_number: dict[int, list[_ChangedCase]] = {}
        for one in changed:
            if one.before.replies[model] != one.after.replies[model]:
                by_number.setdefault((one.place - 1) // size.sub_block, []).append(one)
        if not by_number:
            return _Added(self.total(model), (), ())
        replies: list[SubBlock] = []
        parts: dict[int, bytes] = {}
        for number, some in by_number.items():
            cases = self._cases(model, number)
            for one in some:
                at = (one.place - 1) % size.sub_block
                if cases[at] != one.before.replies[model]:
                    raise ScoredAsAWhole(f"place {one.place}: {ON_ITS_OWN}")
                cases[at] = one.after.replies[model]
            replies.append(SubBlock(model, number, encode_cases(cases)))
            added = self._add(model, [cases]).of_model(model)
            parts[number] = encode_sums(added)
        blocks = {
            block: encode_sums(reduce(iadd, self._sums(model, SUB_BLOCKS, block, parts)))
            for block in dict.fromkeys(number // size.sub_blocks for number in by_number)
        }
        total = reduce(iadd, self._sums(model, BLOCKS, 0, blocks))
        rows = [SumRow(model, SUB_BLOCKS, number, raw) for number, raw in parts.items()]
        rows += [SumRow(model, BLOCKS, number, raw) for number, raw in blocks.items()]
        rows.append(SumRow(model, EVERYTHING, 0, encode_sums(total)))
        return _Added(total, replies, rows)

    def contributions(self, model: str) -> Mapping[str, TaskContributions]:
        """The contributions of the calls of a model."""
        number = -(-self._kept.selected // self._kept.size.sub_block)
        sub_blocks = (self._cases(model, at) for at in range(number))
        tallies = self._add(model, sub_blocks).tallies[model]
        found = {task: tally.contributions for task, tally in tallies.items()}
        return {task: one.whole() for task, one in found.items() if one is not None}

    def _cases(self, model: str, number: int) -> list[KeptCase]:
        return decode_cases(self._index.replies_kept(self._id, model, number))

    def _add(self, model: str, sub_blocks: Iterable[Sequence[KeptCase]]) -> Sums:
        sinks = Sinks(lambda result: None)
        scorer = Scorer(self._catalog, {model: ()}, sinks, self._options, self._kept.size)
        reader = KeptCaseReader(self._catalog, model)
        for cases in sub_blocks:
            scorer.add(list(reader.read(cases)))
        return scorer.finish()

    def _sums(self, model: str, level: int, block: int, changes: Mapping[int, bytes]) -> list[Sums]:
        """The sums of a level, of sub-blocks those of one block; changed ones in their place."""
        number = self._kept.size.sub_blocks if level == SUB_BLOCKS else self._kept.selected
        first = block * number
        found = self._index.sums(self._id, model, level, first, first + number)
        return [decode_sums(changes.get(at, raw)) for at, raw in enumerate(found, first)]


def _judged(before: JudgedBlock | None, changed: Sequence[_ChangedCase]) -> JudgedBlock | None:
    """What judging has cost with changed cases."""
    if before is None:
        return None
    spent, caveats, why_failed = before.spent, set(before.caveats), before.why_failed
    for one in changed:
        old, new = one.before.judged, one.after.judged
        assert old is not None  # a run with a judge
        assert new is not None
        if old.caveats - new.caveats or (old.why_failed, new.why_failed) != (None, None):
            raise ScoredAsAWhole("the judge failed on the case")
        spent = spent.without(old.spent)
        spent += new.spent
        caveats |= new.caveats
    return JudgedBlock(spent, caveats, why_failed)


def card_of_sums(
    record: RunRecord,
    cases: RunOfCases,
    kept: KeptScoring,
    sums: Mapping[str, Sums],
    contributions: Mapping[str, Mapping[str, TaskContributions]],
) -> Scorecard:
    """The scorecard of a run, with intervals if there are contributions."""
    joined = Sums()
    for model, of_model in sums.items():
        for task, tally in of_model.tallies.get(model, {}).items():
            tally.contributions = contributions.get(model, {}).get(task)
        joined += of_model
    calls: ScoringResult = msgspec.structs.replace(
        kept.calls,
        tallies={model: joined.tallies.get(model, {}) for model in sums},
        leaks=joined.leaks,
        judged=joined.judged,
        uncited=joined.uncited.total(),
    )
    runner = None
    if cases.runner is not None and kept.judged is not None:
        old = cases.runner
        runner = JudgeRunner(old.judge, old.embedder, (), old.models, old.concurrency)
        runner.join(kept.judged)
        runner.answered_by = kept.judged_by
    config = cases.config
    card = joint_scorecard(config, [scorecard(config, calls, runner), *kept.others])
    models = [
        msgspec.structs.replace(model, answered_by=kept.answered_by.get(model.model, ()))
        for model in card.models
    ]
    card = msgspec.structs.replace(card, models=models, notes=[*card.notes, *kept.notes])
    if record.race is None:
        return card
    from callscore.runner.race_card import restore_race  # loaded only for a race

    return restore_race(card, record.race, config)


def _with_people(provenance: Provenance, lines: bytes) -> Provenance:
    """The provenance with the file of what people say, which is read last."""
    files = [one for one in provenance.files if (one.role, one.name) != ("verdicts", PEOPLE)]
    if lines:
        digest = hashlib.sha256(lines).hexdigest()
        files.append(DataFile("verdicts", PEOPLE, digest, len(lines)))
    return msgspec.structs.replace(provenance, files=files)


def _head(scoring: Scoring, card: Scorecard, values_only: bool) -> bytes:
    leader = leader_of(card)
    return encode_head(
        msgspec.structs.replace(
            decode_head(scoring.head),
            leader=leader,
            leader_final=None if leader is None else card.model(leader).final.score,
            values_only=values_only,
        )
    )
