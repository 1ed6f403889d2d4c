"""What comparisons read of the index: contributions by model, and results by model and case."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from callscore.core.scorecard import CaseResult, Scorecard
from callscore.results.scoring_parts import decode_contributions
from callscore.stats.contributions import Contributions
from callscore.store.results_index import ResultsIndex


class _AnswerInView(msgspec.Struct):
    result: CaseResult


class _ResultsInView(msgspec.Struct):
    """The results in a case; the rest is skipped, which is much faster."""

    answers: Sequence[_AnswerInView] = ()


_decode_results = msgspec.json.Decoder(_ResultsInView).decode


class KeptContributions(Mapping[str, Contributions]):
    """By model, what its calls add to its scores; read when it is asked for."""

    def __init__(self, index: ResultsIndex, scoring: int, card: Scorecard) -> None:
        self._index, self._scoring = index, scoring
        self._tasks = {model.model: model.tasks for model in card.models}

    def __getitem__(self, model: str) -> Contributions:
        raw = self._index.contributions(self._scoring, model)
        if raw is None:
            raise KeyError(model)
        tasks = self._tasks[model]
        return {
            task: kept.at_worst() if task in tasks and tasks[task].bounded else kept
            for task, kept in decode_contributions(raw).items()
        }

    def __iter__(self) -> Iterator[str]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)


class KeptResults(Mapping[str, Sequence[CaseResult]]):
    """The results of one model by case, none if it was not asked; only places are in memory."""

    def __init__(self, model: str, cases: CaseResults) -> None:
        self._model, self._cases = model, cases

    def __getitem__(self, case_id: str) -> Sequence[CaseResult]:
        return [one for one in self._cases.of_case(case_id) if one.model == self._model]

    def __iter__(self) -> Iterator[str]:
        return iter(self._cases.places)

    def __len__(self) -> int:
        return len(self._cases.places)


class CaseResults:
    """The results of all models, one case at a time."""

    def __init__(
        self, index: ResultsIndex, scoring: int, change: Callable[[CaseResult], CaseResult]
    ) -> None:
        """Every result is given as `change` returns it."""
        self._index, self._scoring, self._change = index, scoring, change
        self.places: dict[str, list[int]] = {}
        """By id, the places of a case, in the order of places."""
        for case_id, place in index.places(scoring):
            self.places.setdefault(case_id, []).append(place)
        self._last: tuple[str, Sequence[CaseResult]] = ("", ())
        self._together: tuple[int, Sequence[bytes]] = (0, ())
        """The cases of the row that was read last, and the first of their places."""

    def of_case(self, case_id: str) -> Sequence[CaseResult]:
        """Every result of a case; two models of a run are read one after the other."""
        if self._last[0] != case_id:
            found = [_decode_results(self._view(place)) for place in self.places[case_id]]
            results = [self._change(one.result) for view in found for one in view.answers]
            self._last = (case_id, results)
        return self._last[1]

    def _view(self, place: int) -> bytes:
        first, views = self._together
        if not first <= place < first + len(views):
            first, views = self._together = self._index.views_at(self._scoring, place)
        return views[place - first]
