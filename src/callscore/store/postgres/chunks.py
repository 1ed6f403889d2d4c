"""Chunks of a run: 64 cases for one model, worked on by one worker at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from callscore.core.run import Chunk

if TYPE_CHECKING:
    from callscore.store.postgres.connection import Connection

CASES = 64
_CREATE = """
INSERT INTO callscore.chunks (run_id, model, number, digest)
SELECT %s, model, number, digest
FROM unnest(%s::text[]) AS model, unnest(%s::integer[], %s::bytea[]) AS given (number, digest)
ON CONFLICT DO NOTHING
"""
_TAKE = """
UPDATE callscore.chunks SET worker = %(worker)s, epoch = epoch + 1
WHERE (run_id, model, number) = (
    SELECT run_id, model, number FROM callscore.chunks
    WHERE run_id = %(run)s AND model = %(model)s AND NOT done AND worker IS NULL
        AND EXISTS (SELECT 1 FROM callscore.runs WHERE id = %(run)s AND status = 'running')
        AND EXISTS (SELECT 1 FROM callscore.workers WHERE id = %(worker)s AND NOT dead)
    ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED
)
RETURNING number, digest, epoch
"""
_FREE_UNKNOWN = """
UPDATE callscore.chunks SET worker = NULL, epoch = epoch + 1
WHERE run_id = %(run)s AND model = %(model)s AND worker = %(worker)s AND NOT done
    AND (number, epoch) NOT IN (SELECT * FROM unnest(%(number)s::integer[], %(epoch)s::integer[]))
"""
_LEFT = """
SELECT EXISTS (
    SELECT 1 FROM callscore.chunks JOIN callscore.runs ON runs.id = chunks.run_id
    WHERE run_id = %s AND model = %s AND NOT done AND status = 'running')
"""


def digest_of(ids: Sequence[str]) -> bytes:
    """Identifies the cases of a chunk, so that a worker with other data is noticed."""
    return hashlib.blake2b("\n".join(ids).encode(), digest_size=16).digest()


def create_chunks(
    connection: Connection, run_id: int, models: Sequence[str], ids: Sequence[str]
) -> None:
    """Divide the cases of a run; chunks that exist are kept."""
    numbers = range(-(-len(ids) // CASES))
    digests = [digest_of(ids[number * CASES : (number + 1) * CASES]) for number in numbers]
    connection.execute(_CREATE, [run_id, list(models), list(numbers), digests])


def take_chunk(connection: Connection, run_id: int, model: str, worker: int) -> Chunk | None:
    """A chunk that no worker holds, now held by this one; None if there is none."""
    found = connection.execute(_TAKE, {"run": run_id, "model": model, "worker": worker}).fetchone()
    if found is None:
        return None
    number, digest, epoch = found
    cases = range(number * CASES, (number + 1) * CASES)
    return Chunk(model, number, cases, digest, worker, epoch)


def free_unknown_chunks(
    connection: Connection, run_id: int, model: str, worker: int, known: Sequence[Chunk]
) -> None:
    """Free chunks of this worker that it does not know of: the answer to `take_chunk` was lost."""
    values = {
        "run": run_id,
        "model": model,
        "worker": worker,
        "number": [chunk.number for chunk in known],
        "epoch": [chunk.epoch for chunk in known],
    }
    connection.execute(_FREE_UNKNOWN, values)


def has_open_chunks(connection: Connection, run_id: int, model: str) -> bool:
    """Whether chunks of a running run are left, held by a worker or not."""
    row = connection.execute(_LEFT, [run_id, model]).fetchone()
    return bool(row and row[0])
