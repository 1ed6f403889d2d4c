"""Orchestration cases of other origin on the scorecard: metrics without bands, gates or weights."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from operator import itemgetter

from callscore.core.scorecard import TemplateRow
from callscore.suites.calls.formula import TaskFormula
from callscore.suites.calls.spec import MetricSpec, ScoreSpec
from callscore.suites.orchestration.single_turn.task import (
    CALL_SLUGS,
    GRAPH_SLUGS,
    SCORE,
    OrchestrationTask,
)

LABELS = {
    "orchestration.function_name_f1": ("001 function_name_accuracy, C-115", "Function Name F1"),
    "orchestration.arguments_key_f1": ("001 arguments_key_score, C-115", "Argument Key F1"),
    "orchestration.arguments_value_f1": ("001 arguments_value_score, C-115", "Argument Value F1"),
    "orchestration.exact_calls": ("extension", "Exact Calls"),
    "orchestration.plan_similarity": ("001 1-GED, C-117", "Plan Similarity"),
    "orchestration.node_f1": ("extension", "Node F1"),
    "orchestration.edge_f1": ("extension", "Edge F1"),
    "orchestration.exact_plan": ("extension", "Exact Plan"),
    SCORE: ("001 FC, C-117", "Case Score"),
}
NAME = OrchestrationTask.name


@cache
def formula() -> TaskFormula:
    """The task score is the mean of the case scores; document 001 has no bands or blockers."""
    specs = {
        slug: MetricSpec(section=section, label=label, unit="fraction", bands=())
        for slug, (section, label) in LABELS.items()
    }
    return TaskFormula(
        task=NAME,
        slugs=tuple(LABELS),
        row=itemgetter(*LABELS),
        score=ScoreSpec("Orchestration", weights={SCORE: 1.0}),
        weighted=frozenset({SCORE}),
        scored=(SCORE,),
        gates=(),
        specs=specs,
    )


def template() -> Iterator[TemplateRow]:
    """The rows of these cases on the scorecard."""
    yield TemplateRow("section", "ORCHESTRATION (CASES OF OTHER ORIGIN)", NAME)
    for slug in (*CALL_SLUGS, *GRAPH_SLUGS):
        yield TemplateRow("metric", LABELS[slug][1], slug)
    yield TemplateRow("task", "Orchestration Score", NAME, "0.0 – 1.0")
