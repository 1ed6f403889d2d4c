"""What a race decided, what it paid and what it saved: the `race` section of a scorecard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

RaceStatus = Literal["decided", "tie", "none", "open"]
"""One model is left; several that cannot be distinguished; no valid one; it ended before that."""


class OutOfRace(msgspec.Struct, frozen=True, omit_defaults=True):
    """When a model left the race, and why."""

    why: str
    """`worse`, `bound` (the rest could not bring it up), `call_gate`, `rate_gate`, `withdrawn`."""
    after_blocks: int
    by: str | None = None
    """The better model."""
    gate: str | None = None


class RacingModel(msgspec.Struct, frozen=True):
    """One model's part of a race."""

    model: str
    blocks: int
    """Blocks that were read of it."""
    requests: int
    """Requests it was asked, cached ones included."""
    of_requests: int
    """Requests of the full run."""
    paid_usd: float | None
    saved_usd: float | None
    """What the requests that were not asked would have cost, at the mean of the others."""
    mean_score: tuple[float, float] | None
    """Mean score of its calls under the Final's weights: least and most, where calls failed."""
    out: OutOfRace | None
    gates: Mapping[str, str]
    """By rate gate: `held`, `breached` or `open`."""


class RaceCard(msgspec.Struct, frozen=True):
    """The race of a run."""

    status: RaceStatus
    decision: str | None
    """The only model left."""
    tie_band: Sequence[str]
    """The models left, if there are several."""
    stopped: str
    """Why no further round was asked."""
    estimate: bool
    """Whether it stopped on an estimate, not on a guarantee."""
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
    """Share of what all requests would have cost, estimated; None without prices."""
    models: Sequence[RacingModel]
