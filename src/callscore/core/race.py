"""The `race` section of a scorecard: the decision, its cost and its savings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

CALL = "call"
"""What a race draws if it does not say so."""

RaceStatus = Literal["decided", "tie", "none", "open"]
"""`decided`: one model is left; all its calls were evaluated, or `risk` says what they may still
change. `tie`: several models that cannot be distinguished. `none`: no valid model. `open`: not
finished."""


class RaceExit(msgspec.Struct, frozen=True, omit_defaults=True):
    """When and why a model was eliminated."""

    why: str
    """`worse`, `bound` (no later call can change it), `call_gate`, `rate_gate`, `withdrawn`."""
    after_blocks: int
    by: str | None = None
    """The better model."""
    gate: str | None = None


class RaceRisk(msgspec.Struct, frozen=True):
    """What may still keep the decided model out, if its calls were not all evaluated."""

    open_calls: int
    """Its calls that were not evaluated."""
    breach_share: float
    """With 95 % confidence, at most this share of its calls breaches a call gate."""
    tolerated: int
    """The calls among the open ones that may breach a call gate without consequences."""
    open_gates: Sequence[str]
    """Rate gates that are not shown to hold."""


class RacingModel(msgspec.Struct, frozen=True):
    """One model of a race."""

    model: str
    blocks: int
    """Blocks of the model that were read."""
    requests: int
    """Requests that were sent or cached."""
    of_requests: int
    """Requests of the full run."""
    paid_usd: float | None
    saved_usd: float | None
    """The estimated cost of the requests that were not sent."""
    mean_score: tuple[float, float] | None
    """Lower and upper bound of the mean score of its calls; equal if no call failed."""
    out: RaceExit | None
    gates: Mapping[str, str]
    """By rate gate: `held`, `breached` or `open`."""
    finished: bool = False
    """Whether all its calls were evaluated."""
    clearly_worse: bool = False
    """Whether it is shown to be worse than the decided model by more than `clear_margin`."""


class RaceCard(msgspec.Struct, frozen=True):
    """The race of a run."""

    status: RaceStatus
    decision: str | None
    """The only model left: the best by quality."""
    tie_band: Sequence[str]
    """The models left, if there are several."""
    stopped: str
    """Why the race stopped."""
    estimate: bool
    """Whether the race stopped because of an estimate, not of a guarantee."""
    about: str
    """`pool`: the full data set; `future`: future calls like these."""
    alpha: float
    margin: float
    seed: int
    guarantee: str
    blocks: int
    of_blocks: int
    requests: int
    of_requests: int
    saved_requests: float
    """Share of all requests."""
    saved_cost: float | None
    """Estimated share of the cost of all requests; None without prices."""
    models: Sequence[RacingModel]
    clear_margin: float = 0.0
    """`decide.margin` of the run: a model that is worse by more is `clearly_worse`."""
    risk: RaceRisk | None = None
    """What may still keep the decided model out; None if all its calls were evaluated."""
    unit: str | msgspec.UnsetType = msgspec.UNSET
    """What was drawn, if it is not calls: `scenario`."""
    also: Sequence[RaceCard] | msgspec.UnsetType = msgspec.UNSET
    """The races of the other data of the run, each decided by itself: those of scenarios."""

    @property
    def drawn(self) -> str:
        """What was drawn: `call` or `scenario`."""
        return CALL if self.unit is msgspec.UNSET else self.unit

    @property
    def all(self) -> Sequence[RaceCard]:
        """This race and the others of the run."""
        return (self, *(() if self.also is msgspec.UNSET else self.also))
