"""The parts of a scoring besides rows and sums, and their bytes in the index."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from callscore.core.blocks import BlockSize
from callscore.core.scorecard import Scorecard
from callscore.processes.value_bytes import from_bytes, to_bytes
from callscore.report.source import Provenance, ReportSource
from callscore.stats.contributions import Contributions, TaskContributions
from callscore.store.index_rows import FAST

if TYPE_CHECKING:
    from callscore.evaluate.judging import JudgedBlock
    from callscore.evaluate.model_identity import ModelIdentities
    from callscore.evaluate.scoring_pass import ScoringResult
    from callscore.runner.prepare import ScoredParts

SUB_BLOCKS, BLOCKS, EVERYTHING = 0, 1, 2
"""The levels of sums."""


class Head(msgspec.Struct, frozen=True):
    """What lists and filters need of a scoring."""

    cases: int
    models: Sequence[str]
    tasks: Sequence[str]
    langs: Sequence[str]
    tags: Sequence[str]
    metrics: Sequence[str]
    leader: str | None
    leader_final: float | None
    values_only: bool = False


encode_head = msgspec.msgpack.Encoder().encode
decode_head = msgspec.msgpack.Decoder(Head).decode


class KeptCard(msgspec.Struct, frozen=True):
    """The scorecard of a scoring, and what reports show with it."""

    card: Scorecard
    title: str
    absent: Sequence[str]
    provenance: Provenance


def encode_card(source: ReportSource) -> bytes:
    """The scorecard as bytes: every number keeps its type and all digits."""
    return to_bytes(KeptCard(source.card, source.title, list(source.absent), source.provenance))


def decode_card(raw: bytes) -> KeptCard:
    """The scorecard in some bytes."""
    found: KeptCard = from_bytes(raw)
    return found


class KeptScoring(msgspec.Struct, frozen=True):
    """The calls of a scoring without what adds up, and the parts of its card about the rest."""

    calls: ScoringResult
    others: Sequence[Scorecard]
    """The scorecard of the scenarios, if there are some."""
    judged: JudgedBlock | None
    judged_by: ModelIdentities
    """The names under which judging models replied."""
    answered_by: Mapping[str, Sequence[str]]
    """By model, the names under which it replied."""
    notes: Sequence[str]
    """The last notes of the card: those of the run."""
    size: BlockSize
    selected: int
    """The cases of calls that were scored; steps of scenarios come after them."""


def keep_scoring(
    parts: ScoredParts, card: Scorecard, notes: Sequence[str], cases: tuple[BlockSize, int]
) -> KeptScoring:
    """What is kept of a scoring; `cases` are the size of blocks and the number of calls."""
    from callscore.evaluate.judging import JudgedBlock
    from callscore.evaluate.model_identity import ModelIdentities

    calls = msgspec.structs.replace(parts.results[0], tallies={}, leaks={}, judged={})
    runner = parts.judge_runner
    judged, judged_by = None, ModelIdentities()
    if runner is not None:
        judged = JudgedBlock(runner.spent, runner.caveats, runner.why_failed)
        judged_by = runner.answered_by
    names = {model.model: model.answered_by for model in card.models}
    return KeptScoring(calls, parts.cards[1:], judged, judged_by, names, notes, *cases)


def encode_kept(kept: KeptScoring | None) -> bytes:
    """What is kept as bytes; none if nothing is."""
    return b"" if kept is None else zlib.compress(to_bytes(kept), FAST)


def decode_kept(raw: bytes) -> KeptScoring | None:
    """What was kept."""
    found: KeptScoring | None = from_bytes(zlib.decompress(raw)) if raw else None
    return found


def encode_people(lines: bytes) -> bytes:
    """Verdicts of people as bytes."""
    return zlib.compress(lines, FAST)


def decode_people(raw: bytes) -> bytes:
    """The verdicts of people in some bytes."""
    return zlib.decompress(raw) if raw else b""


def encode_contributions(contributions: Contributions) -> bytes:
    """The contributions of a model as bytes; every number keeps all digits."""
    return zlib.compress(to_bytes(dict(contributions)), FAST)


def decode_contributions(raw: bytes) -> dict[str, TaskContributions]:
    """The contributions in some bytes, by task."""
    found: dict[str, TaskContributions] = from_bytes(zlib.decompress(raw))
    return found
