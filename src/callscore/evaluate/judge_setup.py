"""Creates the judge and the embedder of a config."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import repeat
from typing import TYPE_CHECKING

from callscore.config.score import BUILT_IN_JUDGES, ScoreConfig
from callscore.core.judging import Embedder, Judge
from callscore.core.run import JudgeSpec, ModelSpec
from callscore.core.verdict_rules import DOCUMENT
from callscore.evaluate.judging import JudgeRunner
from callscore.providers.client_pool import ClientPool
from callscore.store.address import StoreAddress
from callscore.suites.registry import default_suite

if TYPE_CHECKING:
    from callscore.evaluate.judge_client import JudgeCalls
    from callscore.judges.judge_prompt import Asking


@contextmanager
def open_judge_runner(
    config: ScoreConfig,
    calls: JudgeCalls | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Iterator[JudgeRunner]:
    """The judge runner of a config that has a judge or an embedder (`config.is_judged`).

    Requests of judging models go through `calls`, if it is given.
    """
    with ExitStack() as stack:
        attempt_s = calls.billing.options.attempt_s if calls is not None else None
        online = ClientPool(environment, attempt_seconds=attempt_s)
        embedder = _embedder(config.embedder, online)
        judge: Judge | None
        models: Sequence[str] = ()
        concurrency: int | None = None
        if isinstance(config.judge, tuple):
            calls = calls or _own_calls(config.store, stack)
            judge, models = _models(config.judge, calls, online)
            concurrency = config.judge[0].limits.concurrency
        else:
            judge = _built_in(config, embedder)
        judge_runner = JudgeRunner(judge, embedder, [online.close], models, concurrency)
        if calls is not None:
            judge_runner.answered_by = calls.answered_by
        yield judge_runner


def _built_in(config: ScoreConfig, embedder: Embedder | None) -> Judge | None:
    judge = config.judge
    if isinstance(judge, tuple) or judge == "none":
        return None
    if not isinstance(judge, str):
        return judge
    if judge not in BUILT_IN_JUDGES:
        from callscore.judges.plugin import plugin_judge

        return plugin_judge(judge)
    from callscore.judges.offline.judge import OfflineJudge

    return OfflineJudge(embedder, config.catalog.settings.quote_tolerance_s)


def _models(
    specs: Sequence[JudgeSpec], calls: JudgeCalls, online: ClientPool
) -> tuple[Judge, Sequence[str]]:
    """The judging models, and their names."""
    from callscore.evaluate.rubrics import rubric_library
    from callscore.judges.llm import LLMJudge
    from callscore.judges.panel import Panel, Seat

    library = rubric_library()
    providers = [online.provider(spec, sending=calls.billing.sends) for spec in specs]
    senders = [
        calls.add_judge(spec, provider).send
        for spec, provider in zip(specs, providers, strict=True)
    ]
    models = [spec.model for spec in specs]
    if specs[0].style == DOCUMENT:
        from callscore.judges.document_judge import DocumentJudge
        from callscore.judges.llm import Sender

        framework = default_suite().verdict_rules.framework_judge()
        return DocumentJudge(list(map(Sender, providers, senders)), framework), models
    judges = map(LLMJudge, providers, repeat(library), senders, map(_asking, specs))
    return Panel(list(map(Seat, judges, models)), library), models


def _asking(spec: JudgeSpec) -> Asking:
    """How the items of a case are put into the requests to a judge."""
    from callscore.judges.judge_prompt import MOST_ITEMS, Asking

    return Asking(spec.items_per_request or MOST_ITEMS, spec.seed)


def _own_calls(store: StoreAddress | None, stack: ExitStack) -> JudgeCalls:
    """Requests without a run, with their replies in a store."""
    from callscore.evaluate.judge_client import JudgeCalls
    from callscore.store.address import open_store

    if store is None:
        return JudgeCalls(None)
    opened = stack.enter_context(open_store(store))
    return JudgeCalls(stack.enter_context(opened.open_cache()))


def _embedder(choice: str | Embedder | ModelSpec, online: ClientPool) -> Embedder | None:
    if isinstance(choice, ModelSpec):
        return _embedding_model(choice, online)
    if not isinstance(choice, str):
        return choice
    if choice == "none":
        return None
    from callscore.embeddings.catalog import find_embedder

    return find_embedder(choice)


def _embedding_model(spec: ModelSpec, online: ClientPool) -> Embedder:
    from callscore.embeddings.catalog import with_chrf_fallback
    from callscore.embeddings.http_encoder import HttpEncoder

    server = online.embedding_server(spec)
    return with_chrf_fallback(HttpEncoder(spec.model, server.host, server.post))
