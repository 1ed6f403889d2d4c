"""Who judges and who compares, made from what a config says."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import msgspec

from callscore.config import ScoreConfig
from callscore.core.calling import Answered, AttemptFailed, Call, Provider
from callscore.core.ports import Embedder, Judge
from callscore.core.run_words import ModelSpec, Stored
from callscore.scoring.examining import Examiner

if TYPE_CHECKING:
    from callscore.core.run_words import Price
    from callscore.providers.http import Http
    from callscore.store.journal import Journal

Closing = list[Callable[[], Awaitable[None]]]


@contextmanager
def opened_examiner(
    config: ScoreConfig, environment: Mapping[str, str] = os.environ
) -> Iterator[Examiner | None]:
    """The examiner of a config; None where code and files are all that is asked for."""
    if config.judge == "none" and config.embedder == "none":
        yield None
        return
    with ExitStack() as stack:
        online = _Online(environment)
        embedder = _embedder(config.embedder, online)
        judge: Judge | None
        models: Sequence[str]
        if isinstance(config.judge, tuple):
            judge, models = _models(config, online, stack)
        else:
            judge, models = _built_in(config.judge, embedder), ()
        yield Examiner(judge, embedder, online.closing, models, _at_once(config.judge))


def _at_once(judge: object) -> int | None:
    """As many dossiers at once as the first judge may be asked; None where it is no model."""
    return judge[0].limits.concurrency if isinstance(judge, tuple) else None


def _built_in(judge: str | Judge, embedder: Embedder | None) -> Judge | None:
    if judge == "none":
        return None
    if not isinstance(judge, str):
        return judge
    from callscore.judges.offline.judge import OfflineJudge

    return OfflineJudge(embedder)


def _models(config: ScoreConfig, online: _Online, stack: ExitStack) -> tuple[Judge, Sequence[str]]:
    """The models that judge, their answers kept, and their names."""
    from callscore.judges.llm import LLMJudge
    from callscore.judges.panel import Panel, Seat
    from callscore.store.journal import Journal

    assert isinstance(config.judge, tuple)  # the only choice that names models
    journal = None if config.store is None else stack.enter_context(Journal(config.store))
    seats = []
    for spec in config.judge:
        carried = _KeptCalls(journal, _price(spec))
        judge = LLMJudge(online.provider(spec), carry_out=carried.carry_out)
        seats.append(Seat(judge, spec.model))
    return Panel(seats), [seat.model for seat in seats]


def _price(spec: ModelSpec) -> Price | None:
    if spec.price is not None:
        return spec.price
    from callscore.providers.prices import price_for

    return price_for(spec)


class _KeptCalls:
    """Carries out a judge's calls; what was ever paid for comes from the journal."""

    def __init__(self, journal: Journal | None, price: Price | None) -> None:
        self._journal = journal
        self._price = price

    async def carry_out(self, provider: Provider, call: Call) -> Answered | AttemptFailed:
        """The kept answer to this request, else a new one, kept before it is used."""
        from callscore.judges.llm import patiently

        stored = self._journal.stored(call.key) if self._journal is not None else None
        if stored is not None:
            return Answered(stored.reply)
        answer = await patiently(provider, call)
        if isinstance(answer, AttemptFailed):
            return answer
        reply = answer.reply
        if self._price is not None and reply.cost_usd is None:
            cost = self._price.of(reply.input_tokens or 0, reply.output_tokens or 0)
            reply = msgspec.structs.replace(reply, cost_usd=cost)
        if self._journal is not None:
            self._journal.keep_answer(Stored(call.key, reply))
        return Answered(reply)


def _embedder(choice: str | Embedder | ModelSpec, online: _Online) -> Embedder | None:
    if isinstance(choice, ModelSpec):
        return online.embedder(choice)
    if not isinstance(choice, str):
        return choice
    if choice == "none":
        return None
    from callscore.embeddings.catalog import embedder_named

    return embedder_named(choice)


class _Online:
    """Models behind APIs share one pool of connections, opened when the first one is met."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._pool: Http | None = None
        self.closing: Closing = []

    def _http(self) -> Http:
        from callscore.providers.http import Http

        if self._pool is None:
            self._pool = Http()
        return self._pool

    def provider(self, spec: ModelSpec) -> Provider:
        from callscore.providers.catalog import make_provider
        from callscore.providers.secrets import Secrets

        provider = make_provider(spec, Secrets(self._environment), self._http())
        self.closing.append(provider.close)
        return provider

    def embedder(self, spec: ModelSpec) -> Embedder:
        from callscore.embeddings.catalog import or_lexical
        from callscore.embeddings.http import HttpEncoder
        from callscore.providers.catalog import make_embedding_access
        from callscore.providers.embedding import EmbeddingServer
        from callscore.providers.secrets import Secrets

        server = EmbeddingServer(
            make_embedding_access(spec, Secrets(self._environment)), self._http()
        )
        self.closing.append(server.close)
        return or_lexical(HttpEncoder(spec.model, server.host, server.post))
