"""`callscore judge`: test and calibrate a judge."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from callscore.cli.console import say
from callscore.cli.options import STORE, VariadicCommand, trust_option
from callscore.config.score import default_embedder, judge_choice

if TYPE_CHECKING:
    from callscore.evaluate.judge_validation import MetricCalibration
    from callscore.judges.reliability import ReliabilityCheck
    from callscore.store.address import StoreAddress

FILE = click.Path(path_type=Path)


@click.group()
def judge() -> None:
    """Test a judge, and compare it with people."""


@judge.command()
@click.argument("config", metavar="offline|FILE")
@click.option("--store", type=STORE, help="Store the judge's replies here (.callscore/runs.db).")
@click.option("--json", "json_file", type=FILE, help="Write the result as JSON.")
@trust_option
def check(config: str, store: StoreAddress | None, json_file: Path | None) -> None:
    """Test a judge with changes that must, or must not, change its verdicts.

    Repeats, other orders and layouts, padding and rephrasing must not change a verdict; swapped
    amounts, negations and a wrong reference must. Exits with 1 if a limit is not met: such a judge
    can be used, but its metrics are uncalibrated.

    \b
    callscore judge check judge.yaml
    """
    from callscore.config.score import DEFAULT_STORE, ScoreConfig
    from callscore.core.errors import GateFailed, Inconclusive
    from callscore.evaluate.judge_validation import check_judge
    from callscore.store.files import check_targets

    check_targets((json_file,), (Path(config),))
    who = judge_choice(config)
    found = check_judge(
        ScoreConfig(
            cases=(),
            judge=who,
            embedder=default_embedder(who),
            store=store or DEFAULT_STORE,
        )
    )
    if not found.was_tried:
        raise Inconclusive(f"{found.judge}: no verdict at all: {found.last_failure}")
    say(f"{found.judge}: {_percent(found.accuracy)} of the unchanged items judged correctly")
    for why, number in found.unusable.items():
        say(f"  in {number} of {found.answers} requests {why}")
    if found.was_split:
        say("  requests were split; set items_per_request to send smaller ones from the start")
    if found.last_failure is not None:
        say(f"  some items have no verdict; the last reason: {found.last_failure}")
    for entry in found.checks:
        say(_check_line(entry))
    _write(json_file, found)
    failed = [entry.name for entry in found.checks if not entry.passed]
    if failed:
        raise GateFailed(f"not within the limits: {', '.join(failed)}")


def _check_line(entry: ReliabilityCheck) -> str:
    limit = f"at {entry.limit_is} {100 * entry.limit:g} %"
    word = {True: "ok", False: "FAILED", None: "not tested"}[entry.passed]
    errors = f", {entry.errors} without a verdict" if entry.errors else ""
    return (
        f"  {word:9} {entry.name:24} {_percent(entry.share):>8}  ({limit}, n = {entry.n}{errors})"
    )


def _percent(value: float | None) -> str:
    return "n/a" if value is None else f"{100 * value:.1f} %"


@judge.command(cls=VariadicCommand)
@click.argument("labels", nargs=-1, required=True, type=FILE)
@click.option(
    "--verdicts", multiple=True, type=FILE, help="The judge's verdicts on the same items."
)
@click.option(
    "--cases", multiple=True, type=FILE, help="The case files, if several cases share a call."
)
@click.option("--json", "json_file", type=FILE, help="Write the result as JSON.")
def calibrate(
    labels: tuple[Path, ...],
    verdicts: tuple[Path, ...],
    cases: tuple[Path, ...],
    json_file: Path | None,
) -> None:
    """Compare a judge with people: agreement, and the corrected mean.

    LABELS are verdict files by people. The judge's verdicts come from --verdicts (as `callscore
    score --judge … --save-verdicts` writes them), or are in each label as `judge`.
    Prints accuracy, sensitivity, specificity, kappa with its interval, coverage and the
    corrected mean for every metric.

    \b
    callscore judge calibrate labels.jsonl --verdicts judged.jsonl
    """
    from callscore.evaluate.judge_validation import calibrate_labels
    from callscore.store.files import check_targets

    check_targets((json_file,), (*labels, *verdicts, *cases))
    found = calibrate_labels(labels, verdicts, cases)
    for entry in found:
        for line in _calibration_lines(entry):
            say(line)
    _write(json_file, [_plain(entry) for entry in found])


def _calibration_lines(entry: MetricCalibration) -> list[str]:
    found = entry.calibration
    word = "calibrated"
    if found.shortfall is not None:
        word = f"uncalibrated: {found.shortfall}"
    kappa = "n/a" if found.kappa is None else f"{found.kappa:.3f}"
    if found.kappa_interval is not None:
        kappa += f" [{found.kappa_interval.low:.3f}, {found.kappa_interval.high:.3f}]"
    lines = [
        f"{entry.metric} ({found.rubric}): {word}",
        f"  labels {found.n} ({found.n - found.passes} of failures)"
        f" · coverage {_percent(found.coverage)} · accuracy {_percent(found.accuracy)}"
        f" · sensitivity {_percent(found.sensitivity)} · specificity {_percent(found.specificity)}",
        f"  {'weighted ' if found.weighted else ''}kappa {kappa}",
    ]
    if found.people is not None:
        people = found.people
        alpha = "n/a" if people.alpha is None else f"{people.alpha:.3f}"
        if people.alpha_interval is not None:
            alpha += f" [{people.alpha_interval.low:.3f}, {people.alpha_interval.high:.3f}]"
        lines.append(
            f"  agreement among people: alpha {alpha}"
            f" ({people.items} items, up to {people.raters} people each)"
        )
    if found.corrected is not None and found.judge_mean is not None:
        low, high = found.corrected.interval.low, found.corrected.interval.high
        lines.append(
            f"  mean by the judge {found.judge_mean:.3f}"
            f" · corrected {found.corrected.value:.3f} [{low:.3f}, {high:.3f}]"
        )
        if not found.corrected.helps:
            lines.append("  the judge does not help: labels alone are as certain")
    lines += [
        f"    human {human!s:24} judge {judged!s:24} {number}"
        for (human, judged), number in sorted(found.confusion.items())
    ]
    return lines


def _plain(entry: MetricCalibration) -> Mapping[str, Any]:
    """As JSON: a confusion matrix becomes a list, because its keys are pairs."""
    import msgspec

    fields = {
        name: getattr(entry.calibration, name)
        for name in entry.calibration.__struct_fields__
        if name != "confusion"
    }
    cells = [
        {"human": human, "judge": judged, "n": number}
        for (human, judged), number in sorted(entry.calibration.confusion.items())
    ]
    found: Mapping[str, Any] = msgspec.to_builtins(
        {
            "metric": entry.metric,
            **fields,
            "confusion": cells,
            "calibrated": entry.calibration.is_calibrated,
            "shortfall": entry.calibration.shortfall,
        }
    )
    return found


def _write(path: Path | None, value: Any) -> None:
    if path is None:
        return
    import msgspec

    from callscore.report.safe_text import escape_json
    from callscore.store.files import atomic_write

    with atomic_write(path) as file:
        file.write(escape_json(msgspec.json.format(msgspec.json.encode(value))) + b"\n")
