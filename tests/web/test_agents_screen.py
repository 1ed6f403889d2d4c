"""Agents: steps, the first divergence, plans and arguments side by side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser, expect

import commands
from browser import Tab
from scenario_runs import call_first_tool, scenario_data
from stub_servers import serving
from web_server import Served, serve


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of a run over the bundled scenarios: one perfect model, one that errs."""
    folder: Path = tmp_path_factory.mktemp("agents")
    with serving(call_first_tool) as stub:
        models = [
            {"name": "perfect", "provider": "simulated"},
            {"name": "errs", "provider": "openai", "model": "m", "base_url": stub.url,
             "api_key_env": "KEY"},
        ]  # fmt: skip
        (folder / "eval.yaml").write_text(
            yaml.safe_dump({"name": "agents", "data": scenario_data(), "models": models})
        )
        done = commands.run(
            "run", folder / "eval.yaml", "--store", folder / "runs.db", env={"KEY": "x"}
        )
        assert done.returncode == 0, done.stderr
    with serve(folder / "runs.db") as served:
        served.enter()
        yield served


def test_the_steps_of_every_scenario_are_shown_and_the_first_divergence_is_said(
    agents: Served,
) -> None:
    page = agents.ask("/runs/1/agents").text
    assert "6 scenarios" in page
    assert page.count("right</small>") == 6  # the perfect model
    assert page.count("first divergence at step") == 2 * 6  # said to the eye and to the ear
    assert "Call or reject" in page


def test_a_scenario_opens_at_its_first_divergence_with_plans_and_arguments(
    browser: Browser, agents: Served
) -> None:
    with Tab(browser, agents) as tab:
        page = tab.open("/runs/1/agents")
        page.locator(".signs[aria-label*=divergence]").first.click()
        expect(page.locator(".timeline li.diverges details[open] svg")).to_have_count(2)
        expect(page.locator(".timeline")).to_contain_text("first divergence")
        page.locator(".timeline summary", has_text="tool call").first.click()
        expect(page.locator(".arguments .chip.bad").first).to_be_visible()
        page.locator(".filter", has_text="perfect").click()
        expect(page.locator(".note", has_text="right.")).to_be_visible()


def test_a_model_or_a_place_that_does_not_exist_is_refused(agents: Served) -> None:
    assert agents.ask("/runs/1/agents?scenario=1&model=x").status == 400
    assert agents.ask("/runs/1/agents?scenario=999").status == 400
    assert agents.ask("/runs/9/agents").status == 404


def test_a_page_of_scenarios_says_of_how_many(tmp_path: Path) -> None:
    data = scenario_data()
    (tmp_path / "scenarios").mkdir()
    for source in Path(data["orchestration"]["scenarios"]).glob("*.yaml"):
        for number in range(5):
            copy = tmp_path / "scenarios" / f"{source.stem}-{number}.yaml"
            copy.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    data["orchestration"]["scenarios"] = str(tmp_path / "scenarios")
    models = [{"name": "perfect", "provider": "simulated"}]
    value = {"name": "agents", "data": data, "models": models}
    (tmp_path / "eval.yaml").write_text(yaml.safe_dump(value), encoding="utf-8")
    done = commands.run("run", tmp_path / "eval.yaml", "--store", tmp_path / "runs.db")
    assert done.returncode == 0, done.stderr
    with serve(tmp_path / "runs.db") as served:
        served.enter()
        assert "25 of 30 scenarios" in served.ask("/runs/1/agents").text
