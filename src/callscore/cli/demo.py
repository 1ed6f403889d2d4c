"""`callscore demo`: score the bundled sample data, offline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from callscore.cli.console import command_name, say

if TYPE_CHECKING:
    from callscore.core.scorecard import Scorecard
    from callscore.web.serving import ServeOptions

SAMPLE_STORE = Path("callscore-demo.db")
TITLE = "Call Intelligence scorecard · SAMPLE DATA: made-up calls, models and verdicts"


@click.command()
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path), help="Write the scorecard as JSON."
)
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    help="Write one JSON line per case, model and run.",
)
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    default=Path("callscore-demo.html"),
    show_default=True,
    help="Write the report to this file.",
)
@click.option(
    "--all-rows", is_flag=True, help="Show every row: details, and tasks that were not run."
)
@click.option(
    "--serve",
    "serves",
    is_flag=True,
    help="Run simulated models on the sample calls, and show the run in the web app.",
)
@click.option(
    "--store",
    type=click.Path(path_type=Path),
    default=SAMPLE_STORE,
    show_default=True,
    help="With --serve: the store of the run; one that exists is shown as it is.",
)
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8420, help="With --serve: the port."
)
def demo(
    json_file: Path | None,
    results: Path | None,
    html: Path,
    all_rows: bool,
    serves: bool,
    store: Path,
    port: int,
) -> None:
    """Score the bundled samples of both suites, offline.

    Thirteen made-up calls in English, Spanish, Hindi, Korean and German, four tasks each, with
    recorded outputs of four sample models, two runs each, and recorded verdicts, those for the
    eleven benchmarks included; then six made-up agent scenarios with two sample models. Nothing is
    sent. The report of both is one HTML file.
    """
    if serves:
        import sys

        from callscore.web.serving import ServeOptions

        options = ServeOptions(store=store, port=port, opens=sys.stdout.isatty())
        serve_sample(store, options)
        return
    import msgspec

    from callscore.app import OutputPaths
    from callscore.cli import output
    from callscore.cli.orchestration import score_samples
    from callscore.demo import sample_calls
    from callscore.export.report_file import write_reports
    from callscore.export.sources import scored_source, with_scenarios
    from callscore.export.step_cases import StepCases
    from callscore.report.decision_lines import KEYWORD_WIDTH

    targets = OutputPaths(results, card=output.path_unless_stdout(json_file), html=html)
    with (
        sample_calls() as config,
        scored_source(config, targets) as source,
        StepCases() as steps,
    ):
        card = source.card
        output.write_scorecard(card, json_file)
        scenarios = score_samples(steps.add)
        source = with_scenarios(source, config, scenarios, steps)
        write_reports(msgspec.structs.replace(source, title=TITLE), targets)
    if json_file == output.STANDARD_OUTPUT:
        return
    output.print_card(card, TITLE, all_rows=all_rows, repeat_decision=False)
    averages = _say_scenarios(scenarios)
    say("\nSAMPLE DATA: the decision from these made-up numbers")
    output.print_verdict(card)
    say(f"{'AGENTS':<{KEYWORD_WIDTH}}average of plan, calls and rejections: {', '.join(averages)}.")
    _say_what_is_next(html)


def _say_scenarios(scenarios: Scorecard) -> list[str]:
    """Print the results of scenarios; returns the average of every model."""
    from callscore.report.orchestration_terminal import result_text

    averages = []
    for model in scenarios.models:
        say("\nSAMPLE DATA: made-up scenarios, models and verdicts")
        document = scenarios.document(model.model)
        say(result_text(document))
        numbers = document["overall_statistics"]["key_metrics"]
        averages.append(f"{model.model} {numbers['Average']}")
    return averages


def _say_what_is_next(html: Path) -> None:
    name = command_name()
    say(f"The report with every call, its evidence and its verdicts: {html}")
    form, run = "--form FORM --gold MARKS -o cases.jsonl", f"{name} init"
    say(f"Next, your own calls (docs/first-hour.md):  {name} import CALLS/ {form}   then   {run}")
    say(f"In the browser, the sample now, and later your own runs:  {name} serve")


def serve_sample(store: Path, options: ServeOptions) -> None:
    """Run simulated models on the sample calls, unless the store exists, and serve it."""
    from importlib import resources

    import msgspec

    from callscore.results.stored_results import StoredResults
    from callscore.runner.api import run
    from callscore.web.serving import serve_store

    if not store.exists():
        say("SAMPLE DATA: simulated models answer the made-up calls. Nothing is sent.")
        with resources.as_file(resources.files("callscore.demo") / "eval.yaml") as eval_file:
            run(eval_file, store=store)
        results = StoredResults(store)
        results.build(1)
        results.close()
    serve_store(msgspec.structs.replace(options, store=store, is_sample=True), say)
