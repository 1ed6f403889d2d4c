"""What each bench comes to: one figure of what it prints, what it is next to, and the aim."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple


class Summary(NamedTuple):
    """Which figure stands for a bench."""

    what: str
    pattern: str
    """Its group `figure`; in `peer`, what it is measured next to."""
    peer: str = ""
    """`{}` is the group `peer`."""
    least: float | None = None
    most: float | None = None
    pick: Literal["worst", "first", "last"] = "worst"
    """Which of several figures; without an aim, the worst is the first."""


class Row(NamedTuple):
    """A bench in the table."""

    what: str
    figure: str
    peer: str
    aim: str
    verdict: str


def summarise(name: str, lines: Sequence[str]) -> Row:
    """The row of a bench; raises ValueError if the lines lack its figure."""
    summary = SUMMARIES[name]
    found = [*re.finditer(summary.pattern, "\n".join(lines), re.M)]
    if not found:
        raise ValueError(f"{name}: no line matches {summary.pattern!r}")
    match = _picked(summary, found)
    figure, peer = match["figure"], summary.peer.format(match.groupdict().get("peer"))
    if summary.least is not None:
        aim, is_met = f"at least {summary.least:,g}", _number(figure) >= summary.least
    elif summary.most is not None:
        aim, is_met = f"at most {summary.most:,g}", _number(figure) <= summary.most
    else:
        return Row(summary.what, figure, peer, "", "")
    return Row(summary.what, figure, peer, aim, "met" if is_met else "**missed**")


def _picked(summary: Summary, found: Sequence[re.Match[str]]) -> re.Match[str]:
    if summary.pick == "last":
        return found[-1]
    if summary.pick == "first" or (summary.least is None and summary.most is None):
        return found[0]
    worst = min if summary.least is not None else max
    return worst(found, key=lambda match: _number(match["figure"]))


def _number(text: str) -> float:
    return float(text.replace(",", ""))


_NUMBER = r"-?[\d,]*\.?\d+"
FIGURE, PEER = f"(?P<figure>{_NUMBER})", f"(?P<peer>{_NUMBER})"

SUMMARIES: Mapping[str, Summary] = {
    "compare": Summary(
        "seconds of CPU to compare two runs of 5,000 calls, beyond reading",
        rf"^compare: {FIGURE}, [\d.]+, [\d.]+ CPU s",
        most=2,
    ),
    "embeddings": Summary(
        "sentences per second of CPU, mUSE",
        rf"^mUSE +{FIGURE} sentences.*\n(?:.*\n)*?chrF +{PEER} sentences",
        "chrF: {}",
    ),
    "engine": Summary(
        "µs of CPU per call, engine and journal",
        rf"^engine and journal +{FIGURE} us(?:.*\n)*?journal alone +{PEER} us",
        "journal alone: {}",
        most=100,
    ),
    "export": Summary("CPU of the HTML page ÷ scoring", rf"^html .*?{FIGURE} × scoring", most=1.5),
    "graphs": Summary(
        "ms to compare two plans of 16 nodes, 6 edits apart",
        rf"^ +16 edited +labelled +{FIGURE} \( *[\d.]+\) +\d+/\d+ +{PEER}",
        "networkx, cut off: {}",
        most=50,
    ),
    "hops": Summary(
        "functions that one scored sample crosses",
        rf"^score: {FIGURE} functions(?:.*\n)*?run: {PEER} functions",
        "with a run: {}",
    ),
    "index": Summary(
        "CPU of scoring with the index ÷ without", rf"^with the index: {FIGURE} ×", most=1.05
    ),
    "intervals": Summary(
        "CPU of intervals ÷ scoring the same",
        rf"^ *more +[\d.]+ s, +{FIGURE} x",
        most=3,
        pick="last",
    ),
    "judge_errors": Summary(
        "value of the careless model, corrected by labels, judge 80 % right",
        r"^\| 80 % right \| \d+ labels.*corrected (?P<figure>[\d.]+ \[.*?\])",
    ),
    "judge_tokens": Summary(
        "judge requests for a full evaluation of one answer",
        rf"^one answer +{FIGURE}.*?\| +{PEER}",
        "DeepEval: {}",
    ),
    "judged": Summary(
        "CPU of a run with a judge ÷ bare aiohttp", rf"^CPU / floor +{FIGURE}", most=2.5
    ),
    "middling_judge": Summary(
        "items that a middling judge is asked about in the smallest requests",
        rf"^ +\d+ +{FIGURE} +{PEER} +\d+ +\d+",
        "accepted: {}",
        pick="last",
    ),
    "million": Summary(
        "MB of memory of `score`, the largest number of cases",
        rf"^score +[\d,]+ cases.*?{FIGURE} MB",
        pick="last",
    ),
    "offline_judge": Summary(
        "AUROC of the offline judge, held-out summaries of sales calls",
        rf"held-out, without the reference.*\n.*\n *offline judge +AUROC {FIGURE}.*\n"
        rf" *word overlap +AUROC {PEER}",
        "word overlap: {}",
    ),
    "orchestration": Summary(
        "CPU of the public evaluator (6 s, measured elsewhere) ÷ ours",
        rf"(?:standard|compat) +[\d.]+ +\d+ +{FIGURE}",
        least=6,
    ),
    "postgres": Summary(
        "replies per second into PostgreSQL",
        rf"^SQLite .*?{PEER} replies/s\nPostgreSQL .*?{FIGURE} replies/s",
        "into a file: {}",
        least=2000,
    ),
    "providers": Summary("CPU of a call ÷ bare aiohttp", rf"^ratio +{FIGURE}", most=1.3),
    "race": Summary(
        "% of calls paid, two models, the best by 0.05, the longest race",
        rf"^\| [\d,]+ \| 2 \| 0\.05 \| {FIGURE}%",
        "the full run: 100",
        most=40,
        pick="last",
    ),
    "ray_nodes": Summary("wall time of two nodes ÷ two processes", rf"Ray : pool +{FIGURE}"),
    "report": Summary("MB more while a page is written", rf"memory grown by {FIGURE} MB", most=200),
    "reviews": Summary("CPU of a rescore ÷ a review", rf"1/{FIGURE} of a rescore", least=500),
    "run": Summary("wall time of a run ÷ bare aiohttp", rf"^wall / floor +{FIGURE}", most=1.2),
    "score": Summary(
        "outputs per second of CPU, four models, no judge",
        rf"^brief calls.*\n *ours +{FIGURE} outputs.*\n *floor.*? {PEER} outputs",
        "token F1 alone: {}",
        least=10_000,
        pick="first",
    ),
    "start": Summary("CPU of `--help` ÷ a bare interpreter", rf"^ratio +{FIGURE}", most=8),
    "web": Summary(
        "CPU of a page ÷ its SQL and markup alone",
        rf"^against its SQL and markup alone: {FIGURE} ×",
        most=1.5,
    ),
    "workers": Summary("wall time of one process ÷ two", rf"one : two +{FIGURE}", least=1.7),
}
