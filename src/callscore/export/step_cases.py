"""Steps of scenarios as cases of a report: added model by model, read case by case."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from callscore.core.measure import Measure
from callscore.core.scenarios import StepAnswer, StepView
from callscore.core.scorecard import CaseResult
from callscore.report.source import Answer, Cases, CaseView
from callscore.store.disk_list import DiskList

STEP_MEASURES = ("success", "plan", "name", "key", "value")
"""The metrics of a step; its other numbers are cost and time."""


class StepCases:
    """Steps of scenarios in a temporary file; only their offsets are in memory."""

    def __init__(self) -> None:
        self._views = DiskList(CaseView)
        self._places: dict[str, dict[str, int]] = {}
        self._models: dict[str, None] = {}

    def __enter__(self) -> StepCases:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the temporary file."""
        self._views.close()

    def add(self, view: StepView) -> None:
        """Store a step with the replies of one model."""
        self._models[view.model] = None
        answered = CaseView(view.case, [_answer(answer) for answer in view.answers])
        self._places.setdefault(view.case.id, {})[view.model] = self._views.put(answered)

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[CaseView]:
        """Yield every step with the replies of all models, in the order of `add`."""
        for case_id, places in self._places.items():
            views = {model: self._views.at(place) for model, place in places.items()}
            case = next(iter(views.values())).case
            answers: list[Answer] = []
            for model in self._models:
                view = views.get(model)
                if view is None:
                    answers.append(Answer(CaseResult(case_id, model, 1, case.task, "not_run")))
                else:
                    answers += view.answers
            yield CaseView(case, answers)


class CombinedCases:
    """The cases of calls, followed by the steps of scenarios."""

    def __init__(self, calls: Cases, steps: Cases) -> None:
        self._parts = (calls, steps)

    def __len__(self) -> int:
        return sum(len(part) for part in self._parts)

    def __iter__(self) -> Iterator[CaseView]:
        for part in self._parts:
            yield from part


def _answer(step: StepAnswer) -> Answer:
    answer = Answer(step.result, _measures(step), given=step.given, differences=step.differences)
    reply = step.reply
    if reply is None:
        return msgspec.structs.replace(answer, error=step.error)
    return msgspec.structs.replace(
        answer,
        text=reply.text if isinstance(reply.text, str) else reply.text.decode("utf-8", "replace"),
        tool_calls=reply.tool_calls,
        finish_reason=reply.finish_reason,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        cost_usd=reply.cost_usd,
        latency_ms=reply.latency_ms,
        answered_by=reply.model,
    )


def _measures(step: StepAnswer) -> dict[str, Measure]:
    return {
        slug: Measure(value, value, 1.0)
        for slug, value in step.result.metrics.items()
        if value is not None and slug.rpartition(".")[2] in STEP_MEASURES
    }
