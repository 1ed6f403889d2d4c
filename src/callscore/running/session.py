"""The part of a run that awaits: preflight, then the engine, then connections are given back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from callscore.core.errors import ConfigError
from callscore.core.run_words import Ledger, OnEvent, RunSummary
from callscore.engine import loop
from callscore.engine.plan import Plan
from callscore.engine.run import generate
from callscore.engine.stopping import Stop
from callscore.running.models import Reached
from callscore.running.preflight import Preflight, preflight

PREFLIGHT_TIMEOUT_S = 30.0

Asked = tuple[Sequence[Preflight], RunSummary]


def ask_all(plan: Plan, ledger: Ledger, first: Mapping[str, Reached], on_event: OnEvent) -> Asked:
    """Ask the models in `first` whether they answer at all; then carry out the plan."""
    return loop.run(lambda stop: _ask_all(plan, ledger, first, on_event, stop))


async def _ask_all(
    plan: Plan, ledger: Ledger, first: Mapping[str, Reached], on_event: OnEvent, stop: Stop
) -> Asked:
    try:
        timeout = min(PREFLIGHT_TIMEOUT_S, plan.options.attempt_s)
        providers = {name: model.provider for name, model in first.items()}
        preflights = await preflight(providers, timeout)
        _refuse(preflights)
        return preflights, await generate(plan, ledger, on_event, stop)
    finally:
        for model in plan.models.values():
            await model.provider.close()


def _refuse(preflights: Sequence[Preflight]) -> None:
    failed = [
        f"{found.model}: {found.failure.message}"
        for found in preflights
        if found.failure is not None
    ]
    if failed:
        raise ConfigError(
            "preflight failed, nothing was spent on cases: "
            + "; ".join(failed)
            + " (--no-preflight goes on without asking first)"
        )
