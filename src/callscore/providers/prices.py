"""Prices of models: the user's, else a dated snapshot, else unknown (never zero)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files

import msgspec

from callscore.core.run import ModelSpec, Price
from callscore.providers import anthropic, gemini, openai

_BEDROCK = "https://bedrock-runtime.us-east-1.amazonaws.com"
_HOMES = {
    "openai": openai.BASE_URL,
    "anthropic": anthropic.BASE_URL,
    "gemini": gemini.BASE_URL,
    "bedrock": _BEDROCK,
}
_SPECIFICITY = "~$^/="
"""How a name may match, loosest first: contains, ends with, starts with, fits a pattern, equals."""


class _Vendor(msgspec.Struct, frozen=True):
    """A vendor at one address; `also` lists vendors with the same prices."""

    url: str
    models: Sequence[tuple[str, float, float]]
    also: Sequence[str] = ()


class Snapshot(msgspec.Struct, frozen=True):
    """Prices on a given day."""

    date: str
    source: str
    unit: str
    vendors: Mapping[str, _Vendor]


@lru_cache(maxsize=1)
def snapshot() -> Snapshot:
    """The bundled price list."""
    text = files("callscore.providers").joinpath("prices.json").read_bytes()
    return msgspec.json.decode(text, type=Snapshot)


def price_for(spec: ModelSpec) -> Price | None:
    """The price of a model; None if it is unknown, which is not the same as free."""
    if spec.price is not None:
        return spec.price
    home = _HOMES.get(spec.provider)
    return find_price(spec.base_url or home, spec.model) if home else None


@lru_cache(maxsize=256)
def find_price(base_url: str, model: str) -> Price | None:
    """The price in the snapshot, for the name that matches a model most closely.

    A model is looked up at the vendor of its `base_url`, so that a model of the same name on your
    own machine has no price.
    """
    vendors = snapshot().vendors
    own = [vendor for vendor in vendors.values() if _matches_address(vendor, base_url)]
    for vendor in [*own, *(vendors[name] for v in own for name in v.also if name in vendors)]:
        price = _best(vendor.models, model.lower().removeprefix("models/"))
        if price is not None:
            return price
    return None


def _matches_address(vendor: _Vendor, base_url: str) -> bool:
    """Whether an address is the vendor's, and not merely one with the same prefix."""
    match = re.match(vendor.url, base_url)
    if match is None:
        return False
    return base_url[match.end() - 1] in "/." or base_url[match.end() : match.end() + 1] in "/:?"


def _best(models: Sequence[tuple[str, float, float]], model: str) -> Price | None:
    fits = [
        (_SPECIFICITY.index(clause[0]), len(clause), row)
        for row, (clauses, _, _) in enumerate(models)
        for clause in clauses.split()
        if _fits(clause[0], clause[1:], model)
    ]
    if not fits:
        return None
    _, cost_in, cost_out = models[max(fits)[2]]
    return Price(cost_in, cost_out)


def _fits(sign: str, text: str, model: str) -> bool:
    if sign == "=":
        return model == text.lower()
    if sign == "/":
        return re.search(text, model) is not None
    if sign == "^":
        return model.startswith(text.lower())
    return model.endswith(text.lower()) if sign == "$" else text.lower() in model
