"""The decision of a scorecard, the causes of lost points and the judge, as statements."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from callscore.core.judging import Judging
from callscore.core.scorecard import DecisionLine, Scorecard, TaskScore
from callscore.core.spec import TOLERANCE
from callscore.core.task import SCENARIO
from callscore.report.cells import Tone, tasks_run
from callscore.report.names import MAX_NAME_LENGTH, Origins, marked_names, origins_of
from callscore.report.numbers import show_cost, show_count
from callscore.report.safe_text import plain
from callscore.scorecard.decision import ModelDifference
from callscore.stats.claim_limits import unseen_share


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


COMMON, FEWEST = 0.1, 2
"""The share and the number of answers from which a fault is common; the JSON has every count."""

MALFORMED: Mapping[str, str] = {
    "truncated": "were cut off by the token limit: raise max_tokens",
    "truncated_json": "ended within the JSON: raise max_tokens",
    "repetition": "repeat themselves until they are cut off; a higher max_tokens does not help",
    "prose_around_json": "had text around the JSON",
    "content_filter": "were stopped by the provider's content filter",
    "refusal": "were refusals",
    "empty": "were empty",
    "structure": "did not have the requested keys",
    "copied_example": 'copy an example ("...") and do not have the requested keys',
    "not_json": "were not JSON",
    "not_an_object": "were JSON, but not an object",
    "duplicate_key": "had a key twice",
}
"""Why answers could not be read, by cause."""

COMMON_FAULTS: Mapping[str, str] = {
    "copied_example": 'copy an example of the prompt ("...") instead of a text',
    "max_score_differs": "change the scale of a question (max_score)",
    "equal_marks": "give every question the same mark, where people did not",
    "null_marks": "leave a mark null that people gave",
    "copied_list": "report the whole configured list as detected",
}
"""Faults that answers have in common, by flag; the most serious first."""


class Cause(NamedTuple):
    """What went wrong with many answers of one model to one task."""

    keyword: str
    text: str
    share: float


def state_causes(card: Scorecard, most: int) -> Sequence[Cause]:
    """Return the causes of the card, unreadable answers first; at most `most` of each kind."""
    malformed, common = list(_malformed_answers(card)), list(_common_faults(card))
    return [*_largest(malformed, most), *_largest(common, most)]


def _largest(causes: Sequence[Cause], most: int) -> Sequence[Cause]:
    """Return the causes with the largest shares, in the order of the card."""
    kept = sorted(causes, key=lambda cause: -cause.share)[:most]
    return [cause for cause in causes if cause in kept]


def _malformed_answers(card: Scorecard) -> Iterator[Cause]:
    """Say how many answers could not be read, with the remedy for the most frequent cause."""
    for subject, score in _scored_tasks(card):
        if not score.malformed:
            continue
        cause, number = max(score.malformed.items(), key=lambda entry: entry[1])
        why = MALFORMED.get(cause, cause.replace("_", " "))
        text = f"{subject}: {number} of {score.answers} answers {why}."
        yield Cause("MALFORMED", text, _share(number, score))


def _common_faults(card: Scorecard) -> Iterator[Cause]:
    """Say what many readable answers do wrong, with counts."""
    for subject, score in _scored_tasks(card):
        counts = {flag: score.flags.get(flag, 0) for flag in COMMON_FAULTS}
        common = {
            flag: number
            for flag, number in counts.items()
            if number >= FEWEST and _share(number, score) >= COMMON
        }
        if not common:
            continue
        listed = [f"{number} {COMMON_FAULTS[flag]}" for flag, number in common.items()]
        listed[0] = listed[0].replace(" ", f" of {score.answers} answers ", 1)
        largest = max(common.values())
        yield Cause("CAUSE", f"{subject}: {'; '.join(listed)}.", _share(largest, score))


def _scored_tasks(card: Scorecard) -> Iterator[tuple[str, TaskScore]]:
    for model in card.models:
        for task, score in model.tasks.items():
            yield f"{plain(model.model, MAX_NAME_LENGTH)}, {task}", score


def _share(number: int, score: TaskScore) -> float:
    return number / score.answers if score.answers else 0.0


MAX_LENGTH = 800
MODELS_SHOWN = 4
"""Models that are kept out, and those with malformed replies, with a statement each."""
STRICTER_TEST = "the test that decides is stricter than this interval"
"""Said where the interval (BCa) excludes 0 and the test (max-t, exchanges) does not: STATS §3"""
MAY_BE_EQUAL = "no number of {}s is promised: the models may be equal"
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
    models: Sequence[str] = ()
    """The models that it names."""


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
    tone = TONES_OF_WORDS.get(line.word, "plain")
    return Statement(plain(line.word, 20), text, tone, line.models)


def describe_estimate(card: Scorecard) -> str:
    """Say why a scorecard has estimates; empty if it has none        C-125"""
    if not card.estimate:
        return ""
    if card.judging is None and set(tasks_run(card)) == {SCENARIO}:
        return "Estimate: argument values without a verdict count as different."
    return "Offline estimate: built-in rules, no judge."


def describe_separation(above: ModelDifference, one: str, other: str, unit: str = "call") -> str:
    """Return what separates two models, or how many calls would show that        STATS §3, §8"""
    gap = f"{abs(above.value):.3f}"
    if above.significant:
        first, second = (one, other) if above.value > 0 else (other, one)
        return f"{first} is {gap}{_show_limits(above)} above {second}"
    if abs(above.value) <= TOLERANCE:
        return f"{one} and {other} have the same score"
    shown = f"{above.value:+.3f}{_show_limits(above)}"
    if not _has_zero(above):
        shown += f"; {STRICTER_TEST}"
    apart = f"{one} and {other} cannot be distinguished ({shown})"
    if above.calls_needed is None or _has_zero(above):
        return f"{apart}; {MAY_BE_EQUAL.format(unit)}"
    needed = round_up_calls(above.calls_needed)
    return f"{apart}; about {needed} {unit}s would show a difference of {gap}"


def _has_zero(above: ModelDifference) -> bool:
    return above.ci95 is None or above.ci95[0] <= 0 <= above.ci95[1]


def _show_limits(above: ModelDifference) -> str:
    if above.ci95 is None:
        return ""
    low, high = sorted(map(abs, above.ci95)) if above.significant else above.ci95
    return f" [{low:.3f}, {high:.3f}]"


def few_pairs(differing: int, unit: str = "call") -> str:
    """Return `they differ in 4 calls, and no test can show anything below six`        STATS §3"""
    return f"they differ in {show_count(differing, unit)}, and no test can show anything below six"


def describe_unseen(calls: int, unit: str = "call") -> str:
    """Return `13 calls: up to 21 % of calls could fail unseen`, with 95 % confidence    STATS §2"""
    share = 100 * unseen_share(calls)
    places = max(0, 1 - math.floor(math.log10(share)))
    shown = f"{math.ceil(share * 10**places) / 10**places:.{places}f}"
    return f"{show_count(calls, unit)}: up to {shown} % of {unit}s could fail unseen"


_UNIT = re.compile("[a-z ]{1,30}")


def sampled_unit(card: Scorecard) -> str:
    """Return what the intervals of a card are about, in the singular: `call`, `scenario`."""
    if card.intervals is None:
        tasks = {task for model in card.models for task in model.tasks}
        return "scenario" if tasks == {SCENARIO} else "call"
    unit = card.intervals.about.removeprefix("future ").removesuffix("s")
    return unit if _UNIT.fullmatch(unit) else "call"  # a card may come from anywhere


def round_up_calls(calls: int) -> str:
    """Round an estimated number of calls up to two digits: 310, 2,400."""
    step = 10 ** max(0, len(str(calls)) - 2)
    return f"{-(-calls // step) * step:,}"


def show_rank(rank: int | None, band: tuple[int, int] | None) -> str:
    """Return a rank with its band: 1, 1 (1–2); empty without a rank."""
    if rank is None:
        return ""
    return str(rank) if band is None or band[0] == band[1] else f"{rank} ({show_band(band)})"


def show_band(band: tuple[int, int]) -> str:
    """Return a band of ranks: 2, 1–3."""
    best, worst = band
    return str(best) if best == worst else f"{best}–{worst}"
