"""95 % intervals of the orchestration numbers: bootstrap over scenarios        STATS §2

A scenario is the unit: its steps and runs move together. The numbers of a resample follow from
sums over its scenarios, by the formulas of `final` (standard) or `compat.evaluation` (compat).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from callscore.core.measure import Measure
from callscore.stats.bca import IntervalEstimate, bca_interval
from callscore.stats.intervals import LEVEL
from callscore.stats.matrix import CallMatrix, Units
from callscore.stats.rates import rule_of_three_interval
from callscore.stats.resampling import RESAMPLES, SEED, Replicates, make_replicates
from callscore.suites.orchestration.decision.confusion import Confusion
from callscore.suites.orchestration.result_format import Layout
from callscore.suites.orchestration.rows import Row

if TYPE_CHECKING:
    from callscore.stats.matrix import Floats

FEW_SCENARIOS = 15
ABOUT = "future scenarios"

WORKFLOW = "score_details.workflow_scores."
CALLS = "score_details.function_call_scores."
DECISIONS = "score_details.call_rejection_scores."
MEANS: Mapping[str, tuple[str, str]] = {
    f"{WORKFLOW}workflow_evaluation_with_failure": ("plan", "with_failure"),
    f"{WORKFLOW}workflow_evaluation_without_failure": ("plan", "without_failure"),
    f"{WORKFLOW}average_structural_GED": ("plan", "structural"),
    f"{WORKFLOW}average_component_GED": ("plan", "component"),
    f"{CALLS}function_name_accuracy": ("call", "name"),
    f"{CALLS}arguments_key_score": ("call", "key"),
    f"{CALLS}arguments_value_score_not_count_rejection": ("call", "value"),
}
"""Means over scenarios, by their path in the document, and the attribute of a row."""

CELLS = Confusion.__struct_fields__
KEY = "key_metrics."
CRC = f"{KEY}Call Rejection Classification Accuracy"

Numbers = dict[str, "Floats"]
Found = Mapping[tuple[str, ...], Replicates]


def resampled(rows: Sequence[Row], *, is_compat: bool, resamples: int = RESAMPLES) -> Found:
    """Every number of one language by its path, resampled over its scenarios.

    Languages with the same number of scenarios are resampled with the same draws: their files
    are translations of each other, in the same order.
    """
    import numpy as np

    lines: dict[str, list[float]] = {}
    for row in rows:
        for name, value in _columns(row, is_compat=is_compat).items():
            lines.setdefault(name, []).append(value)
    names = list(lines)
    units = Units(np.arange(len(rows), dtype=np.uint64), len(rows))
    place = {("", name, "total"): at for at, name in enumerate(names)}
    matrix = CallMatrix(units, place, np.array([lines[name] for name in names], np.float64))
    whole = _numbers(dict(zip(names, matrix.sums.sum(axis=1, keepdims=True), strict=True)))
    undefined = frozenset(path for path, value in whole.items() if np.isnan(value[0]))

    def statistic(sums: Sequence[Floats]) -> list[dict[tuple[str, ...], Floats]]:
        numbers = _numbers(dict(zip(names, sums[0], strict=True)))
        numbers |= _key_numbers(numbers, undefined)
        return [{(path,): values for path, values in numbers.items()}]

    return make_replicates([matrix], statistic, SEED, resamples)[0]


def _columns(row: Row, *, is_compat: bool) -> dict[str, float]:
    """The contribution of one scenario to every sum."""
    found: dict[str, float] = {}
    for path, (part, name) in MEANS.items():
        measure: Measure = getattr(getattr(row, part), name)
        counts = is_compat or measure.value is not None
        found[path], found[f"{path}/n"] = measure.value or 0.0, float(counts)
    confusion = row.confusion
    for cell in CELLS:
        found[cell] = getattr(confusion, cell)
    found["cases"] = row.call_cases if is_compat else confusion.call_cases
    if is_compat:  # types and failures are not in these rows (Q29)
        found |= {
            "reject_same_type": confusion.tp_reject,
            "reject_other_type": 0,
            "fc_failed": 0,
            "reject_failed": 0,
        }
    return found


def _numbers(sums: Mapping[str, Floats]) -> Numbers:
    """The numbers of document 001 from sums; NaN if undefined        C-113, C-119"""
    import numpy as np

    found: Numbers = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        for path in MEANS:
            found[path] = sums[path] / sums[f"{path}/n"]
        rejected = sums["reject_same_type"] + sums["reject_other_type"]
        in_fc = rejected + sums["reject_failed"]
        missed = sums["fc_reject"] + sums["fc_failed"]
        reject = (rejected, sums["fc_reject"], sums["reject_fc"], sums["fc_fc"])
        call = (sums["fc_fc"], sums["reject_fc"], missed, in_fc)
        for name, cells in (("reject", reject), ("fc", call)):
            for part, values in _decision(*cells).items():
                found[f"{DECISIONS}{name}_decision_performance.{part}"] = values
        found[f"{DECISIONS}rejection_type_accuracy"] = sums["reject_same_type"] / rejected
        failed = (sums["cases"] - sums["fc_fc"]) / sums["cases"]
        found[f"{CALLS}overall_function_call_failed_rate"] = failed
    return found


def _decision(tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Numbers:
    """P = TP/(TP+FP), R = TP/(TP+FN), F1 = 2PR/(P+R), A = (TP+TN)/all four        001, C-108"""
    return {
        "precision": tp / (tp + fp),
        "recall": tp / (tp + fn),
        "f1": 2 * tp / (2 * tp + fp + fn),
        "accuracy": (tp + tn) / (tp + fp + fn + tn),
    }


def _key_numbers(found: Numbers, undefined: Set[str]) -> Numbers:
    """CRC = mean of both F1; FC = mean of name, key, value; Plan; their mean        001, C-120

    A part that no scenario defines counts 0 (C-113). A resample that lacks a part has no number:
    whether a rejection was due depends on the data, not on the model.
    """
    import numpy as np

    def counted(path: str, known: Numbers) -> Floats:
        return np.zeros_like(known[path]) if path in undefined else known[path]

    def mean(paths: Sequence[str], known: Numbers) -> Floats:
        parts = np.array([counted(path, known) for path in paths])
        return np.asarray(parts.sum(axis=0) / len(paths), np.float64)

    names = list(MEANS)
    f1 = [f"{DECISIONS}{name}_decision_performance.f1" for name in ("reject", "fc")]
    keys: Numbers = {
        CRC: mean(f1, found),
        f"{KEY}FC": mean(names[4:7], found),
        f"{KEY}Plan": counted(names[0], found),
    }
    keys[f"{KEY}Average"] = mean(list(keys), keys)
    return keys


def intervals(found: Found, statistics: Layout, scenarios: int) -> dict[str, Any]:
    """The intervals of all numbers that a result has, by their path        STATS §2"""
    limits = {
        path: interval_of(numbers, scenarios)
        for (path,), numbers in found.items()
        if _has_value(statistics, path)
    }
    return {
        "level": LEVEL,
        "about": ABOUT,
        "scenarios": scenarios,
        "few_scenarios": scenarios < FEW_SCENARIOS,
        "resamples": RESAMPLES,
        "seed": SEED,
        "ci95": {path: [found.low, found.high] for path, found in limits.items() if found},
    }


def interval_of(numbers: Replicates, scenarios: int) -> IntervalEstimate | None:
    """BCa over scenarios; if all are equal, the limits that their number allows"""
    bounds = bca_interval(numbers, scenarios)
    if bounds is not None and bounds.method == "all_equal":
        bounds = rule_of_three_interval(bounds.low, scenarios, (0.0, 1.0))
    return bounds


def _has_value(statistics: Layout, path: str) -> bool:
    found: Any = statistics
    for key in path.split("."):
        found = found[key]
    return isinstance(found, Measure) and found.value is not None


def mean_intervals(
    languages: Sequence[Found], scenarios: Sequence[int], paths: Sequence[str]
) -> dict[str, IntervalEstimate]:
    """The intervals of the mean of one or more languages."""
    import numpy as np

    shown: dict[str, IntervalEstimate] = {}
    for path in paths:
        of_languages = [found[path,] for found in languages]
        together = Replicates(
            float(np.mean([one.estimate for one in of_languages])),
            np.mean([one.resampled for one in of_languages], axis=0),
            _jackknife_of_mean([one.jackknife for one in of_languages]),
        )
        bounds = interval_of(together, min(scenarios))
        if bounds is not None:
            shown[path] = bounds
    return shown


def _jackknife_of_mean(of_languages: Sequence[Floats]) -> Floats:
    """The mean with one scenario left out, in every language if they are translations."""
    import numpy as np

    if len({len(one) for one in of_languages}) == 1:
        return np.asarray(np.mean(of_languages, axis=0), np.float64)
    centred = [(one - one.mean()) / len(of_languages) for one in of_languages]
    return np.concatenate(centred)
