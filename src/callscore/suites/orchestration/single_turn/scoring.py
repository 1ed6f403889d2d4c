"""Single-turn cases on the scorecard: metrics without bands, gates or weights."""

from __future__ import annotations

from callscore.core.spec import MetricSpec, ScoreSpec, Spec
from callscore.suites.orchestration.single_turn.task import SCORE, OrchestrationTask

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


def scoring_spec(digest: str) -> Spec:
    """The task score is the mean of the case scores; document 001 has no bands or blockers."""
    return Spec(
        framework="001",
        tasks=(NAME,),
        scores={
            NAME: ScoreSpec(
                "Orchestration",
                weights={SCORE: 1.0},
                section="ORCHESTRATION (CASES OF OTHER ORIGIN)",
            )
        },
        metrics={
            slug: MetricSpec(section=section, label=label, template_row=slug != SCORE)
            for slug, (section, label) in LABELS.items()
        },
        final={"b": {NAME: 1.0}},
        digest=digest,
    )
