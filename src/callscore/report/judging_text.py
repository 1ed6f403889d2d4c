"""The line of a scorecard about its judge."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from callscore.core.judging import Judging
from callscore.core.scorecard import Scorecard
from callscore.report.numbers import show_cost, show_count
from callscore.report.safe_text import plain


def judging_text(judging: Judging) -> str:
    """Describe the judge and its cost, which is not part of a model's cost."""
    parts = [f"judge  {judging.judge or 'none'}", f"{show_count(judging.items, 'item')}"]
    parts += _sent(judging)
    if judging.failed:
        parts.append(f"{show_count(judging.failed, 'answer')} with items without a verdict")
    if judging.disputed:
        parts.append(f"{show_count(judging.disputed, 'item')} disputed")
    if judging.flip_rate is not None:
        parts.append(f"{show_flip_rate(judging)} of {judging.rejudged} items flipped")
    if judging.disagreement is not None:
        parts.append(f"a second judge disagrees on {show_disagreement(judging)}")
    for flag, number in judging.flags.items():
        parts.append(f"{flag} in {show_count(number, 'answer')}")
    if judging.embedder:
        parts.append(f"embedder {judging.embedder} ({judging.similarities} comparisons)")
    return " · ".join(plain(part, 200) for part in parts)


def _sent(judging: Judging) -> Iterator[str]:
    """What was sent in this run and what it cost; what came from the store apart        C-140"""
    if judging.requests or judging.stored:
        yield f"{show_count(judging.requests, 'request')} sent"
    if judging.stored:
        yield f"{judging.stored} from the store"
    if judging.requests:
        yield f"{judging.input_tokens + judging.output_tokens} tokens"
    if judging.requests or judging.cost_usd is not None:
        yield f"cost {show_cost(judging.cost_usd)}, not part of the models' cost"


def show_disagreement(judging: Judging) -> str:
    """Return how often a second judge disagrees, and in which direction.

    12.5 % [7.1–19.8] of 120 audited items: the first judge is lenient (14 more lenient, 1 stricter)
    """
    if judging.disagreement is None:
        return "not measured"
    shown = f"{100 * judging.disagreement:.1f} %"
    if judging.disagreement_ci95 is not None:
        low, high = judging.disagreement_ci95
        shown += f" [{100 * low:.1f}–{100 * high:.1f}]"
    counts = f"{judging.lenient} more lenient, {judging.strict} stricter"
    word = "the first judge differs both ways"
    if judging.lenient > 2 * judging.strict:
        word = "the first judge is lenient"
    elif judging.strict > 2 * judging.lenient:
        word = "the first judge is strict"
    elif not judging.lenient and not judging.strict:
        return f"{shown} of {show_count(judging.audited, 'audited item')}"
    return f"{shown} of {show_count(judging.audited, 'audited item')}: {word} ({counts})"


def show_flip_rate(judging: Judging) -> str:
    """Return the share of items whose verdict changed when asked again: 2.1 % [0.4–6.0]."""
    if judging.flip_rate is None:
        return "not measured"
    shown = f"{100 * judging.flip_rate:.1f} %"
    if judging.flip_rate_ci95 is msgspec.UNSET:
        return shown
    low, high = judging.flip_rate_ci95
    return f"{shown} [{100 * low:.1f}–{100 * high:.1f}]"


TOO_MUCH = 0.10
"""The share of audited items on which two judges may disagree without a warning."""


def judge_warnings(card: Scorecard) -> Iterator[str]:
    """Yield what keeps a reader from trusting the judged values."""
    judging = card.judging
    if judging is None:
        return
    if (judging.disagreement or 0.0) > TOO_MUCH:
        yield f"the second one disagrees on {show_disagreement(judging)}; see --labels."
    for sentence in judging.at_risk:
        yield f"{sentence}; see --labels."
