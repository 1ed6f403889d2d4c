"""What continuing a run would pay for again, if its file or its data have changed."""

from __future__ import annotations

import msgspec

from callscore.core.run import Work
from callscore.report.numbers import show_count, show_money
from callscore.runner.cases import work_of
from callscore.runner.prepare import ModelHandle, Prepared
from callscore.store.journal import Journal
from callscore.store.run_records import RunHeader, RunRecord


class Changed(msgspec.Struct, frozen=True):
    """An unfinished run, and the requests of a new one in its place."""

    record: RunRecord
    what: str
    """What has changed."""
    again: int
    """Requests that the run has paid for in an earlier form."""
    again_most_usd: float | None
    """Their greatest cost; None if a price is unknown."""
    new: int
    """Requests that were never answered."""


def changes(prepared: Prepared) -> Changed | None:
    """What resuming would pay for again, if the file or the data have changed."""
    store = prepared.config.store
    if not store.exists():
        return None
    with Journal(store, only_reading=True) as journal:
        return changed_since(prepared, journal, prepared.header)


def changed_since(prepared: Prepared, journal: Journal, header: RunHeader) -> Changed | None:
    """The unfinished run, if it was started with another file or other data."""
    record = journal.find_unfinished(header)
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
            if journal.find_reply(work.request.key) is not None:
                continue
            if not journal.has_answered(record.id, work):
                new += 1
                continue
            again += 1
            cost = _most_usd(model, work)
            most_usd = None if most_usd is None or cost is None else most_usd + cost
    return Changed(record, what, again, most_usd, new)


def describe_change(changed: Changed) -> str:
    """The change as text."""
    run, cost = changed.record, changed.again_most_usd
    price = "at an unknown price" if cost is None else f"for up to {show_money(cost)}"
    again = f"{show_count(changed.again, 'answer')} would be paid for again {price}"
    return (
        f"run {run.id} of {run.header.name!r} is unfinished ({run.answered}/{run.header.total} "
        f"answered), and {changed.what} since it began: in a new run "
        f"{again if changed.again else 'no answer would be paid for again'}, and "
        f"{show_count(changed.new, 'request')} asked for the first time"
    )


def _difference(then: RunHeader, now: RunHeader, prepared: Prepared) -> str:
    file, _, limit = then.config_hash.partition("/")
    file_now, _, limit_now = now.config_hash.partition("/")
    parts = []
    if file != file_now:
        parts.append(f"{prepared.config.path} has changed")
    if limit != limit_now:
        parts.append(f"--limit was {limit} and is {limit_now}")
    if then.dataset_hash != now.dataset_hash and limit == limit_now:
        parts.append("the data has changed")
    return " and ".join(parts)


def _most_usd(model: ModelHandle, work: Work) -> float | None:
    price = model.spec.price
    if price is None:
        return None
    return price.of(work.request.input_tokens, work.request.max_output_tokens)
