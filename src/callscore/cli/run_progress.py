"""Progress of a run: a live table on a terminal, an occasional line elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from callscore.cli.console import say
from callscore.core.run import (
    Event,
    JobNews,
    NodeNews,
    Progress,
    RaceRound,
    Stopping,
    StoreNews,
    Waiting,
)
from callscore.report.numbers import show_count, show_money
from callscore.report.safe_text import plain

FIRST_SECONDS = 1.0
"""The first line without a terminal: it shows that requests are in flight."""
PLAIN_SECONDS = 10.0
SLOW = 0.5
"""Below this many requests per second, a rate is shown per minute."""
_HEADINGS = ("model", "done", "in flight", "failed", "cached", "rate", "spend", "time", "left")


class LiveView:
    """Shows the newest progress of every model; close it before printing anything else."""

    def __init__(
        self, plain_seconds: float = PLAIN_SECONDS, first_seconds: float = FIRST_SECONDS
    ) -> None:
        self._newest: dict[str, Progress] = {}
        self._live: Any = None
        self._seconds = plain_seconds
        self._next = time.monotonic() + first_seconds
        self._terminal = sys.stderr.isatty()
        self._races: dict[str, str] = {}
        """The newest line of every race."""
        self._awaited: Mapping[str, int] | None = None
        """By model and judge, the requests that a shutdown waits for, as last printed."""

    def __call__(self, event: Event) -> None:
        """Handle an event; progress and a shutdown are shown."""
        if isinstance(event, RaceRound):
            self._show_round(event)
        if isinstance(event, JobNews):
            self._say([_job_line(event)])
        if isinstance(event, StoreNews):
            self._say([_store_line(event)])
        if isinstance(event, NodeNews):
            self._say([f"Ray node {plain(event.node, 40)}: {plain(event.why, 200)}"])
        if isinstance(event, Stopping):
            self._show_stopping(event)
        if isinstance(event, Waiting):
            self._show_waiting(event)
        if not isinstance(event, Progress):
            return
        self._newest[event.model] = event
        if self._terminal:
            self._draw(_picture(self._newest, self._races.values()))
        elif self._is_due():
            self._say([_line(progress) for progress in self._newest.values()])

    def _is_due(self) -> bool:
        """Whether the next lines may be written; without a terminal they are few."""
        if time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + self._seconds
        return True

    def _show_stopping(self, stopping: Stopping) -> None:
        """Say what is awaited; again only if models and judges stop one after the other."""
        awaited = {found.model: found.in_flight for found in self._newest.values()}
        if awaited != self._awaited:
            self._say(_stopping_lines(stopping, self._newest))
        self._awaited = awaited

    def _show_waiting(self, waiting: Waiting) -> None:
        """Show what the preflight waits for; nothing if models reply at once."""
        if self._terminal and waiting.states and waiting.elapsed_s >= FIRST_SECONDS:
            from rich.text import Text

            self._draw(Text("\n".join(_waiting_lines(waiting))))
        elif self._terminal and not waiting.states:
            self.close()
        elif not self._terminal and waiting.states and self._is_due():
            self._say(_waiting_lines(waiting))

    def close(self) -> None:
        """Remove the table."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _show_round(self, race: RaceRound) -> None:
        """Print models that left the race; show those still in it below the table."""
        self._say(race.news)
        self._races[race.name] = line = _race_line(race)
        if self._terminal:
            self._draw(_picture(self._newest, self._races.values()))
        else:
            self._say([line])

    def _say(self, lines: Sequence[str]) -> None:
        """Print lines above the table, if there is one."""
        for line in lines:
            if self._live is not None:
                self._live.console.print(line)
            else:
                say(line, err=True)
        sys.stderr.flush()

    def _draw(self, picture: Any) -> None:
        if self._live is None:
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True, highlight=False, markup=False, emoji=False)
            self._live = Live(console=console, transient=True, auto_refresh=False)
            self._live.start()
        self._live.update(picture, refresh=True)


def _waiting_lines(waiting: Waiting) -> list[str]:
    """One line per model that has not replied to its small request."""
    elapsed = show_duration(waiting.elapsed_s)
    return [
        f"testing {plain(model, 40)}: {plain(state, 80)} ({elapsed})"
        for model, state in waiting.states.items()
    ]


def _stopping_lines(stopping: Stopping, newest: Mapping[str, Progress]) -> list[str]:
    """What is stored and spent, and what is still awaited."""
    kept = [
        f"{plain(found.model, 40)}: {found.done - found.failed} of {found.total} replies "
        f"stored, {_spend(found)} spent"
        for found in newest.values()
    ]
    awaited = {found.model: found.in_flight for found in newest.values() if found.in_flight}
    number = sum(awaited.values()) or stopping.in_flight
    if not number:
        return [*kept, "stopping: nothing is in flight"]
    requests = f"{show_count(number, 'request')} in flight"
    to_whom = ", ".join(f"{n} to {plain(model, 40)}" for model, n in awaited.items())
    waiting = f"waiting for {requests}{': ' + to_whom if to_whom else ''}"
    at_most = f"{stopping.at_most_s:g} s at most (Ctrl-C again drops them)"
    return [*kept, f"stopping: nothing more is sent; {waiting}; {at_most}"]


def _store_line(news: StoreNews) -> str:
    """That the run waits for its store, or goes on."""
    if news.outage is None:
        return "the store is back"
    return f"{plain(news.outage, 200)}; nothing new is sent until it is back"


def _job_line(news: JobNews) -> str:
    """What has become of a job at a batch API."""
    of = show_count(news.requests, "request")
    said = f": {plain(news.text, 200)}" if news.text else ""
    return f"{plain(news.model, 40)}: batch job {plain(news.job, 80)} ({of}) {news.state}{said}"


def _race_line(race: RaceRound) -> str:
    """The models still in the race, and how many of all requests were sent."""
    names = ", ".join(plain(name, 40) for name in race.racing) or "none"
    return (
        f"{race.name}: {race.blocks} of {race.of_blocks} blocks evaluated, "
        f"still in the race: {names}; "
        f"{race.requests:,} of {race.of_requests:,} requests sent, {race.saved:,} saved so far"
    )


def _picture(newest: Mapping[str, Progress], races: Iterable[str]) -> Any:
    """The table, and below it the state of every race."""
    from rich.console import Group
    from rich.text import Text

    return Group(_table(newest), *map(Text, races))


def _table(newest: Mapping[str, Progress]) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    late = any(progress.timeouts for progress in newest.values())
    for heading in _HEADINGS + ("timed out",) * late:
        table.add_column(heading, justify="left" if heading == "model" else "right")
    for progress in newest.values():
        table.add_row(
            plain(progress.model, 40),
            f"{progress.done}/{progress.total}",
            f"{progress.in_flight} of {progress.concurrency}",
            str(progress.failed),
            str(progress.cached),
            _rate(progress),
            _spend(progress),
            show_duration(progress.elapsed_s),
            progress.stopped and "stopped" or _time_left(progress),
            *(str(progress.timeouts),) * late,
        )
    return table


def _line(progress: Progress) -> str:
    parts = [
        f"{plain(progress.model, 40)}: {progress.done} of {progress.total}",
        f"{progress.in_flight} in flight",
        f"{progress.failed} failed",
        f"{progress.cached} cached",
        _rate(progress),
        _spend(progress),
        f"{show_duration(progress.elapsed_s)} elapsed",
        f"{_time_left(progress)} left",
    ]
    if progress.timeouts:
        attempts = show_count(progress.timeouts, "attempt")
        parts.append(f"{attempts} timed out, concurrency is now {progress.concurrency}")
    return ", ".join(parts)


def _spend(progress: Progress) -> str:
    shown = show_money(progress.spend_usd)
    return f"{shown} + {progress.unpriced} unpriced" if progress.unpriced else shown


def _time_left(progress: Progress) -> str:
    left = progress.total - progress.done
    if not left:
        return "0 s"
    if progress.rate <= 0:
        return "…"
    return show_duration(left / progress.rate + 1)


def _rate(progress: Progress) -> str:
    """Requests per second, or per minute if they are slow; unknown before the first reply."""
    if not progress.rate:
        return "…"
    if progress.rate < SLOW:
        return f"{60 * progress.rate:.1f}/min"
    return f"{progress.rate:.1f}/s"


def show_duration(seconds: float) -> str:
    """A duration in whole seconds, minutes, or hours."""
    whole = int(seconds)
    if whole < 120:
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 7200 else f"{whole / 3600:.1f} h"
