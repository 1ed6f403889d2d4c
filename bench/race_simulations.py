"""Simulated evaluations with a known truth, for the proofs of the race and for `bench/race.py`.

Scores of a call go together over its tasks and over the models, as those of real calls do: a
difficult call is difficult for everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from callscore.stats.race import CallOutcome, Race, RaceRules, RaceState
from callscore.stats.race_schedule import Population, make_schedule
from callscore.stats.race_tests import RateGate

Scores = NDArray[np.float64]
"""models × calls × tasks"""
WEIGHTS = {"qa": 0.35, "entity": 0.2, "text": 0.3, "translation": 0.15}
TASKS = tuple(WEIGHTS)
MOST_ITEMS = 12
GATE = RateGate("text.fabrication_free", "text", 0.03, MOST_ITEMS)
CALL_GATE = "text.structure"


class Evaluation(NamedTuple):
    """What every model would score on every call, and the truth that follows."""

    scores: Scores
    events: Scores
    """models × calls: fabricated facts."""
    items: Scores
    """models × calls: all facts."""
    breached: NDArray[np.bool_]
    """models × calls: unreadable answers."""
    tolerance: float = 0.0
    most_items: float = MOST_ITEMS
    """The facts of the fullest reference."""

    @property
    def finals(self) -> Scores:
        """By model, the Final of the full data."""
        weights = list(WEIGHTS.values())
        found: Scores = np.einsum("mct,t->m", self.scores, weights) / self.scores.shape[1]
        return found

    @property
    def valid(self) -> NDArray[np.bool_]:
        """By model, whether the full data breaches no gate."""
        rate = self.events.sum(axis=1) / np.maximum(1, self.items.sum(axis=1))
        share = self.breached.mean(axis=1)
        found: NDArray[np.bool_] = (rate <= GATE.limit + 1e-9) & (share <= self.tolerance + 1e-9)
        return found


class Finished(NamedTuple):
    """A race on an evaluation, beside the full run."""

    state: RaceState
    paid: float
    """The share of all answers that it paid for."""
    lost_best: bool
    """The best valid model of the full data was dropped."""
    dropped_any: bool
    beaten_by_invalid: bool
    """What dropped the best is better but breaches a gate that nothing had shown yet."""
    disqualified: bool
    """The full run disqualifies the named winner."""
    wrong: bool
    """The named winner is not the best valid model of the full run."""


Gating = Literal["none", "clean", "mixed", "late", "uneven"]
LATE_BREACHES = 1.0
"""Broken answers that the best model has in all its calls, on average."""


def simulate(
    random: np.random.Generator, means: Sequence[float], calls: int, gating: Gating = "none"
) -> Evaluation:
    """Calls of four tasks, with gates

    `mixed`: the last model fabricates, the one before breaks its answers, where there are more
    than two. `late`: one broken answer disqualifies, and the best model has one in all its calls
    or none. `uneven`: calls differ in their number of facts, and only those with few are
    fabricated in, so that the rate of all facts is close to its limit.
    """
    k = len(means)
    difficulty = random.normal(0, 0.08, (1, calls, 1)) + random.normal(0, 0.05, (1, calls, 4))
    own = random.normal(0, 0.06, (k, calls, 1)) + random.normal(0, 0.12, (k, calls, 4))
    scores = np.clip(np.array(means)[:, None, None] + difficulty + own, 0, 1)
    fabricating, breaking = np.full(k, 0.005), np.full(k, 0.001)
    if gating in ("none", "late"):
        fabricating[:], breaking[:] = 0, 0
    if gating == "late":
        breaking[0] = LATE_BREACHES / calls
    if gating == "mixed":
        fabricating[-1] = 0.08
        breaking[-2] = 0.08 if k > 2 else breaking[-2]
    items = random.integers(0, 13, (k, calls)).astype(float)
    rates = random.beta(0.5 + 1e-9, 0.5 / np.maximum(fabricating, 1e-9) - 0.5, (calls, k)).T
    events = random.binomial(items.astype(int), np.where(fabricating[:, None] > 0, rates, 0))
    breached = random.random((k, calls)) < breaking[:, None]
    scores[breached] = 0
    found = Evaluation(scores, events.astype(float), items, breached, tolerance=0.02)
    if gating == "late":
        return found._replace(tolerance=0.0)
    return _with_uneven_items(random, found) if gating == "uneven" else found


def _with_uneven_items(random: np.random.Generator, found: Evaluation) -> Evaluation:
    """Answers have some facts more or fewer than a reference, which has 4 or up to 80"""
    k, calls = found.items.shape
    reference = np.clip(np.round(np.exp(random.normal(1.4, 0.9, calls))), 1, 80)
    items = np.maximum(0, reference + random.integers(-2, 4, (k, calls)))
    few = items <= np.median(reference)
    rate = np.minimum(1, 0.95 * GATE.limit * items.sum(axis=1) / (items * few).sum(axis=1))
    events = random.binomial((items * few).astype(int), rate[:, None]).astype(float)
    return found._replace(items=items, events=events, most_items=float(reference.max()))


def permuted(found: Evaluation, random: np.random.Generator) -> Evaluation:
    """Who gave which answers is drawn anew for every call: nobody is better than another"""
    order = np.argsort(random.random(found.scores.shape[:2]), axis=0)
    return found._replace(
        scores=np.take_along_axis(found.scores, order[:, :, None], axis=0),
        events=np.take_along_axis(found.events, order, axis=0),
        items=np.take_along_axis(found.items, order, axis=0),
        breached=np.take_along_axis(found.breached, order, axis=0),
    )


def race(
    found: Evaluation, *, about: Population = "pool", seed: int = 0, rules: RaceRules | None = None
) -> Finished:
    """The race over an evaluation, asked for no more than it wants."""
    k, calls, tasks = found.scores.shape
    names, ids = [f"m{i}" for i in range(k)], [f"c{i:05d}" for i in range(calls)]
    with_gates = bool(found.events.any() or found.breached.any())
    rules = rules or RaceRules(
        gates=[GATE._replace(max_items=found.most_items)] if with_gates else [],
        call_gates={CALL_GATE: "text"},
        tolerance=found.tolerance,
    )
    kind = tuple(sorted(TASKS[:tasks]))
    running = Race(make_schedule(dict.fromkeys(ids, kind), WEIGHTS, seed, about), names, rules)
    place = {call: at for at, call in enumerate(ids)}
    paid = 0
    while wanted := running.missing_calls():
        for model, missing in wanted.items():
            m = names.index(model)
            for call in missing:
                running.observe(model, call, outcome(found, m, place[call]))
            paid += len(missing)
        assert running.advance()
    state = running.state()
    return _judged(found, names, state, paid / (k * calls))


def outcome(found: Evaluation, model: int, call: int) -> CallOutcome:
    scores = found.scores[model, call].tolist()
    return CallOutcome(
        {task: (score, score) for task, score in zip(TASKS, scores, strict=False)},
        {GATE.slug: (float(found.events[model, call]), float(found.items[model, call]))},
        frozenset([CALL_GATE]) if found.breached[model, call] else frozenset(),
    )


def _judged(found: Evaluation, names: Sequence[str], state: RaceState, paid: float) -> Finished:
    dropped = state.eliminated
    valid, finals = found.valid, found.finals
    named = None if state.winner is None else names.index(state.winner)
    disqualified = named is not None and not valid[named]
    if not valid.any():
        return Finished(state, paid, False, bool(dropped), False, disqualified, disqualified)
    best_score = finals[valid].max()
    best = [m for m, name in enumerate(names) if valid[m] and finals[m] >= best_score - 1e-12]
    lost = all(names[m] in dropped for m in best)
    by = [dropped[names[m]].by for m in best if names[m] in dropped]
    rightly = lost and any(
        name is not None and finals[names.index(name)] > best_score for name in by
    )
    wrong = disqualified or (named is not None and finals[named] < best_score - 1e-12)
    return Finished(state, paid, lost and not rightly, bool(dropped), rightly, disqualified, wrong)
