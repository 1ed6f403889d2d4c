"""The words by which a run of scenarios is set up; light, so that an eval file reads at once."""

from __future__ import annotations

from typing import Literal

Mode = Literal["standard", "compat"]
"""Which reading scores: document 001, or the public evaluator's (C-128)."""
ProtocolName = Literal["callscore", "public"]
"""Whose way of asking is used: ours, or the public runner's (C-133)."""
History = Literal["gold", "own"]
"""What a model sees of earlier steps: the gold answers; or in a second pass its own, too."""
