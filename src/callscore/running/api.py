"""`callscore.run(...)`: a run from Python, with the same checks and the same store."""

from __future__ import annotations

import os
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from callscore.core.consent import answered_by, yes
from callscore.core.errors import UsageError
from callscore.core.run_words import Event, OnEvent
from callscore.core.scorecard import Scorecard
from callscore.evalfile.config import load_eval
from callscore.running.preparing import RunOptions, prepare
from callscore.running.runner import run_prepared


def unwatched(event: Event) -> None:
    """Events nobody looks at."""


def run(
    config: str | os.PathLike[str],
    *,
    store: str | os.PathLike[str] | None = None,
    on_event: OnEvent = unwatched,
    trust_config: bool = False,
    **options: Any,
) -> Scorecard:
    """Ask the models of an eval file, keep every answer, and score them.

    Further options: `resume`, `limit`, `budget_usd`, `preflight`, and the files `results`,
    `records` and `save_verdicts`. `trust_config` lets the file send keys to hosts that they were
    never sent to. An interrupt keeps what has come so far and raises
    KeyboardInterrupt.
    """
    loaded = load_eval(Path(config), Path(store) if store is not None else None)
    if not loaded.cases:
        raise UsageError(f"{loaded.path}: holds scenarios only; use the command `callscore run`")
    with ExitStack() as stack:
        if trust_config:
            stack.enter_context(answered_by(yes))
        prepared = stack.enter_context(closing(prepare(loaded, RunOptions(**options))))
        ran = run_prepared(prepared, on_event)
    if ran.card is None:
        raise KeyboardInterrupt
    return ran.card
