"""Report sources: the bundled sample, hostile text in every field, many cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from typing import Any

import msgspec

from callscore.core.scorecard import Scorecard
from callscore.demo import sample_calls
from callscore.export.sources import scored_source
from callscore.report.source import CaseView, Provenance, ReportSource

OWN_WORDS = frozenset(
    [
        "status",
        "task",
        "option",
        "unit",
        "rating",
        "metric",
        "type",
        "framework",
        "absence",
        "cost_status",
        "of",
        "reply",
    ]
)
"""Keys whose values come from Callscore, not from data."""


@contextmanager
def sample_source(limit: int | None = None) -> Iterator[ReportSource]:
    """The bundled calls, without versions and files, which differ between machines."""
    with sample_calls() as config:
        config = msgspec.structs.replace(config, limit=limit)
        with scored_source(config) as source:
            settings = source.provenance.settings
            yield msgspec.structs.replace(source, provenance=Provenance(settings=settings))


def hostile_source(source: ReportSource, payloads: Sequence[str]) -> ReportSource:
    """The source with a payload in place of every text; names and ids stay consistent."""
    endless = cycle(payloads)
    names = {model.model: f"{model.model} {next(endless)}" for model in source.card.models}
    ids = {view.case.id: f"{number} {next(endless)}" for number, view in enumerate(source.cases)}
    known = {**names, **ids}

    def changed(value: Any, key: str = "") -> Any:
        if isinstance(value, str):
            return value if key in OWN_WORDS else known.get(value) or next(endless)
        if isinstance(value, dict):
            return {name: changed(one, str(name)) for name, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [changed(one, key) for one in value]
        return value

    cases = []
    for view in source.cases:
        raw = msgspec.to_builtins(view)
        for answer in raw["answers"]:
            given = msgspec.json.decode(answer["text"]) if answer["text"][:1] == "{" else None
            answer["reply"] = msgspec.json.encode(changed(given)).decode() if given else ""
        found = changed(raw)
        for answer in found["answers"]:
            answer["text"] = answer["reply"] or answer["text"]
        cases.append(msgspec.convert(found, CaseView))
    card = msgspec.convert(_change_card(msgspec.to_builtins(source.card), changed), Scorecard)
    template = [
        msgspec.structs.replace(row, label=f"{row.label} {next(endless)[:200]}")
        for row in source.template
    ]
    return ReportSource(card, template, next(endless), cases, [next(endless)])


def _change_card(card: Mapping[str, Any], changed: Any) -> dict[str, Any]:
    """Change the texts of a scorecard; the keys of its mappings are slugs and stay."""
    found = changed(card)
    for model in found["models"]:
        for blocker in model["blockers"]:
            blocker["task"] = "qa"
    return dict(found)


def large_source(source: ReportSource, models: int, cases: int) -> ReportSource:
    """Repeat the models and cases of the sample, with numbers in their names."""
    return msgspec.structs.replace(
        source, card=_repeat_models(source.card, models), cases=RepeatedCases(source, models, cases)
    )


def _repeat_models(card: Scorecard, models: int) -> Scorecard:
    ranking = {entry.model: entry for entry in card.ranking}
    found, ranked = [], []
    for number, model in zip(range(models), cycle(card.models), strict=False):
        name = f"{model.model}-{number}"
        found.append(msgspec.structs.replace(model, model=name))
        ranked.append(msgspec.structs.replace(ranking[model.model], model=name))
    return msgspec.structs.replace(card, models=found, ranking=ranked, zeroed_ranking=())


class RepeatedCases:
    """Cases that are made on iteration, so that only one is in memory."""

    def __init__(self, source: ReportSource, models: int, cases: int) -> None:
        self._views = list(source.cases)
        self._models = models
        self._cases = cases

    def __len__(self) -> int:
        return self._cases

    def __iter__(self) -> Iterator[CaseView]:
        for number, view in zip(range(self._cases), cycle(self._views), strict=False):
            case = msgspec.structs.replace(view.case, id=f"{view.case.id}/{number}")
            answers = [
                msgspec.structs.replace(
                    answer,
                    result=msgspec.structs.replace(
                        answer.result,
                        case_id=case.id,
                        model=f"{answer.model}-{place}",
                        score=(number * 7919 + place * 104_729) % 1000 / 1000,
                        status="valid" if number % 3 else answer.result.status,
                    ),
                )
                for place, answer in zip(range(self._models), cycle(view.answers), strict=False)
            ]
            yield CaseView(case, answers)
