"""C-128: `compat` against every row of the public evaluator's own results."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations, permutations
from typing import Any

import pytest

from callscore.core.judging import Question, Verdict
from callscore.metrics.graphs import Graph, similarity
from callscore.suites.orchestration.call.questions import NoVerdicts, VerdictSource
from callscore.suites.orchestration.compat import plan as compat_plan
from callscore.suites.orchestration.compat.evaluation import evaluate_file
from callscore.suites.orchestration.compat.plan_text import extract_plan
from callscore.suites.orchestration.decision.confusion import or_zero
from callscore.suites.orchestration.plan.measures import component_cost
from callscore.suites.orchestration.result import ResultMetadata, compat_result
from callscore.suites.orchestration.rows import ResultRow
from orchestration_data import PARITY, load, needs_fixtures, tool_schemas

pytestmark = needs_fixtures

FIXTURES = [
    ("perfect_label", "EN", ""),
    ("perfect_prompt", "EN", ""),
    ("perfect_prompt", "EN", ".judge"),
    ("perfect_prompt", "KO", ""),
    ("perfect_prompt", "KO", ".judge"),
    ("mutated", "EN", ""),
    ("mutated", "EN", ".judge"),
    ("mutated", "KO", ""),
    ("mutated", "KO", ".judge"),
    ("failed", "EN", ""),
    ("failed", "EN", ".judge"),
    ("mixture", "EN", ""),
    ("mixture", "EN", ".judge"),
    ("hostile", "EN", ""),
]

HALF_DIGIT = 1e-9


class JudgeRule:
    """The fixtures' judge: equal letters and digits; a query also by half of its words."""

    def verdict_on(self, case_id: str, run: int, question: Question) -> Verdict | None:
        mine, theirs = question.text.casefold(), question.reference.casefold()
        same = bool(_letters(mine)) and _letters(mine) == _letters(theirs)
        if question.item.startswith("refinedQuery["):
            first, second = set(re.findall(r"\w+", mine)), set(re.findall(r"\w+", theirs))
            same = same or len(first & second) * 2 >= len(first | second) > 0
        word = "same" if same else "different"
        return Verdict(question.metric, question.item, verdict=word)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


@cache
def _rows(model: str, lang: str, suffix: str) -> list[tuple[dict[str, Any], ResultRow]]:
    answers: VerdictSource = JudgeRule() if suffix else NoVerdicts()
    reference = load(PARITY / model / f"reference_result.{lang}{suffix}.json")
    return [
        (
            expected,
            evaluate_file(
                load(PARITY / model / expected["file_path"]),
                expected["file_path"],
                tool_schemas(lang),
                answers,
                f"{lang}/x",
            ),
        )
        for expected in reference["detailed_results"]
    ]


def _differing(expected: Mapping[str, Any], got: Mapping[str, Any]) -> dict[str, Any]:
    """Every number of `expected` (at any depth) that `got` does not have."""
    found: dict[str, Any] = {}
    for key, value in expected.items():
        if isinstance(value, dict):
            found |= {f"{key}.{k}": v for k, v in _differing(value, got[key]).items()}
        elif isinstance(value, int | float):
            if got[key] is None or abs(value - got[key]) > HALF_DIGIT:
                found[key] = (value, got[key])
        elif value != got[key]:
            found[key] = (value, got[key])
    return found


@pytest.mark.parametrize(("model", "lang", "suffix"), FIXTURES)
def test_c_128_every_field_agrees_with_the_public_evaluator(
    model: str, lang: str, suffix: str
) -> None:
    pairs = _rows(model, lang, suffix)
    outcome = compat_result(
        ResultMetadata("d", lang, model, "rule", "", ""), [row for _, row in pairs], ()
    )
    written = outcome.document()
    ours = {row["file_path"]: row for row in written["detailed_results"]}
    for expected, _ in pairs:
        assert _differing(expected, ours[expected["file_path"]]) == {}, expected["file_path"]
    reference = load(PARITY / model / f"reference_result.{lang}{suffix}.json")
    assert _differing(reference["overall_statistics"], written["overall_statistics"]) == {}


@pytest.mark.parametrize(("model", "lang"), [("mutated", "EN"), ("mutated", "KO")])
def test_c_128_exact_plan_scores_are_next_to_the_public_ones(model: str, lang: str) -> None:
    """Brute force proves the exact cost of every plan that the public evaluator undercounts."""
    differing = 0
    for _, row in _rows(model, lang, ""):
        assert row.exact_plan is not None
        if row.exact_plan == row.plan:
            continue
        differing += 1
        history = load(PARITY / model / row.file_path)["history"]
        exact = [_exact_similarity(*pair) for pair in _plan_pairs(history)]
        mean = math.fsum(exact) / row.plan.evaluated
        assert row.exact_plan.component.value == pytest.approx(mean, abs=1e-12)
        assert mean < or_zero(row.plan.component)
    assert differing == 19


def _exact_similarity(predicted: Mapping[Any, Any], gold: Mapping[Any, Any]) -> float:
    first, second = map(compat_plan.component_graph, (predicted, gold))
    return similarity(_brute_force(first, second), first, second)


def _brute_force(first: Graph, second: Graph) -> float:
    """Least cost over every injective partial map: independent of the search."""
    return min(
        _cost(first, second, image) for image in _maps(len(first.labels), len(second.labels))
    )


def _maps(nodes: int, images: int) -> Iterator[dict[int, int]]:
    for size in range(min(nodes, images) + 1):
        for mapped in combinations(range(nodes), size):
            for image in permutations(range(images), size):
                yield dict(zip(mapped, image, strict=True))


def _cost(first: Graph, second: Graph, image: dict[int, int]) -> float:
    nodes = sum(component_cost(first.labels[a], second.labels[b]) for a, b in image.items())
    kept = sum((image.get(a), image.get(b)) in second.edges for a, b in first.edges)
    unmapped = len(first.labels) + len(second.labels) - 2 * len(image)
    return nodes + unmapped + len(first.edges) + len(second.edges) - 2 * kept


def _plan_pairs(
    history: Mapping[str, Any],
) -> Iterator[tuple[Mapping[Any, Any], Mapping[Any, Any]]]:
    for run in history.values():
        predicted = {e["step_id"]: extract_plan(e["content"]) for e in run["main_agent_history"]}
        for key, entry in run["label"].items():
            gold = extract_plan(entry["content"]) if key.isdigit() else {}
            if gold and predicted.get(int(key)):
                yield predicted[int(key)], gold
