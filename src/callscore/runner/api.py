"""`callscore.run(...)`: a run from Python, with the same checks and the same store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any, get_args

from callscore.app import OutputPaths, as_path
from callscore.config.config import EvalConfig, load_eval
from callscore.core.consent import trust_every_config
from callscore.core.errors import UsageError
from callscore.core.run import OnEvent, ignore_event
from callscore.core.scenarios import Mode
from callscore.core.scorecard import Scorecard
from callscore.engine.api_call import api_function
from callscore.runner.prepare import RunOptions, prepare
from callscore.runner.run import run_prepared
from callscore.store.address import read_address


@api_function
def run(  # noqa: PLR0913  the options of a run are its parameters
    config: str | os.PathLike[str] | Mapping[str, Any],
    *,
    store: str | os.PathLike[str] | None = None,
    resume: bool = False,
    limit: int | None = None,
    weights: Mapping[str, float] | None = None,
    decide: Mapping[str, Any] | None = None,
    labels: str | os.PathLike[str] | None = None,
    intervals: bool = True,
    budget_usd: float | None = None,
    preflight: bool = True,
    race: bool = False,
    finish_invalid: bool = False,
    results: str | os.PathLike[str] | None = None,
    records: str | os.PathLike[str] | None = None,
    save_verdicts: str | os.PathLike[str] | None = None,
    open_items: str | os.PathLike[str] | None = None,
    mode: Mode | None = None,
    export: str | os.PathLike[str] | None = None,
    trajectories: str | os.PathLike[str] | None = None,
    accept_changed: bool = False,
    on_event: OnEvent = ignore_event,
    trust_config: bool = False,
) -> Scorecard:
    """Call the models of an eval file, store every reply, and score them, like `callscore run`.

    Args:
        config: An eval file, or a mapping with the same keys.
        store: Where replies are stored; by default as in the file.
        resume: Continue the unfinished run of this file, or start one.
        limit: Only the first `limit` cases.
        weights: Weights of the tasks in the Final Score; by default as in the file.
        decide: What the recommended model is chosen by; by default as in the file.
        labels: A file of verdicts by people on judged items; by default as in the file.
        intervals: Give every number its 95 % interval.
        budget_usd: Stop before more than this is spent; by default as in the file.
        preflight: Test every model with one case first.
        race: Call models only until it is certain which one is best.
        finish_invalid: In a race, also complete models that are invalid.
        results: Write one JSON line per case, model and run.
        records: Write one JSON line per case, model, run and metric.
        save_verdicts: Write the verdicts of judge and embedder as a verdicts file.
        open_items: Write the open items, to be filled in (JSONL or CSV).
        mode: Score scenarios by the document (`standard`) or like the public evaluator (`compat`);
            by default as in the file.
        export: A folder; write replies to scenarios there as `*_out.json`.
        trajectories: Write every step of scenarios: JSON lines, or Markdown (`.md`).
        accept_changed: With `resume`, start a new run if the file or its data have changed.
        on_event: Called with every event, in the thread of the event loop.
        trust_config: Allow the file to send keys to new hosts.

    An interrupt stores the replies so far and raises KeyboardInterrupt.
    """
    options = RunOptions(
        resume=resume,
        limit=limit,
        weights=weights or {},
        labels=() if labels is None else (Path(labels),),
        budget_usd=budget_usd,
        preflight=preflight,
        race=race,
        finish_invalid=finish_invalid,
        targets=OutputPaths(*map(as_path, (results, records, save_verdicts, None, open_items))),
        mode=mode,
        export=as_path(export),
        trajectories=as_path(trajectories),
        accept_changed=accept_changed,
    )
    loaded = load_eval(
        config if isinstance(config, Mapping) else Path(config),
        None if store is None else read_address(store),
    )
    loaded = loaded.with_options(intervals=intervals, decide=decide or {})
    return _run(loaded, options, on_event, trust_config=trust_config)


def _run(
    loaded: EvalConfig, options: RunOptions, on_event: OnEvent, *, trust_config: bool
) -> Scorecard:
    if options.mode is not None and options.mode not in get_args(Mode):
        raise UsageError(f"mode {options.mode!r}; expected one of {', '.join(get_args(Mode))}")
    trust = trust_every_config() if trust_config else nullcontext()
    with trust, closing(prepare(loaded, options)) as prepared:
        card = run_prepared(prepared, on_event).card
    if card is None:
        raise KeyboardInterrupt
    return card
