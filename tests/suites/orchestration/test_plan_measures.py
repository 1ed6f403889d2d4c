"""The two graphs of a plan and what is measured on them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.metrics.graphs import Graph
from callscore.suites.orchestration.plan.measures import (
    IDENTICAL,
    PlanScore,
    PlanSimilarity,
    component_cost,
    measure_plan,
    step_score,
)
from callscore.suites.orchestration.plan.model import (
    PlannedStep,
    Workflow,
    WorkflowPlan,
    component_graph,
    structural_graph,
)


def flow(name: str, *agents: str, after: tuple[str, ...] = (), status: str = "pending") -> Workflow:
    return Workflow(name, tuple(PlannedStep(agent, status) for agent in agents), after)


def plan(*workflows: Workflow) -> WorkflowPlan:
    return WorkflowPlan(workflows)


CHAIN = plan(flow("w1", "a"), flow("w2", "b", after=("w1",)))


@pytest.mark.parametrize(
    "other", [PlanSimilarity(0.9, 0.9, 0.9, exact=True), PlanSimilarity(1.0, 0.9, 1.0, exact=False)]
)
def test_c117_both_similarities_decide_whether_a_plan_is_right_and_exact(
    other: PlanSimilarity,
) -> None:
    for pair in ((IDENTICAL, other), (other, IDENTICAL)):
        score = PlanScore(*pair, node_f1=1.0, edge_f1=1.0)
        assert score.is_right is (other.similarity == 1.0)
        assert score.approximate is not other.exact


agents = st.sampled_from(["a", "b", "c"])
statuses = st.sampled_from(["pending", "completed"])
steps = st.lists(st.builds(PlannedStep, agents, statuses), max_size=3).map(tuple)
names = st.sampled_from(["w1", "w2", "w3", "w4"])
plans = st.lists(
    st.builds(Workflow, names, steps, st.lists(names, max_size=2, unique=True).map(tuple)),
    max_size=4,
    unique_by=lambda workflow: workflow.name,
).map(lambda workflows: WorkflowPlan(tuple(workflows)))


def test_a_dependency_is_an_edge_and_a_dangling_one_a_node() -> None:
    drawn = structural_graph(plan(flow("w1"), flow("w2", after=("w1", "w9"))))
    assert drawn == Graph(("w1", "w2", "w9"), frozenset({(0, 1), (2, 1)}))


def test_equal_pairs_collapse_and_only_dependencies_draw_loops() -> None:
    drawn = component_graph(plan(flow("w1", "a", "a", "b"), flow("w2", "b", after=("w1",))))
    assert drawn.labels == (("a", "pending"), ("b", "pending"))
    assert drawn.edges == {(0, 1), (1, 1)}


@pytest.mark.parametrize(
    ("first", "second", "cost"),
    [
        (("a", "x"), ("a", "x"), 0.0),
        (("a", "x"), ("b", "y"), 1.0),
        (("a", "x"), ("b", "x"), 0.8),
        (("a", "x"), ("a", "y"), 0.2),
    ],
)
def test_c_117_substitution_costs(
    first: tuple[str, str], second: tuple[str, str], cost: float
) -> None:
    assert component_cost(first, second) == cost


def test_leaving_out_a_dependency_costs_an_edge_in_both_graphs() -> None:
    measured = measure_plan(plan(flow("w1", "a"), flow("w2", "b")), CHAIN)
    assert measured.structural.similarity == pytest.approx(1 - 1 / 5)
    assert measured.component.similarity == pytest.approx(1 - 1 / 5)
    assert measured.edge_f1 == 0
    assert measured.node_f1 == 1
    assert not measured.exact_plan


def test_workflow_names_do_not_matter() -> None:
    renamed = plan(flow("workflow_7", "a"), flow("workflow_9", "b", after=("workflow_7",)))
    assert measure_plan(renamed, CHAIN).exact_plan


def test_a_repeated_step_is_seen_by_the_extension_alone() -> None:
    once, twice = plan(flow("w1", "a")), plan(flow("w1", "a", "a"))
    measured = measure_plan(once, twice)
    assert measured.score == 1.0
    assert measured.node_f1 == pytest.approx(2 / 3)
    assert not measured.exact_plan


def test_cycles_and_dangling_dependencies_are_flagged_not_fatal() -> None:
    ring = plan(flow("w1", "a", after=("w2",)), flow("w2", "b", after=("w1", "w9")))
    assert measure_plan(ring, CHAIN).flags == ("cycle", "dangling_dependency")


def test_a_wrong_agent_in_a_plan_of_one_step() -> None:
    measured = measure_plan(plan(flow("w1", "b")), plan(flow("w1", "a")))
    assert measured.component.similarity == pytest.approx(1 - 0.8 / 2)
    assert measured.score == pytest.approx(step_score(1.0, 0.6))


@given(plans)
def test_a_plan_equals_itself(one: WorkflowPlan) -> None:
    measured = measure_plan(one, one)
    assert measured.exact_plan
    assert measured.score == 1.0


@given(plans, plans)
def test_similarity_is_symmetric_and_a_fraction(one: WorkflowPlan, other: WorkflowPlan) -> None:
    there, back = measure_plan(one, other), measure_plan(other, one)
    assert there.score == pytest.approx(back.score)
    assert there.node_f1 == pytest.approx(back.node_f1)
    assert 0 <= there.score <= 1
    assert not there.approximate
