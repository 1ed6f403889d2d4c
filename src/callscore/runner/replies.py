"""The replies of a run as they arrive, for scoring and judging."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from callscore.core.case import Case, Failed, Reply
from callscore.core.run import Completed
from callscore.evaluate.model_identity import ModelIdentities
from callscore.evaluate.reply_source import CaseReplies
from callscore.runner.prepare import PricedModel
from callscore.store.address import StoreAddress, open_store
from callscore.store.protocol import Store

MOST_IN_MEMORY = 1_000
"""Replies in memory until their case is scored; others are read from the journal."""

SLOTS = 1 << 20
"""Cases whose replies did not fit are remembered in this many bytes; two may share one, and then
the journal is read in vain."""


class RunReplies:
    """The replies of one run: from memory if they have just arrived, else from the journal."""

    def __init__(
        self,
        store: Store,
        run_id: int,
        models: Sequence[PricedModel],
        repeats: int,
        address: StoreAddress | None = None,
    ) -> None:
        """Without the `address` of the store, no other process can read the replies."""
        self._store = store
        self._run_id = run_id
        self._handles, self._repeats, self._address = models, repeats, address
        self._wanted = len(models) * repeats
        """Replies per case."""
        self.models: Sequence[str] = [model.spec.name for model in models]
        self.labels: Mapping[str, str] = {
            model.spec.name: model.spec.provider for model in models if not model.online
        }
        self.answered_by = ModelIdentities(
            {model.spec.name: model.spec.model for model in models if model.online}
        )
        self._at_price = {model.spec.name: model.at_price for model in models if model.spec.price}
        self._in_memory: dict[str, dict[str, dict[int, Reply | Failed]]] = {}
        self._count = 0
        self._dropped = bytearray()
        """By the hash of its id, whether a case may have a reply that did not fit into memory."""
        self._all_dropped = False
        self._found: dict[str, CaseReplies] = {}
        """Every reply to the cases that are scored next."""
        self._complete = 0
        """Complete cases in memory."""
        self._awaited: str | None = None
        self._together = 1
        self._arrived = asyncio.Event()
        self.all_in = asyncio.Event()
        """Set when all replies have arrived."""

    def between(self, first: int, end: int) -> RepliesInStore:
        """The same replies, as another process reads them from the store."""
        assert self._address is not None  # of a stored run
        models = [PricedModel(model.spec) for model in self._handles]
        return RepliesInStore(self._address, self._run_id, models, self._repeats)

    def take(self, completed: Completed, *, superseded: bool) -> None:
        """Add a durable reply.

        If the journal has another one in its place (`superseded`), that one counts.
        """
        work = completed.work
        self._all_dropped = self._all_dropped or superseded
        if superseded or self._count >= MOST_IN_MEMORY:
            self._dropped = self._dropped or bytearray(SLOTS)
            self._dropped[hash(work.case_id) % SLOTS] = 1
        else:
            self._count += 1
            of_case = self._in_memory.setdefault(work.case_id, {})
            of_case.setdefault(work.model, {})[work.run] = completed.answer
            self._complete += _count(of_case) == self._wanted
        if self._awaited is not None and self._is_due(self._awaited):
            self._arrived.set()

    def _is_due(self, case_id: str) -> bool:
        """Whether a batch of cases is complete with this one."""
        if case_id in self._found or self._may_be_dropped(case_id):
            return True
        enough = self._complete >= self._together
        return enough and _count(self._in_memory.get(case_id, {})) == self._wanted

    def _may_be_dropped(self, case_id: str) -> bool:
        if self._all_dropped:
            return True
        return bool(self._dropped) and self._dropped[hash(case_id) % SLOTS] == 1

    def end(self) -> None:
        """Signal that all replies have arrived."""
        self.all_in.set()
        self._arrived.set()

    async def complete(self, case_id: str, together: int = 1) -> bool:
        """Wait for every reply to a case, and to a batch of cases; False if some are missing."""
        self._awaited, self._together = case_id, together
        while not self._is_due(case_id) or not self.is_complete(case_id):
            if self.all_in.is_set():
                self._awaited = None
                return self.is_complete(case_id)
            self._arrived.clear()
            await self._arrived.wait()
        self._awaited = None
        return True

    def is_complete(self, case_id: str) -> bool:
        """Whether every reply to a case has arrived; if so, `replies` has them at once.

        A failure counts as a reply if it has just arrived; one in the journal may be retried.
        """
        if case_id in self._found:
            return True
        found = self._take_from_memory(case_id)
        if found is None and self._may_be_dropped(case_id):
            found = self._read_journal(case_id)
            if _count_replies(found) != self._wanted:
                found = None
        if found is not None:
            self._found[case_id] = found
        return found is not None

    def replies(self, position: int, case: Case) -> CaseReplies:
        """Every reply to a case, at the prices of this run."""
        return self.of_case(case.id)

    def of_case(self, case_id: str) -> CaseReplies:
        """Every reply to the case with this id, at the prices of this run."""
        replies = self._found.pop(case_id, None) or self._take_from_memory(case_id)
        replies = replies or self._read_journal(case_id)
        self._count -= _count(self._in_memory.pop(case_id, {}))
        priced: dict[str, Mapping[int, Reply | Failed]] = {}
        for model, runs in replies.items():
            self._note_names(model, runs)
            priced[model] = self._price(model, runs) if model in self._at_price else runs
        return priced

    def of_model(self, model: str, case_id: str) -> Mapping[int, Reply | Failed]:
        """The replies of one model to the case with this id, at the price of this run."""
        return self._price(model, self._read_journal(case_id).get(model, {}))

    def _price(
        self, model: str, runs: Mapping[int, Reply | Failed]
    ) -> Mapping[int, Reply | Failed]:
        """The replies with their cost: a stored reply may have been paid at another price."""
        at_price = self._at_price.get(model)
        if at_price is None:
            return runs
        return {
            run: at_price(reply) if isinstance(reply, Reply) else reply
            for run, reply in runs.items()
        }

    def of_model_for_scoring(self, model: str, case_id: str) -> Mapping[int, Reply | Failed]:
        """The same for the scorecard: also counts the names under which the model replied."""
        runs = self.of_model(model, case_id)
        self._note_names(model, runs)
        return runs

    def _note_names(self, model: str, runs: Mapping[int, Reply | Failed]) -> None:
        for reply in runs.values():
            if isinstance(reply, Reply):
                self.answered_by.count(model, reply.model, reply.asked_as)

    def _read_journal(self, case_id: str) -> CaseReplies:
        return self._store.replies_to(self._run_id, case_id)

    def _take_from_memory(self, case_id: str) -> CaseReplies | None:
        """Remove and return the replies to a case, if all of them are in memory."""
        if _count(self._in_memory.get(case_id, {})) != self._wanted:
            return None
        self._count -= self._wanted
        self._complete -= 1
        return self._in_memory.pop(case_id)

    def close(self) -> None:
        """The journal is closed by its opener."""


class RepliesInStore:
    """The replies of a stored run, for a process that scores a part of its cases."""

    def __init__(
        self, address: StoreAddress, run_id: int, models: Sequence[PricedModel], repeats: int
    ) -> None:
        self._of_run = (address, run_id, models, repeats)
        self._stack = ExitStack()
        self._opened: RunReplies | None = None

    def _open(self) -> RunReplies:
        if self._opened is None:
            address, run_id, models, repeats = self._of_run
            store = self._stack.enter_context(open_store(address, only_reading=True))
            self._opened = RunReplies(store, run_id, models, repeats, address)
        return self._opened

    @property
    def models(self) -> Sequence[str]:
        """The names of the models."""
        return self._open().models

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of providers that are not real models."""
        return self._open().labels

    @property
    def answered_by(self) -> ModelIdentities:
        """The names under which the models replied, as far as replies were read."""
        return self._open().answered_by

    def between(self, first: int, end: int) -> RepliesInStore:
        """The same: replies are read by the id of their case."""
        return self

    def replies(self, position: int, case: Case) -> CaseReplies:
        """Every reply to a case, at the prices of this run."""
        return self._open().replies(position, case)

    def close(self) -> None:
        """Close the store."""
        self._stack.close()
        self._opened = None


def _count(found: CaseReplies) -> int:
    return sum(map(len, found.values()))


def _count_replies(found: CaseReplies) -> int:
    return sum(isinstance(reply, Reply) for runs in found.values() for reply in runs.values())
