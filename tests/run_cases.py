"""Small parts of runs, for tests of the journal and the engine."""

from __future__ import annotations

from hashlib import blake2b

from callscore.core.case import Reply
from callscore.core.provider import ProviderRequest
from callscore.core.run import CachedReply, RunItem, Work
from callscore.store.run_records import RunHeader

HEADER = RunHeader("trial", "config-1", "data-1", 10)


def key_of(*parts: object) -> bytes:
    return blake2b(repr(parts).encode(), digest_size=32).digest()


def work_for(number: int, model: str = "m", run: int = 1) -> Work:
    case_id = f"case-{number}"
    call = ProviderRequest(
        key=key_of(model, case_id, run),
        model=model,
        body=case_id.encode(),
        input_tokens=100,
        max_output_tokens=50,
    )
    return Work(case_id, model, run, call, "qa")


def item_for(number: int, *, error: str | None = None, paid: bool = False) -> RunItem:
    work = work_for(number)
    return RunItem(work.case_id, work.model, work.run, work.task, work.request.key, error, paid)


def cached_reply_for(
    number: int, *, text: str | None = None, cost_usd: float | None = 0.5
) -> CachedReply:
    reply = Reply(text or f"answer {number}", "stop", 90, 20, cost_usd)
    return CachedReply(work_for(number).request.key, reply)
