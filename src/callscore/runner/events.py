"""Events of a run on their way to the caller: what the journal and the scoring need of them."""

from __future__ import annotations

from callscore.core.run import Completed, Event, OnEvent, Stopping, Uncertain
from callscore.runner.scoring import RunScoring
from callscore.store.protocol import RunLedger


def billing_events(ledger: RunLedger, on_event: OnEvent) -> OnEvent:
    """Record what lost attempts of models and judges may cost."""

    def emit(event: Event) -> None:
        if isinstance(event, Uncertain):
            ledger.add_uncertain_cost(event.usd)
        on_event(event)

    return emit


def scoring_events(on_event: OnEvent, scoring: RunScoring, ledger: RunLedger) -> OnEvent:
    """Pass the replies of models to scoring as they arrive."""

    def emit(event: Event) -> None:
        if isinstance(event, Completed):
            scoring.replies.take(event, superseded=ledger.superseded)
        if isinstance(event, Stopping) and scoring.calls is not None:
            scoring.calls.emit_progress()  # requests to judges are awaited, too
        on_event(event)

    return emit
