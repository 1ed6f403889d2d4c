"""One small request per model before anything is spent, to detect wrong keys and names."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from http import HTTPStatus

import msgspec

from callscore.core.batch import live_spec
from callscore.core.case import Message, Prompt
from callscore.core.errors import ConfigError
from callscore.core.provider import NEVER_REPEATED, AttemptFailed, Provider, ProviderResponse
from callscore.core.run import ModelSpec, OnEvent, Price, Waiting, Work
from callscore.core.scenarios import USER
from callscore.engine.loop import Shutdown
from callscore.engine.workload import PlannedModel, Workload
from callscore.providers.addresses import is_local_server
from callscore.runner.cases import CaseStream, work_of
from callscore.runner.prepare import ModelHandle, PreparedRun
from callscore.store.protocol import Store

WORD_OK = "Reply with the word ok."
PROMPT = Prompt((Message("user", WORD_OK),))
_TEXT = {"type": "string"}
_ITEM = {
    "type": "object",
    "additionalProperties": False,
    "required": ["id", "verdict", "quote", "source"],
    "properties": {"id": _TEXT, "verdict": _TEXT, "quote": _TEXT, "source": _TEXT},
}
JUDGE_PROMPT = Prompt(
    PROMPT.messages,
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["items"],
        "properties": {"items": {"type": "array", "items": _ITEM}},
    },
)
"""The schema of a judge's reply; the allowed words differ between requests."""
ATTEMPTS = 5
FIRST_WAIT_S = 0.2
LONGEST_WAIT_S = 5.0
LOADING_WAIT_S = 1.0
"""The longest wait before a server is asked again whether its model is loaded."""
LOCAL_TOKENS = 64
"""The limit of a local server's reply: a small model that is held to a schema may write until its
context is full."""
LOADING = "loads its model"
NO_REPLY = "no reply yet"


class Preflight(msgspec.Struct, frozen=True):
    """The result of one small request to a model."""

    model: str
    failure: AttemptFailed | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """The cost; None without a reply, or if it is unknown."""

    def with_price(self, price: Price | None) -> Preflight:
        """The same with its cost at this price."""
        if self.failure is not None or price is None:
            return self
        cost = price.of(self.input_tokens, self.output_tokens)
        return msgspec.structs.replace(self, cost_usd=cost)


class Trial(msgspec.Struct, frozen=True):
    """A model or judge for the preflight, and its prompt."""

    spec: ModelSpec
    provider: Provider
    prompt: Prompt = PROMPT


def small_prompt(work: Prompt | None, *, is_local: bool = False) -> Prompt:
    """A small request with the schema and the tools of a real one."""
    max_tokens = LOCAL_TOKENS if is_local else msgspec.UNSET
    if work is None:
        return msgspec.structs.replace(PROMPT, max_tokens=max_tokens)
    if work.schema is not None:
        asked = (
            f"{WORD_OK} Put it where a text belongs, in the shortest JSON that the schema allows."
        )
        return Prompt((Message("user", asked),), work.schema, work.tools, max_tokens)
    asked = f"{WORD_OK} Call no tool." if work.tools else WORD_OK
    return Prompt((Message("user", asked),), None, work.tools, max_tokens)


def trials_of(
    prepared: PreparedRun, store: Store, judges: Sequence[PlannedModel], cases: CaseStream
) -> list[Trial]:
    """The small requests of a run: to online models with open work, then to judges."""
    in_flight = _keys_in_jobs(store)

    def is_open(key: bytes) -> bool:
        return key not in in_flight and store.find_reply(key) is None

    left = [(model, _open_work(prepared, is_open, model, cases)) for model in prepared.models]
    trials = [
        Trial(live_spec(model.spec), model.provider, _small_prompt(model.spec, work.request.prompt))
        for model, work in left
        if work is not None and model.online
    ]
    if any(work is not None for _, work in left):
        trials += [
            Trial(helper.spec, helper.provider, _small_prompt(helper.spec, None))
            for helper in prepared.helpers
            if helper.spec.name == USER and helper.online
        ]
        trials += [
            Trial(judge.spec, judge.provider, _small_prompt(judge.spec, JUDGE_PROMPT))
            for judge in judges
        ]
    return trials


def _small_prompt(spec: ModelSpec, work: Prompt | None) -> Prompt:
    return small_prompt(work, is_local=bool(spec.base_url) and is_local_server(spec.base_url or ""))


def _keys_in_jobs(store: Store) -> set[bytes]:
    """The requests that batch jobs have in flight."""
    jobs = store.batch_jobs()
    return {item.key for job in jobs.jobs() for item in jobs.items(job)}


def _open_work(
    prepared: PreparedRun,
    is_open: Callable[[bytes], bool],
    model: ModelHandle,
    cases: CaseStream,
) -> Work | None:
    """The first request that must still be sent; cases read for it stay in the stream."""
    with closing(cases.reader()) as reader:
        work = work_of(model.spec.name, model.provider, reader, prepared.config.repeats)
        return next((piece for piece in work if is_open(piece.request.key)), None)


class PreflightFailed(ConfigError):
    """A model or judge does not reply; no case was requested."""


async def preflight(
    plan: Workload,
    trials: Sequence[Trial],
    stop: Shutdown,
    charge: Callable[[float], None],
    on_event: OnEvent,
) -> Sequence[Preflight]:
    """Send the small requests concurrently, none after an interrupt; charge what they cost.

    Raises PreflightFailed if a model or judge does not reply.
    """
    trials = list(_affordable_trials(plan, trials))
    states = {trial.spec.name: NO_REPLY for trial in trials}
    asking = asyncio.create_task(_ask_all(trials, plan.options.attempt_s, states))
    stopping = asyncio.create_task(stop.wait())
    telling = asyncio.create_task(_emit_waiting(states, on_event, plan.options.progress_s))
    await asyncio.wait((asking, stopping), return_when=asyncio.FIRST_COMPLETED)
    for task in (asking, stopping, telling):
        task.cancel()
    await asyncio.gather(asking, stopping, telling, return_exceptions=True)
    on_event(Waiting({}, 0.0))
    found = [] if asking.cancelled() else asking.result()
    preflights = [
        one.with_price(trial.spec.price) for one, trial in zip(found, trials, strict=False)
    ]
    if cost := cost_of(preflights):
        charge(cost)
    _refuse_failed(preflights)
    return preflights


def _affordable_trials(plan: Workload, trials: Sequence[Trial]) -> Iterator[Trial]:
    """The models whose small request fits into the remaining budget in any case."""
    budget, spent = plan.options.budget_usd, plan.options.already_spent_usd
    for trial in trials:
        price = trial.spec.price
        if budget is not None and price is not None:
            call = trial.provider.request(trial.prompt, 1)
            spent += price.of(call.input_tokens, call.max_output_tokens)
            if spent > budget:
                return
        yield trial


def cost_of(preflights: Sequence[Preflight]) -> float:
    """The known cost of the small requests."""
    return math.fsum(found.cost_usd or 0.0 for found in preflights)


def _refuse_failed(preflights: Sequence[Preflight]) -> None:
    failed = [
        f"{found.model}: {found.failure.message}"
        for found in preflights
        if found.failure is not None
    ]
    if failed:
        raise PreflightFailed(
            "preflight failed, nothing was spent on cases: "
            + "; ".join(failed)
            + " (--no-preflight skips this test)"
        )


async def _emit_waiting(states: Mapping[str, str], on_event: OnEvent, every_s: float) -> None:
    """Say which models have not replied yet, until it is cancelled."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while True:
        on_event(Waiting(dict(states), loop.time() - began))
        await asyncio.sleep(every_s)


async def _ask_all(
    trials: Sequence[Trial], timeout_s: float, states: dict[str, str]
) -> list[Preflight]:
    """Send all requests concurrently; a model that has replied leaves the states."""
    return list(await asyncio.gather(*(_ask(trial, timeout_s, states) for trial in trials)))


async def _ask(trial: Trial, timeout_s: float, states: dict[str, str]) -> Preflight:
    """The reply to one small request; transient failures are retried a few times, and a server
    that loads its model has as much time as a request (`timeout_s`).
    """
    name, provider = trial.spec.name, trial.provider
    call = provider.request(trial.prompt, 1)
    wait, loop = FIRST_WAIT_S, asyncio.get_running_loop()
    until, left = loop.time() + timeout_s, ATTEMPTS
    while True:
        try:
            async with asyncio.timeout(timeout_s):
                answer = await provider.attempt(call)
        except TimeoutError:
            answer = AttemptFailed("timeout", f"no answer within {timeout_s:g} s")
        if isinstance(answer, ProviderResponse):
            states.pop(name, None)
            reply = answer.reply
            return Preflight(name, None, reply.input_tokens or 0, reply.output_tokens or 0)
        loading = _is_loading(answer)
        left -= not loading
        if answer.kind in NEVER_REPEATED or not left or loop.time() >= until:
            return Preflight(name, answer)
        states[name] = LOADING if loading else answer.message
        longest = LOADING_WAIT_S if loading else LONGEST_WAIT_S
        await asyncio.sleep(min(max(wait, answer.retry_after_s or 0), longest))
        wait *= 2


def _is_loading(failed: AttemptFailed) -> bool:
    """Whether the server is up and its model is not: llama.cpp answers 503 `Loading model`."""
    return failed.status == HTTPStatus.SERVICE_UNAVAILABLE and "loading" in failed.message.lower()
