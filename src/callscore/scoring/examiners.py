"""Who judges and who compares, made from what a config says."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from callscore.config import ScoreConfig
from callscore.core.calling import Provider
from callscore.core.ports import Embedder, Judge
from callscore.core.run_words import ModelSpec
from callscore.scoring.examining import Examiner

if TYPE_CHECKING:
    from pathlib import Path

    from callscore.providers.http import Http
    from callscore.scoring.judge_calls import JudgeCalls

Closing = list[Callable[[], Awaitable[None]]]


@contextmanager
def opened_examiner(
    config: ScoreConfig,
    calls: JudgeCalls | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Iterator[Examiner | None]:
    """The examiner of a config; None where code and files are all that is asked for.

    The calls of judging models go on the account of `calls`, where it is given.
    """
    if config.judge == "none" and config.embedder == "none":
        yield None
        return
    with ExitStack() as stack:
        online = _Online(environment)
        embedder = _embedder(config.embedder, online)
        judge: Judge | None
        models: Sequence[str]
        if isinstance(config.judge, tuple):
            calls = calls or _own_calls(config.store, stack)
            judge, models = _models(config.judge, calls, online)
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


def _models(
    specs: Sequence[ModelSpec], calls: JudgeCalls, online: _Online
) -> tuple[Judge, Sequence[str]]:
    """The models that judge, and their names."""
    from callscore.judges.llm import LLMJudge
    from callscore.judges.panel import Panel, Seat

    seats = []
    for spec in specs:
        provider = online.provider(spec) if calls.payer.sends else online.unsent(spec)
        carry_out = calls.seat(spec, provider).carry_out
        seats.append(Seat(LLMJudge(provider, carry_out=carry_out), spec.model))
    return Panel(seats), [seat.model for seat in seats]


def _own_calls(store: Path | None, stack: ExitStack) -> JudgeCalls:
    """Calls on nobody's account, their answers kept in a store."""
    from callscore.scoring.judge_calls import JudgeCalls
    from callscore.store.journal import Journal

    if store is None:
        return JudgeCalls(None)
    journal = stack.enter_context(Journal(store))
    return JudgeCalls(stack.enter_context(journal.open_answers()))


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

    def unsent(self, spec: ModelSpec) -> Provider:
        """A judge whose kept answers alone are used: no key is needed."""
        from callscore.providers.secrets import Secrets
        from callscore.providers.unsent import UnsentModel

        return UnsentModel(spec, Secrets(self._environment))

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
