"""What must be equal for a run to be resumed: the eval file, and the options that change it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class RunKey(NamedTuple):
    """The config of a run as its record stores it: `hash/limit`, `hash/limit/qa=0.5,text=0.5`."""

    fingerprint: str
    limit: int | None = None
    weights: Mapping[str, float] = {}
    """Weights of the command line; empty if those of the file apply (C-82)."""

    def __str__(self) -> str:
        parts = [self.fingerprint, str(self.limit or "all")]
        if self.weights:
            parts.append(",".join(f"{task}={weight!r}" for task, weight in self.weights.items()))
        return "/".join(parts)

    @classmethod
    def parse(cls, stored: str) -> RunKey:
        """The key in a record."""
        fingerprint, limit, weights = [*stored.split("/", 2), "", ""][:3]
        pairs = [pair.rpartition("=") for pair in weights.split(",") if pair]
        return cls(
            fingerprint,
            int(limit) if limit.isdecimal() else None,
            {task: float(weight) for task, _, weight in pairs},
        )
