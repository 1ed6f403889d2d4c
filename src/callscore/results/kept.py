"""What a scoring keeps besides rows and sums, so that a change of verdicts starts from it."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

import msgspec

from callscore.core.blocks import BlockSize
from callscore.core.scorecard import Scorecard
from callscore.evaluate.judging import JudgedBlock
from callscore.evaluate.scoring_pass import ScoringResult
from callscore.processes.value_bytes import from_bytes, to_bytes
from callscore.runner.prepare import ScoredParts
from callscore.store.index_rows import FAST

SUB_BLOCKS, BLOCKS, EVERYTHING = 0, 1, 2
"""The levels of sums."""


class KeptScoring(msgspec.Struct, frozen=True):
    """The calls of a scoring without what adds up, and the parts of its card about the rest."""

    calls: ScoringResult
    others: Sequence[Scorecard]
    """The scorecard of the scenarios, if there are some."""
    judged: JudgedBlock | None
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
    calls = msgspec.structs.replace(parts.results[0], tallies={}, leaks={}, judged={})
    runner = parts.judge_runner
    judged = None
    if runner is not None:
        judged = JudgedBlock(runner.spent, runner.caveats, runner.why_failed)
    names = {model.model: model.answered_by for model in card.models}
    return KeptScoring(calls, parts.cards[1:], judged, names, notes, *cases)


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
