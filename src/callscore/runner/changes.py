"""What going on with a run would pay again, where its file or its data have changed since."""

from __future__ import annotations

import msgspec

from callscore.core.run import Work
from callscore.runner.models import ModelHandle
from callscore.runner.prepare import Prepared
from callscore.runner.prompts import work_of
from callscore.store.journal import Journal
from callscore.store.run_records import RunHeader, RunRecord


class Changed(msgspec.Struct, frozen=True):
    """An unfinished run, and what a new one in its place would ask."""

    record: RunRecord
    what: str
    """What is not as it was."""
    again: int
    """Requests of which the run has paid for an earlier form."""
    again_most_usd: float | None
    """What those may cost at most; None where a price is unknown."""
    new: int
    """Requests that were never answered."""


def changed_since(prepared: Prepared, journal: Journal, header: RunHeader) -> Changed | None:
    """The unfinished run that is meant, where it was begun with another file or other data."""
    record = journal.unfinished(header)
    if record is None:
        return None
    what = _difference(record.header, header, prepared)
    if not what:
        return None
    again = new = 0
    most_usd: float | None = 0.0
    for model in prepared.models:
        repeats = prepared.config.repeats
        stream = prepared.subjects.stream()
        for work in work_of(model.spec.name, model.provider, stream, repeats):
            if journal.stored(work.request.key) is not None:
                continue
            if not journal.has_answered(record.id, work):
                new += 1
                continue
            again += 1
            cost = _most_usd(model, work)
            most_usd = None if most_usd is None or cost is None else most_usd + cost
    return Changed(record, what, again, most_usd, new)


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
