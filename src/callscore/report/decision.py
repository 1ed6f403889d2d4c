"""The decision of a scorecard as statements with a tone, for every report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from callscore.core.ranking import DecisionLine
from callscore.core.scorecard import Scorecard
from callscore.core.task import SCENARIO
from callscore.report.causes import state_causes
from callscore.report.cell import Tone
from callscore.report.cells import tasks_run
from callscore.report.judge_warnings import judge_warnings
from callscore.report.names import Origins, marked_names, origins_of
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain

MAX_LENGTH = 800
MODELS_SHOWN = 4
"""Models that are kept out, and those with malformed replies, with a statement each."""
TONES_OF_WORDS: Mapping[str, Tone] = {
    "RECOMMENDED": "good",
    "PASSES": "good",
    "ONLY ONE PASSES": "good",
    "LIKELY": "middling",
    "TIE": "middling",
    "NOT DECIDED": "middling",
    "NONE PASSES": "blocked",
    "OUT": "blocked",
    "HOW SURE": "quiet",
}


class Statement(NamedTuple):
    """One statement of the decision: its word, and its text."""

    keyword: str
    text: str
    tone: Tone = "plain"


def state_decision(card: Scorecard) -> list[Statement]:
    """Return the decision of a scorecard, most important statement first        C-138"""
    out = [line for line in card.decision if line.word == "OUT"]
    hidden = out[MODELS_SHOWN:]
    origins = origins_of(card.models)
    shown = [state_line(line, origins) for line in card.decision if line not in hidden]
    if hidden:
        more = show_count(len(hidden), "more model")
        place = 1 + max(at for at, one in enumerate(shown) if one.keyword == "OUT")
        shown.insert(place, Statement("OUT", f"{more}, see the blockers below.", "blocked"))
    causes = state_causes(card, MODELS_SHOWN)
    return [
        *shown,
        *(Statement(cause.keyword, cause.text, "bad") for cause in causes),
        *(Statement("JUDGES", warning, "bad") for warning in judge_warnings(card)),
    ]


def state_line(line: DecisionLine, origins: Origins) -> Statement:
    """Return one line of a decision with the names of its models in front."""
    names = f"{marked_names(line.models, origins)}: " if line.models else ""
    text = plain(f"{names}{line.why}.", MAX_LENGTH)
    return Statement(plain(line.word, 20), text, TONES_OF_WORDS.get(line.word, "plain"))


def describe_estimate(card: Scorecard) -> str:
    """Say why a scorecard has estimates; empty if it has none        C-125"""
    if not card.estimate:
        return ""
    if card.judging is None and set(tasks_run(card)) == {SCENARIO}:
        return "Estimate: argument values without a verdict count as different."
    return "Offline estimate: built-in rules, no judge."
