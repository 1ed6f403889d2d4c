"""What a resumed run would pay for again because its file or its data have changed."""

from __future__ import annotations

import msgspec

from callscore.core.run import Work
from callscore.report.numbers import show_count, show_money
from callscore.runner.cases import work_of
from callscore.runner.prepare import ModelHandle, PreparedRun
from callscore.runner.run_key import RunKey
from callscore.store.address import is_written, open_store
from callscore.store.protocol import Store
from callscore.store.run_records import RunHeader, RunRecord


class RunChange(msgspec.Struct, frozen=True):
    """A change since an unfinished run, and the requests of a new run in its place."""

    record: RunRecord
    what: str
    """What has changed."""
    again: int
    """Requests that the run has paid for in an earlier form."""
    again_most_usd: float | None
    """Their greatest cost; None if a price is unknown."""
    new: int
    """Requests that were never answered."""


def find_change(prepared: PreparedRun) -> RunChange | None:
    """The change since the unfinished run in the store; None if it can be continued."""
    store = prepared.config.store
    if not is_written(store):
        return None
    with open_store(store, only_reading=True) as opened:
        return change_since(prepared, opened, prepared.header)


def change_since(prepared: PreparedRun, store: Store, header: RunHeader) -> RunChange | None:
    """The change since the unfinished run; None if it can be continued."""
    record = store.find_unfinished(header)
    if record is None:
        return None
    what = _difference(record.header, header, prepared)
    if not what:
        return None
    again = new = 0
    most_usd: float | None = 0.0
    for model in prepared.models:
        cases, repeats = prepared.read_cases(), prepared.config.repeats
        for work in work_of(model.spec.name, model.provider, cases, repeats):
            if store.find_reply(work.request.key) is not None:
                continue
            if not store.has_answered(record.id, work):
                new += 1
                continue
            again += 1
            cost = _most_usd(model, work)
            most_usd = None if most_usd is None or cost is None else most_usd + cost
    return RunChange(record, what, again, most_usd, new)


def describe_change(change: RunChange) -> str:
    """The change as text."""
    run, cost = change.record, change.again_most_usd
    price = "at an unknown price" if cost is None else f"for up to {show_money(cost)}"
    again = f"{show_count(change.again, 'answer')} would be paid for again {price}"
    return (
        f"run {run.id} of {run.header.name!r} is unfinished ({run.answered}/{run.header.total} "
        f"answered), and {change.what} since it began: in a new run "
        f"{again if change.again else 'no answer would be paid for again'}, and "
        f"{show_count(change.new, 'request')} asked for the first time"
    )


def _difference(then: RunHeader, now: RunHeader, prepared: PreparedRun) -> str:
    key, key_now = RunKey.parse(then.config_hash), RunKey.parse(now.config_hash)
    parts = []
    if key.fingerprint != key_now.fingerprint:
        parts.append(f"{prepared.config.path} has changed")
    if key.limit != key_now.limit:
        parts.append(f"--limit was {key.limit or 'all'} and is {key_now.limit or 'all'}")
    if key.weights != key_now.weights:
        parts.append("--weights has changed")
    if then.dataset_hash != now.dataset_hash and key.limit == key_now.limit:
        parts.append("the data has changed")
    return " and ".join(parts)


def _most_usd(model: ModelHandle, work: Work) -> float | None:
    price = model.spec.price
    if price is None:
        return None
    return price.of(work.request.input_tokens, work.request.max_output_tokens)
