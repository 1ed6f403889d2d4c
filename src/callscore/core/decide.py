"""How a scorecard is read: `decide` in eval files (C-138)."""

from __future__ import annotations

import msgspec

BY = ("recommended", "quality", "efficiency")


class Decide(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`decide`: what the recommended model is chosen by."""

    by: str = BY[0]
    """`recommended`: the cheapest model that is not worse than the best. `quality`: the best.
    `efficiency`: the framework's cost efficiency."""
    margin: float = 0.02
    """A model whose Final Score is lower by at most this much is not worse."""
    allow_fail: bool = False
    """Whether a model with a row rated Fail may be recommended."""


AS_RECOMMENDED = Decide()
