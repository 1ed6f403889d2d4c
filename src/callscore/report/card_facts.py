"""The numbers of a scorecard as the sentences of its decision show them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from callscore.core.scorecard import FINAL, Decide, ModelScore, Scorecard
from callscore.core.signature import parts_of
from callscore.core.spec import Spec
from callscore.report.cells import show_score_interval
from callscore.report.decision import sampled_unit
from callscore.report.names import marked_name, marked_names, origins_of
from callscore.report.numbers import show, show_count, show_interval, show_money
from callscore.report.safe_text import plain
from callscore.scorecard.decision import (
    ModelDifference,
    calls_of,
    difference,
    is_in_question,
    is_kept_out,
)


class CardFacts:
    """The numbers of a card as words."""

    def __init__(self, card: Scorecard, spec: Spec, decide: Decide) -> None:
        self.card, self.spec, self.decide = card, spec, decide
        self.unit = sampled_unit(card)
        self.origins = origins_of(card.models)
        names = {model.model for model in card.models}
        self.ranking = [line for line in card.ranking if line.model in names]
        heading = plain(card.final_heading, 80)
        self.heading = "Final" if heading == FINAL else heading

    @property
    def call_gate_tolerance(self) -> float:
        """The share of calls that may breach a call gate; the signature names it if it is set."""
        settings = parts_of(self.card.signature).get("settings", "")
        found = re.search(r"\bcall_gate_tolerance=([0-9]+(?:\.[0-9]+)?)", settings)
        return float(found[1]) if found else 0.0

    def name(self, model: str) -> str:
        """The marked name of a model."""
        return marked_name(model, self.origins)

    def names(self, models: Sequence[str]) -> str:
        """The marked names of several models."""
        return marked_names(models, self.origins)

    def cost(self, model: str) -> float | None:
        """The cost of 1000 calls."""
        return self.card.model(model).cost.per_1000_calls

    def price(self, *models: str, joint: str = " and ") -> str:
        """Return `$1.20 per 1000 calls`, of several models each different price once."""
        costs = [self.cost(model) for model in models]
        known = [show_money(cost) for cost in costs if cost is not None]
        if len(known) < len(costs):
            return "price unknown"
        return f"{joint.join(dict.fromkeys(known))} per 1000 {self.unit}s"

    def score(self, model: str) -> str:
        """Return `0.912 [0.880–0.940]`, corrected if labels correct it        STATS §5"""
        final = self.card.model(model).final
        if final.corrected is None:
            return f"{show(final.score or 0.0)} {show_score_interval(final)}".strip()
        interval = final.corrected.ci95
        limits = "" if interval is None else f" {show_interval(interval)}"
        return f"{show(final.corrected.value)}{limits}"

    def labels(self, model: str) -> str:
        """Return `corrected by 120 labels`; empty if they do not correct the Final."""
        corrected = self.card.model(model).final.corrected
        return "" if corrected is None else f"corrected by {show_count(corrected.labels, 'label')}"

    def above(self, one: str, other: str) -> ModelDifference:
        """How far one model is above another."""
        return difference(self.card, one, other)

    def is_in_question(self, model: ModelScore) -> bool:
        """Whether a model may be recommended."""
        return is_in_question(model, self.decide.allow_fail)

    def is_kept_out(self, model: ModelScore) -> bool:
        """Whether a gate, a row rated Fail or the floor keeps a model out."""
        return is_kept_out(model, self.decide.allow_fail)

    def these_calls(self, model: str) -> str:
        """Return `these 50 calls`."""
        calls = calls_of(self.card.model(model))
        return f"this one {self.unit}" if calls == 1 else f"these {calls:,} {self.unit}s"
