"""Plans as graphs: read from answers, laid out in layers, drawn against what was expected."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.config.score import ScoreConfig
from callscore.export.sources import scored_source
from callscore.report.html import FORMAT
from callscore.report.source import ReportOptions
from callscore.report.svg.picture import standalone_picture
from callscore.report.svg.plan_graph import PlanGraph, draw_plan, extract_plan, lay_out_graph

NODES = [{"id": number, "text": text} for number, text in enumerate("ABCD", start=1)]


def test_a_plan_is_read_from_nodes_and_edges_or_from_workflows() -> None:
    graph = extract_plan({"nodes": NODES, "edges": [["START", "1"], {"from": 1, "to": 2}, "bad"]})
    assert graph is not None
    assert graph.nodes == {"1": "A", "2": "B", "3": "C", "4": "D", "START": "START"}
    assert graph.edges == [("START", "1"), ("1", "2")]
    flows = extract_plan(
        {
            "workflow_1": {"steps": [{"name": "billing"}, {"name": "network"}]},
            "workflow_2": {"depend_on": "workflow_1", "steps": [{"name": "account"}]},
        }
    )
    assert flows is not None
    assert list(flows.nodes.values()) == ["billing", "network", "account"]
    assert flows.edges == [("workflow_1/1", "workflow_1/2"), ("workflow_1/2", "workflow_2/1")]
    assert extract_plan({"calls": []}) is None and extract_plan(None) is None


names = st.sampled_from("abcdefgh")


@given(st.lists(st.tuples(names, names), max_size=20))
def test_no_two_nodes_share_a_place_and_edges_lead_from_layer_to_layer(
    edges: list[tuple[str, str]],
) -> None:
    drawing = lay_out_graph("abcdefgh", edges)
    assert len(set(drawing.nodes.values())) == 8
    for (start, end), way in drawing.routes.items():
        assert way[0] == drawing.nodes[start] and way[-1] == drawing.nodes[end]
        between = set(way[1:-1])
        assert between.isdisjoint(drawing.nodes.values())
        if drawing.nodes[start].layer < drawing.nodes[end].layer:
            assert all(two.layer == one.layer + 1 for one, two in pairwise(way))


def test_what_was_not_expected_is_marked() -> None:
    expected = PlanGraph({"1": "look up", "2": "refund"}, [("1", "2")])
    given = PlanGraph({"a": "look up", "b": "apologise", "c": "refund"}, [("a", "b"), ("b", "c")])
    root = ET.fromstring(standalone_picture(draw_plan("Plan", given, expected, "extra")))
    found = (element.get("class", "") for element in root.iter())
    marks = [mark for mark in found if "extra" in mark]
    assert sorted(marks) == ["edge extra", "edge extra", "node extra"]


@pytest.mark.parametrize("graph", [PlanGraph({}), PlanGraph({"1": "x"}, [("1", "1")])])
def test_an_empty_or_odd_plan_is_drawn_all_the_same(graph: PlanGraph) -> None:
    ET.fromstring(standalone_picture(draw_plan("Plan", graph)))


def test_the_report_shows_plans_and_decisions_of_agents(tmp_path: Path) -> None:
    cases = [
        {"id": "plan", "expected_outcome": {"nodes": NODES, "edges": [["1", "2"], ["2", "3"]]}},
        {"id": "act", "expected_outcome": {"calls": [{"refund": {"id": ["CH-1"]}}]}},
        {"id": "wait", "expected_outcome": {"calls": []}},
    ]
    answers = [
        {"nodes": [*NODES, {"id": 5, "text": "apologise"}], "edges": [["1", "3"], ["3", "5"]]},
        {"calls": []},
        {"calls": [{"name": "refund", "arguments": {"id": "X"}}]},
    ]
    common = {"task": "orchestration", "transcript": "user: hello", "config": {}}
    lines = [msgspec.json.encode({**case, **common}) for case in cases]
    outputs = [
        msgspec.json.encode({"case_id": case["id"], "model": "hasty", "output": answer})
        for case, answer in zip(cases, answers, strict=True)
    ]
    (tmp_path / "cases.jsonl").write_bytes(b"\n".join(lines))
    (tmp_path / "outputs.jsonl").write_bytes(b"\n".join(outputs))
    config = ScoreConfig((tmp_path / "cases.jsonl",), (tmp_path / "outputs.jsonl",))
    with scored_source(config) as source:
        page = b"".join(FORMAT.write(source, ReportOptions())).decode()
    decisions = page.partition('id="decisions"')[2].partition("</section>")[0]
    assert decisions.count(">1</td>") == 2  # one missed call, one wrong call
    plans = page.partition('id="plans"')[2].partition("</section>")[0]
    assert "Expected plan" in plans and "Plan of hasty" in plans and "node extra" in plans
