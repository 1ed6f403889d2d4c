"""Scores from weighted contributions: with all weights 1, they are the card's own numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random

import numpy as np
import pytest

from callscore.config.score import ScoreConfig
from callscore.core.measure import Measure
from callscore.core.scorecard import ModelScore, Scorecard
from callscore.demo import sample_calls
from callscore.stats import contributions as stored
from callscore.stats.contributions import Charge, MetricColumn, TaskContributions, call_key
from callscore.stats.matrix import call_matrix, column_values, make_units
from callscore.stats.weighted_scores import ScoreKey, Scores, rank_scores, scores
from random_calls.dataset import make_dataset
from scored_calls import ScoredCalls, score_with_contributions, write_records
from shared_cases import shared_cases, shared_file

EPSILON = 1e-12
"""Sums are added in another order than the tally adds them."""


def numbers_of(model: ModelScore) -> Iterator[tuple[ScoreKey, float | None]]:
    """Every number of a column, under the name that weighted scores give it."""
    for name, task in model.tasks.items():
        for slug, metric in task.metrics.items():
            yield ("row", slug), metric.value
        for part, sub in task.subscores.items():
            yield ("part", name, part), sub.score
        yield ("task", name), task.score
        yield ("zeroed", name), task.zeroed_score
        yield ("ungated", name), task.ungated_score
        if task.unblocked_share is not None:
            yield ("blocked", name), 1 - task.unblocked_share
    for slug, criterion in model.benchmarks.criteria.items():
        yield ("criterion", slug), criterion.value
    yield ("benchmarks",), model.benchmarks.score
    yield ("final",), model.final.score
    yield ("zeroed",), model.final.zeroed_final
    yield ("cost",), model.cost.per_1000_calls


def recomputed(scored: ScoredCalls, most: int = 2_000) -> dict[str, Scores]:
    units = make_units(scored.contributions.values(), most)
    found = {}
    for model in scored.card.models:
        matrix = call_matrix(scored.contributions[model.model], scored.shape(model), units)
        sums = matrix.sums @ np.ones((units.size, 1))
        found[model.model] = scores(scored.shape(model), matrix.place, sums)
    return found


def assert_the_card(scored: ScoredCalls, most: int = 2_000) -> int:
    """Every number that the card has is there, and is the same; says how many there are."""
    found, compared = recomputed(scored, most), 0
    for model in scored.card.models:
        for key, value in numbers_of(model):
            if value is not None:
                again = float(found[model.model][key][0])
                assert again == pytest.approx(value, rel=EPSILON, abs=EPSILON), (model.model, key)
                compared += 1
    assert_ranked(scored.card, found)
    return compared


def assert_ranked(card: Scorecard, found: Mapping[str, Scores]) -> None:
    for is_estimate in (False, True):
        together = [
            line
            for line in card.ranking
            if line.quality_rank is not None and line.estimate is is_estimate
        ]
        if together:
            rank_scores([found[line.model] for line in together])
        for line in together:
            mine = found[line.model]
            assert mine["quality_rank",][0] == line.quality_rank
            for key, value in (("rank", line.rank), ("efficiency", line.efficiency)):
                if value is not None:
                    assert mine[key,][0] == pytest.approx(value, rel=EPSILON)


def test_the_bundled_sample_is_reproduced_with_all_its_benchmarks() -> None:
    with sample_calls() as config:
        assert assert_the_card(score_with_contributions(config)) > 150


@pytest.mark.parametrize("seed", range(12))
def test_random_evaluations_are_reproduced(seed: int, tmp_path: Path) -> None:
    """Repeats, failures, broken answers, open verdicts, models of equal quality, free ones."""
    assert_the_card(random_evaluation(seed, tmp_path))


def test_groups_of_calls_add_up_to_the_same_card(tmp_path: Path) -> None:
    assert_the_card(random_evaluation(3, tmp_path), most=5)


def random_evaluation(seed: int, folder: Path) -> ScoredCalls:
    dice = Random(seed)
    cases, outputs, verdicts = make_dataset(dice, per_task=12)
    for case in cases:  # a call goes through several tasks
        case["call_id"] = dice.choice((f"call-{dice.randint(1, 20)}", dice.randint(1, 5)))
    config = ScoreConfig(
        (write_records(folder, "cases", cases),),
        (write_records(folder, "outputs", outputs),),
        (write_records(folder, "verdicts", verdicts),),
    )
    return score_with_contributions(config)


@pytest.mark.parametrize("name", ["entity_harper_asr_output", "translation_xrisawoz"])
def test_real_calls_are_reproduced(name: str, tmp_path: Path) -> None:
    cases = shared_cases(f"{name}.jsonl")
    outputs = [
        {"case_id": case["id"], "model": "m", "output": given, "cost_usd": 0.001 * (at % 7)}
        for at, case in enumerate(cases)
        if (given := case.get("model_output") or cases[at - 1]["expected_outcome"])
    ]
    config = ScoreConfig(
        (shared_file(f"{name}.jsonl"),), (write_records(tmp_path, "outputs", outputs),)
    )
    assert assert_the_card(score_with_contributions(config)) >= 6


def test_a_call_is_its_call_id_and_a_case_without_one_is_its_own() -> None:
    assert call_key("c1", "a") == call_key("c1", "b") != call_key("c2", "a")
    assert call_key(7, "a") == call_key("7", "b")
    assert call_key(None, "a") != call_key(None, "b")
    assert call_key(None, "a") != call_key("a", "a")
    assert (
        call_key("c1", "a") == 16251913503404840543
    )  # the same in every process, so that runs can be paired


def test_columns_keep_every_digit_however_many_values_differ(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stored, "MAX_CODES", 8)
    dice = Random(1)
    measures = [Measure(dice.random(), dice.random(), 1.0) for _ in range(40)]
    measures[5] = measures[25] = Measure(None)
    for pooled in (False, True):
        column = MetricColumn(pooled=pooled)
        for some in (measures[:3], measures[3:30], measures[30:]):
            column.add(some)
        copied = MetricColumn(pooled=pooled)
        copied.extend(column)
        for one in (column, copied):
            value, numerator, _ = column_values(one)
            expected = [np.nan if m.value is None else m.value for m in measures]
            np.testing.assert_array_equal(value, expected)
            if pooled:
                counts = [0.0 if m.value is None else m.numerator for m in measures]
                np.testing.assert_array_equal(numerator, counts)


def test_contributions_add_as_tallies_do() -> None:
    one, two = TaskContributions(), TaskContributions()
    one.add_cases([Charge(1, 0.5, 1), Charge(2, 0.25, 1)], [1, 3])
    one.add_column("a", [Measure(1.0), Measure(0.5)])
    two.add_unanswered(Charge(3, 0.1))
    two.add_cases([Charge(4, 0.0, 2)], [1])
    two.add_column("b", [Measure(0.25)])
    one.extend(two)
    both = one
    assert list(both.keys) == [1, 2, 3, 4] and list(both.flags) == [1, 3, 0, 1]
    np.testing.assert_array_equal(column_values(both.columns["a"])[0], [1.0, 0.5, np.nan, np.nan])
    np.testing.assert_array_equal(
        column_values(both.columns["b"])[0], [np.nan, np.nan, np.nan, 0.25]
    )
