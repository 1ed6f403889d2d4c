"""Cases that people have labelled, where they lie beside this repository."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from bench.measuring import sized

CASES = Path(__file__).parent.parent.parent / "shared" / "data" / "cases"
RESAMPLES = sized(2000, 20)
SEED = 7


def labelled(name: str) -> list[dict[str, Any]] | None:
    """The cases of a file; None where it is absent."""
    path = CASES / name
    if not path.is_file():
        print(f"{name}: absent, not measured")
        return None
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[:: sized(1, 1 + len(lines) // 24)]]


def part(case: Mapping[str, Any]) -> str:
    """`tuning` or `held-out`, by a hash of the call: rules are shaped on the former only"""
    call = json.dumps(case["transcript"], sort_keys=True).encode()
    return "tuning" if int(sha256(call).hexdigest(), 16) % 2 else "held-out"


def auroc(values: Sequence[float], is_bad: Sequence[bool]) -> float:
    """The chance that a bad case has the higher value, ties counting half; nan without both."""
    from scipy.stats import mannwhitneyu

    bad = [value for value, label in zip(values, is_bad, strict=True) if label]
    good = [value for value, label in zip(values, is_bad, strict=True) if not label]
    if not bad or not good:
        return float("nan")
    return float(mannwhitneyu(bad, good).statistic) / (len(bad) * len(good))


def interval(
    measure: Callable[[Sequence[int]], float], groups: Sequence[Sequence[int]]
) -> tuple[float, float]:
    """95 % of the values over resampled groups of cases (a call is a group)."""
    low, high = span(resampled(measure, groups))
    return float(low), float(high)


def resampled(measure: Callable[[Sequence[int]], Any], groups: Sequence[Sequence[int]]) -> Any:
    """The measure, one number or several, on each of the resamples."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    return np.array(
        [
            measure(
                [index for g in rng.integers(0, len(groups), len(groups)) for index in groups[g]]
            )
            for _ in range(RESAMPLES)
        ]
    )


def span(values: Any) -> Any:
    """The lower and the upper end of the middle 95 %."""
    import numpy as np

    return np.nanpercentile(values, [2.5, 97.5], axis=0)
