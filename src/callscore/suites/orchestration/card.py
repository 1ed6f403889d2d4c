"""The result of one model as a column of a scorecard: rows, task score, cost (001 Key Metrics)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from callscore.core.interval import Interval
from callscore.core.measure import Measure
from callscore.core.scenarios import Headline, ScenarioCost, Spread
from callscore.core.scorecard import Cost, CostStatus, MetricScore, TaskScore
from callscore.core.spec import DIGEST_BYTES, MetricSpec, ScoreSpec, Spec
from callscore.core.task import SCENARIO
from callscore.suites.orchestration.intervals import FEW_SCENARIOS

AVERAGE = f"{SCENARIO}.average"
LABELS = {
    "orchestration.plan": (f"{SCENARIO}.plan", "001 Plan, C-118", "Plan"),
    "orchestration.fc": (f"{SCENARIO}.fc", "001 FC, C-115", "Function Calling"),
    "orchestration.classification": (
        f"{SCENARIO}.classification",
        "001 Call/Rejection Classification, C-113",
        "Call / Rejection",
    ),
    "orchestration.average": (AVERAGE, "001 Average, C-120", "Average"),
}
"""By headline number: the row, its section of the document, and its label."""


@cache
def scenario_spec() -> Spec:
    """Rows without bands or blockers: document 001 has none. The score is the Average."""
    raw = Path(__file__).with_name("spec.toml").read_bytes()
    return Spec(
        framework="001",
        tasks=(SCENARIO,),
        scores={SCENARIO: ScoreSpec("Scenario", weights={AVERAGE: 1.0}, section="SCENARIOS (001)")},
        metrics={
            slug: MetricSpec(section=section, label=label, template_row=slug != AVERAGE)
            for slug, section, label in LABELS.values()
        },
        final={"b": {SCENARIO: 1.0}},
        digest=hashlib.blake2b(raw, digest_size=DIGEST_BYTES).hexdigest(),
    )


def task_score(headline: Headline) -> TaskScore:
    """The headline numbers as rows; the Average is official if nothing is open."""
    average = headline.numbers["orchestration.average"]
    official = headline.complete and average.value is not None and not average.approximate
    spread = headline.spreads.get("orchestration.average")
    share = headline.evaluated / headline.scenarios if headline.scenarios else None
    failed = headline.scenarios - headline.evaluated
    return TaskScore(
        status="valid" if headline.complete and average.value is not None else "incomplete",
        score=average.value if headline.complete else None,
        ungated_score=average.value,
        reasons=() if headline.complete else (f"{failed} scenarios could not be evaluated",),
        n=headline.evaluated,
        cases=headline.scenarios,
        official=official,
        coverage=share,
        blocked_calls=0,
        subscores={},
        metrics={
            slug: _metric(headline.numbers[name], headline.spreads.get(name), headline.evaluated)
            for name, (slug, _, _) in LABELS.items()
        },
        ci95=_ends(spread) if headline.complete else None,
        ci95_method=spread.method if spread is not None and headline.complete else None,
        few_calls=spread is not None and headline.evaluated < FEW_SCENARIOS,
        ungated_ci95=_ends(spread),
        calls=headline.evaluated if spread is not None else 0,
    )


def _ends(spread: Spread | None) -> Interval | None:
    return None if spread is None else (spread.low, spread.high)


def _metric(number: Measure, spread: Spread | None, scenarios: int) -> MetricScore:
    return MetricScore(
        value=number.value,
        why=number.why or None,
        unit="fraction",
        rating=None,
        meets_threshold=None,
        macro=number.value,
        micro=None,
        n=scenarios,
        ci95=_ends(spread),
        approximate=number.approximate,
        vacuous=False,
        gate_value=None,
        ci95_method=None if spread is None else spread.method,
        few_calls=spread is not None and scenarios < FEW_SCENARIOS,
    )


def cost_of(parts: Sequence[ScenarioCost]) -> Cost:
    """1000 × spend / scenarios asked: a scenario counts as a call        C-83"""
    answers = sum(part.answers for part in parts)
    asked = sum(part.scenarios for part in parts)
    spends = [part.usd for part in parts]
    known = [usd for usd in spends if usd is not None]
    if not answers or not asked or len(known) < len(spends):
        return Cost("unknown", "USD", None, None, answers)
    total = math.fsum(known)
    per_1000 = 1000 * total / asked
    status: CostStatus = "known" if per_1000 else "zero"
    return Cost(status, "USD", per_1000, total, answers, {SCENARIO: 1000 * total / answers})
