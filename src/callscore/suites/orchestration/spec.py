"""Reads `spec.toml`, the only source of the numbers of document 001."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from callscore.core.resources import read_table
from callscore.core.scenarios import PublicProtocol
from callscore.core.spec import Spec, read_spec


class PlanSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Weights of the step score, costs of the component graph, budget of the search (C-117)."""

    structural_weight: float
    component_weight: float
    agent_changed: float
    status_changed: float
    both_changed: float
    budget: int


class TextLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits on the size and nesting of untrusted texts."""

    text_bytes: int
    nesting: int
    alias_values: int
    """Values of a YAML text with aliases, each alias counted as its anchor."""


class SingleTurnSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which calls of an action list are read-only, and how similar the texts of equal nodes are."""

    reading_prefixes: tuple[str, ...]
    reading_tools: tuple[str, ...]
    same_node: float


class CompatSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The intermediate rounding of the public evaluator, and limits on its parsing."""

    decimals: int
    loop_budget: int
    text_characters: int
    merged_aliases: int


class OrchestrationSpec(msgspec.Struct, frozen=True):
    """The numbers in `spec.toml` besides the rows of the scorecard, which `core.spec.Spec` has."""

    framework: str
    decimals: int
    plan: PlanSpec
    limits: TextLimits
    compat: CompatSpec
    public_protocol: PublicProtocol
    single_turn: SingleTurnSpec = msgspec.field(name="foreign")


@cache
def card_spec() -> Spec:
    """The rows of the scorecard and their weights; cached."""
    return read_spec(Path(__file__).with_name("spec.toml"))


@cache
def spec() -> OrchestrationSpec:
    """The numbers of document 001; cached."""
    return msgspec.convert(read_table(Path(__file__).with_name("spec.toml")), OrchestrationSpec)
