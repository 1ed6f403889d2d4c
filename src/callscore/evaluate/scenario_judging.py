"""What judging the scenarios of several models took."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.judging_summary import Judging


def judging_together(judgings: Sequence[Mapping[str, Any]]) -> Judging | None:
    """The judge and what it did, all models and languages together; None if none was asked."""
    found = [msgspec.convert(raw, Judging) for raw in judgings]
    if not found:
        return None
    rejudged = sum(each.rejudged for each in found)
    flipped = math.fsum((each.flip_rate or 0.0) * each.rejudged for each in found)
    costs = [each.cost_usd for each in found]
    known = [cost for cost in costs if cost is not None]
    return msgspec.structs.replace(
        found[0],
        items=sum(each.items for each in found),
        requests=sum(each.requests for each in found),
        input_tokens=sum(each.input_tokens for each in found),
        output_tokens=sum(each.output_tokens for each in found),
        cost_usd=math.fsum(known) if len(known) == len(costs) else None,
        disputed=sum(each.disputed for each in found),
        rejudged=rejudged,
        flip_rate=flipped / rejudged if rejudged else None,
        failed=sum(each.failed for each in found),
        similarities=sum(each.similarities for each in found),
        overlap=list(dict.fromkeys(model for each in found for model in each.overlap)),
        flags=_added(each.flags for each in found),
        answered_by=list(dict.fromkeys(name for each in found for name in each.answered_by)),
        flip_rate_ci95=found[0].flip_rate_ci95 if len(found) == 1 else msgspec.UNSET,
    )


def _added(counts: Iterator[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in counts:
        for flag, number in each.items():
            total[flag] = total.get(flag, 0) + number
    return dict(sorted(total.items()))
