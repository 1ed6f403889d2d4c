"""Writes `src/callscore/providers/prices.json`: python docs/prices_snapshot.py

Needs the package genai-prices, installed apart from the development environment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "src" / "callscore" / "providers" / "prices.json"
SIGNS = {"equals": "=", "regex": "/", "starts_with": "^", "ends_with": "$", "contains": "~"}


def clauses(match: Any) -> Iterator[str]:
    """The alternatives of a match, each with a sign for its kind; others are left out."""
    for alternative in getattr(match, "or_", None) or [match]:
        both = {type(part).__name__: part for part in getattr(alternative, "and_", ())}
        if both.keys() == {"ClauseStartsWith", "ClauseRegex"}:
            # the pattern only looks ahead, so the start of the name may follow it
            start, unless = both["ClauseStartsWith"].starts_with, both["ClauseRegex"].regex
            yield f"/{unless}{re.escape(start)}"
        for name, sign in SIGNS.items():
            if hasattr(alternative, name):
                yield sign + getattr(alternative, name)


def dollars(price: Any) -> float | None:
    """Dollars per million tokens; of a tiered price the first tier."""
    amount = getattr(price, "base", price)
    return float(amount) if isinstance(amount, Decimal) else None


def rows(models: Any, now: datetime) -> Iterator[list[Any]]:
    """One row a model: its names, dollars for input, dollars for output."""
    for model in models:
        price = model.get_prices(now)
        told, found = (dollars(price.input_mtok), dollars(price.output_mtok)), clauses(model.match)
        names = " ".join(sorted({name for name in found if " " not in name}))
        if names and None not in told:
            yield [names, *told]


def main() -> None:
    """Write the snapshot of today."""
    from genai_prices.data import providers

    now = datetime.now(UTC)
    vendors = {
        vendor.id: {
            "url": vendor.api_pattern,
            "also": vendor.fallback_model_providers or [],
            "models": list(rows(vendor.models, now)),
        }
        for vendor in providers
    }
    snapshot = {
        "date": now.date().isoformat(),
        "source": f"genai-prices {version('genai-prices')}, read by docs/prices_snapshot.py",
        "unit": "USD per million tokens: input, output; of tiered prices the first tier",
        "vendors": {name: vendor for name, vendor in vendors.items() if vendor["models"]},
    }
    lines = json.dumps(snapshot, separators=(",", ":")).replace('],["', '],\n["')
    TARGET.write_text(lines + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
