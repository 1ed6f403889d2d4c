"""Callscore as people use it from Python: event loops, frames, options, tables, notebooks."""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import os
import pickle
import pkgutil
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import callscore.core
import callscore.extension
from builders import Json, form, output, qa_case, question, text_case, text_outcome
from callscore.app import OutputPaths
from callscore.config.score import ScoreConfig
from callscore.core.errors import DataError, UsageError
from callscore.engine.api_call import run_off_loop
from callscore.runner.prepare import RunOptions
from command_server import NEVER_S
from commands import run as run_command
from eval_files import cases_file, eval_file
from scenario_runs import SCENARIOS

CASES = [qa_case([question()], name) for name in ("a", "b")]
OUTPUTS = [output(name, form(question(reason="Agent said Good morning"))) for name in ("a", "b")]
EXTENSION = callscore.extension.__all__
PERFECT = {"name": "perfect", "provider": "simulated"}


class TestInARunningLoop:
    """A notebook runs an event loop; `asyncio.run` is impossible there."""

    def test_scoring_with_judge_and_embedder_works(self) -> None:
        async def cell() -> callscore.Scorecard:
            outputs = [output("c1", text_outcome())]
            return callscore.score([text_case()], outputs, judge="offline", embedder="chrf")

        outside = callscore.score(
            [text_case()], [output("c1", text_outcome())], judge="offline", embedder="chrf"
        )
        assert asyncio.run(cell()) == outside

    def test_a_run_works(self, tmp_path: Path) -> None:
        cases_file(tmp_path, 2)
        path = eval_file(tmp_path, [PERFECT], judge="offline")

        async def cell() -> callscore.Scorecard:
            return callscore.run(path)

        assert asyncio.run(cell()).models[0].tasks["qa"].cases == 2

    def test_a_run_takes_the_keys_of_an_eval_file_as_a_mapping(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        config = {"data": [cases_file(tmp_path, 2)], "models": [PERFECT], "store": "kept.db"}
        card = callscore.run(config)
        assert card.models[0].tasks["qa"].cases == 2
        assert Path("kept.db").exists()
        assert callscore.run(config, resume=True).signature == card.signature

    def test_a_mapping_with_an_unknown_key_is_refused(self) -> None:
        with pytest.raises(callscore.ConfigError, match="^config: modles: unknown key; did you"):
            callscore.run({"data": "cases.jsonl", "modles": [PERFECT]})

    def test_a_mapping_of_something_else_is_refused(self) -> None:
        with pytest.raises(callscore.ConfigError, match="^config: .*; expected the values of an"):
            callscore.run({"data": object(), "models": [PERFECT]})

    def test_an_error_comes_out_as_it_is(self) -> None:
        async def cell() -> callscore.Scorecard:
            return callscore.score(CASES, [{"case_id": "x", "model": "m", "output": ""}])

        with pytest.raises(DataError, match="^outputs: record 1: "):
            asyncio.run(cell())

    def test_an_interrupt_stops_what_goes_on_in_the_thread(self) -> None:
        entered = threading.Event()

        def work() -> None:
            entered.set()
            while True:
                time.sleep(0.01)

        with pytest.raises(KeyboardInterrupt):
            asyncio.run(interrupted_cell(lambda: run_off_loop(work), entered))

    def test_an_interrupted_run_keeps_what_came_and_goes_on_later(self, tmp_path: Path) -> None:
        cases_file(tmp_path, 6)
        slow = {**PERFECT, "params": {"latency_ms": 300}, "limits": {"concurrency": 1}}
        path = eval_file(tmp_path, [slow])
        answered = threading.Event()

        interrupted = threading.Event()

        def wait_for_the_interrupt(event: object) -> None:
            answered.set()
            assert interrupted.wait(NEVER_S)

        def cell() -> object:
            return callscore.run(path, on_event=wait_for_the_interrupt)

        with pytest.raises(KeyboardInterrupt):
            asyncio.run(interrupted_cell(cell, answered, interrupted))
        card = callscore.run(path, resume=True)
        assert card.models[0].tasks["qa"].n == 6


async def interrupted_cell(
    work: Callable[[], object],
    begun: threading.Event,
    interrupted: threading.Event | None = None,
) -> None:
    """The work as in a cell of a notebook, whose kernel is interrupted as soon as it has begun."""

    def interrupt() -> None:
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        if interrupted is not None:
            interrupted.set()
        signal.default_int_handler(number, frame)

    # as in a kernel, where Python's own handler raises in the main thread
    signal.signal(signal.SIGINT, on_interrupt)
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        work()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def scored(cases: Any, outputs: Any, **options: Any) -> Mapping[str, Any]:
    return callscore.score(cases, outputs, **options).to_dict()


class TestFrames:
    """DataFrames and numpy scalars are accepted wherever records are."""

    def test_pandas_rows_are_records_and_nan_is_a_missing_field(self) -> None:
        pandas = pytest.importorskip("pandas")
        cases = [{**CASES[0], "lang": "en", "call_id": 7}, CASES[1]]
        outputs = [{**OUTPUTS[0], "run": 1, "cost_usd": 0.5}, OUTPUTS[1]]
        frames = pandas.DataFrame(cases), pandas.DataFrame(outputs)
        assert frames[0]["lang"].isna().any()
        assert frames[1]["run"].dtype == float
        assert scored(*frames) == scored(cases, outputs)

    def test_polars_rows_are_records_and_null_is_a_missing_field(self) -> None:
        polars = pytest.importorskip("polars")
        cases = [{**CASES[0], "lang": "en"}, {**CASES[1], "provenance": {"source": "x"}}]
        outputs = [{**OUTPUTS[0], "cost_usd": 0.5}, OUTPUTS[1]]
        assert scored(polars.DataFrame(cases), polars.DataFrame(outputs)) == scored(cases, outputs)

    def test_verdicts_may_be_a_frame_too(self) -> None:
        pandas = pytest.importorskip("pandas")
        verdict = {"metric": "qa.evidence_backed_reasoning", "item": "Q1", "verdict": "vague"}
        verdicts = [{**verdict, "case_id": case["id"]} for case in CASES]
        frame = pandas.DataFrame(verdicts)
        assert scored(CASES, OUTPUTS, verdicts=frame) == scored(CASES, OUTPUTS, verdicts=verdicts)

    def test_numbers_of_numpy_are_numbers(self) -> None:
        def numpied(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: numpied(inner) for key, inner in value.items()}
            if isinstance(value, list):
                return [numpied(inner) for inner in value]
            kinds = {int: np.int64, float: np.float64, bool: np.bool_}
            return kinds[type(value)](value) if type(value) in kinds else value

        outputs = [{**one, "cost_usd": 0.5} for one in OUTPUTS]
        assert scored(numpied(CASES), numpied(outputs)) == scored(CASES, outputs)

    def test_half_a_character_is_read_as_in_a_file(self, tmp_path: Path) -> None:
        case = {**CASES[0], "note": "\ud800"}
        file = tmp_path / "cases.jsonl"
        file.write_text(json.dumps(case), encoding="utf-8")
        assert scored([case], OUTPUTS[:1]) == scored(file, OUTPUTS[:1])

    @pytest.mark.parametrize(
        ("cases", "problem"),
        [
            (CASES[0], "one dict was given; expected a list"),
            (7, "int was given; expected a list of dicts"),
            ([7], r"cases: record 1: is of type int; expected a dict"),
            ([{**CASES[0], "note": object()}], r"cases: record 1: a value of type object"),
        ],
    )
    def test_what_is_no_record_is_named(self, cases: Any, problem: str) -> None:
        with pytest.raises(UsageError, match=problem):
            callscore.score(cases, OUTPUTS)


class TestOptions:
    """Typed keywords with the defaults of the command line."""

    @pytest.mark.parametrize(
        ("function", "option", "problem"),
        [
            (callscore.score, "juge", r"^score\(\) has no option 'juge'; did you mean judge\?$"),
            (callscore.run, "budget", r"did you mean budget_usd\?$"),
            (callscore.compare, "storage", r"did you mean store\?$"),
            (callscore.score, "zzzzzz", "expected one of cases, outputs, verdicts, labels"),
        ],
    )
    def test_an_unknown_one_names_the_nearest(
        self, function: Any, option: str, problem: str
    ) -> None:
        with pytest.raises(TypeError, match=problem):
            function("x", **{option: 1})

    def test_a_judge_brings_an_embedder_as_on_the_command_line(self, tmp_path: Path) -> None:
        for name, records in (
            ("cases", [text_case()]),
            ("outputs", [output("c1", text_outcome())]),
        ):
            lines = "".join(json.dumps(record) + "\n" for record in records)
            (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        files = [str(tmp_path / "cases.jsonl"), str(tmp_path / "outputs.jsonl")]
        done = run_command(
            "score", files[0], "--outputs", files[1], "--judge", "offline", "--json", "-"
        )
        card = callscore.score(files[0], files[1], judge="offline")
        assert card.to_dict() == json.loads(done.stdout)
        assert "embedder:none" not in card.signature

    def test_whatever_can_be_set_is_an_option(self) -> None:
        """Fields that only a run fills in, or that name the files of a command, are no options."""
        ours = set(inspect.signature(callscore.score).parameters)
        of_files = {"repeats", "elsewhere", "other_tasks", "case_lines", "estimates", "kinds"}
        of_files |= {"origins"}  # of a dossier
        assert set(ScoreConfig.__struct_fields__) - ours == of_files
        ours = set(inspect.signature(callscore.run).parameters)
        of_commands = {"targets", "log", "on_case", "on_step", "on_scoring_result", "unstored"}
        of_commands |= {"on_scored", "on_sub_block"}  # of the index
        of_commands |= {"workers", "verdicts"}  # `run --rescore`
        of_commands |= {"cluster"}  # `run --engine ray`
        assert set(RunOptions.__struct_fields__) - ours == of_commands
        assert set(OutputPaths.__struct_fields__) - ours == {"card", "html", "parquet"}

    def test_judges_are_also_given_as_the_content_of_their_file(self) -> None:
        entry = {"name": "j", "provider": "openai", "model": "m", "params": {"api_key": "sk-x"}}
        with pytest.raises(callscore.ConfigError, match=r"^judge: \[0\]\.params.*secret"):
            callscore.score(CASES, OUTPUTS, judge=[entry])
        with pytest.raises(callscore.ConfigError, match="^embedder: .*unknown provider"):
            callscore.score(CASES, OUTPUTS, embedder={"name": "e", "provider": "x", "model": "m"})

    def test_scenarios_take_a_mapping_and_the_options_of_the_command(self, tmp_path: Path) -> None:
        config = {"data": SCENARIOS, "models": [PERFECT], "store": tmp_path / "runs.db"}
        steps = tmp_path / "steps.jsonl"
        card = callscore.run(config, export=tmp_path / "out", trajectories=steps)
        assert card.suite == "orchestration"
        assert steps.exists() and list((tmp_path / "out").rglob("*_out.json"))
        with pytest.raises(UsageError, match="^mode 'public'; expected one of standard, compat$"):
            callscore.run(config, mode="public")  # type: ignore[arg-type]

    def test_a_judge_that_is_none_is_named(self) -> None:
        with pytest.raises(UsageError, match="^judge: int was given; expected a name"):
            callscore.score(CASES, OUTPUTS, judge=7)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="^judge 'ofline'; expected none, offline, or a YAML"):
            callscore.score(CASES, OUTPUTS, judge="ofline")


class TestPublicNames:
    def test_help_and_completion_show_them(self) -> None:
        import pydoc

        names = {"run", "score", "Scorecard", "CallscoreError", "DataError"}
        assert names <= set(dir(callscore))
        assert set(callscore.__all__) <= set(dir(callscore))
        shown = pydoc.plain(pydoc.render_doc(callscore))
        assert "score(cases" in shown
        assert "budget_usd" in shown
        for name in callscore.__all__:
            assert getattr(callscore, name) is not None

    def test_nothing_is_imported_before_it_is_used(self) -> None:
        code = (
            "import callscore, callscore.extension, sys\n"
            "dir(callscore), dir(callscore.extension)\n"
            "print('callscore.app' in sys.modules, 'msgspec' in sys.modules)\n"
            "from callscore import *\n"
            "from callscore.extension import *\n"
            "print(score is callscore.score, Measure is callscore.extension.Measure)\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout.split() == ["False", "False", "True", "True"]

    def test_scoring_without_a_judge_needs_no_event_loop(self, tmp_path: Path) -> None:
        (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES))
        (tmp_path / "outputs.jsonl").write_text("".join(json.dumps(o) + "\n" for o in OUTPUTS))
        code = (
            "import callscore, sys\n"
            "callscore.score('cases.jsonl', 'outputs.jsonl', intervals=False)\n"
            "print({'asyncio', 'ssl', 'numpy', 'callscore.judges.llm'} & {*sys.modules})\n"
        )
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert done.stdout.split("\n")[-2] == "set()", done.stderr

    def test_a_name_is_looked_up_once(self) -> None:
        for module in (callscore, callscore.extension):
            names = {name: getattr(module, name) for name in module.__all__}
            assert names.items() <= vars(module).items()

    def test_the_types_in_signatures_for_extensions_are_public(self) -> None:
        """A package that implements a protocol can import every type that its signatures name."""
        public = {*callscore.__all__, *callscore.extension.__all__}
        internal = {"ScenarioSuite"}  # agents that act step by step: of built-in suites only
        named = set()
        protocols = [getattr(callscore, name) for name in callscore.__all__]
        protocols = [value for value in protocols if getattr(value, "_is_protocol", False)]
        assert len(protocols) == 6
        for value in (*protocols, *map(partial(getattr, callscore.extension), EXTENSION)):
            for member in vars(value).values() if inspect.isclass(value) else [value]:
                if inspect.isfunction(member) and not member.__name__.startswith("_"):
                    named |= set(re.findall(r"\w+", " ".join(_annotations(member))))
        defined = {
            name
            for module in pkgutil.iter_modules(callscore.core.__path__, "callscore.core.")
            for name, value in vars(import_module(module.name)).items()
            if inspect.isclass(value) and value.__module__.startswith("callscore.")
        }
        assert named & defined - public <= internal

    def test_another_name_is_an_attribute_error(self) -> None:
        with pytest.raises(AttributeError, match="no attribute 'scor'"):
            getattr(callscore, "scor")  # noqa: B009  a type checker knows that it is missing


def _annotations(function: Callable[..., object]) -> list[str]:
    """The types in a signature as they are written."""
    found = inspect.signature(function)
    return [str(each.annotation) for each in found.parameters.values()] + [
        str(found.return_annotation)
    ]


class TestScorecard:
    def test_it_can_be_pickled_and_copied(self) -> None:
        card = callscore.score(CASES, OUTPUTS, judge="offline")
        assert pickle.loads(pickle.dumps(card)) == card
        assert copy.deepcopy(card) == card

    def test_rows_are_flat_and_have_the_same_columns(self) -> None:
        card = callscore.score(CASES, OUTPUTS, judge="offline", benchmarks=True)
        rows = card.to_rows()
        assert {tuple(row) for row in rows} == {tuple(rows[0])}
        values = {(row["task"], row["metric"]): row["value"] for row in rows}
        (model,) = card.models
        assert len(values) == len(rows)
        assert values["qa", "score"] == model.tasks["qa"].score
        assert values["qa", "qa.false_pass_rate"] == 0
        assert values["final", "score"] == model.final.score
        assert not any(isinstance(value, (dict, list)) for row in rows for value in row.values())

    def test_rows_make_a_frame(self) -> None:
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(callscore.score(CASES, OUTPUTS).to_rows())
        assert {"model", "task", "metric", "value", "rating", "n"} <= set(frame.columns)
        assert set(frame[frame.metric == "qa.false_pass_rate"].n) == {2}

    def test_dicts_are_what_json_holds(self) -> None:
        found = callscore.score(CASES, OUTPUTS).to_dict()
        assert json.loads(json.dumps(found)) == found
        assert found["models"][0]["tasks"]["qa"]["n"] == 2

    def test_html_shows_decision_ranking_and_table(self) -> None:
        card = callscore.score(CASES, OUTPUTS, judge="offline", weights={"qa": 1})
        shown = card._repr_html_()
        assert shown is not None
        assert "Offline estimate" in shown
        assert "False Pass Rate" in shown
        assert "Not drawn: m (" in shown
        assert shown.count("<table") == shown.count("</table>") == 2, "no cost is known to draw"

    def test_html_holds_no_markup_from_outside(self) -> None:
        evil = '<img src=x onerror="alert(1)">\u202e\x1b[31m'
        shown = callscore.score(CASES, [{**one, "model": evil} for one in OUTPUTS])._repr_html_()
        assert shown is not None
        assert "<img" not in shown
        assert "&lt;img" in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "<script" not in shown
        assert "http" not in shown


CELLS = [
    "import json, callscore, pandas\ncard = callscore.score('cases.jsonl', 'outputs.jsonl',"
    " judge='offline', embedder='chrf')\ncard",
    "frame = pandas.DataFrame(card.to_rows())\nframe[frame.task == 'qa'].metric.tolist()[0]",
    "cases = pandas.read_json('cases.jsonl', lines=True, dtype=False)\n"
    "again = callscore.score(cases, 'outputs.jsonl', judge='offline', embedder='chrf')\n"
    "again.signature == card.signature",
    "callscore.run('eval.yaml')",
]


def test_a_notebook_scores_runs_shows_the_card_and_makes_a_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a real kernel, which runs an event loop of its own."""
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    for needed in ("ipykernel", "pandas"):
        pytest.importorskip(needed)
    cases_file(tmp_path, 2)
    lines = [json.dumps(output(f"c{n}", form(question()))) for n in range(2)]
    (tmp_path / "outputs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    eval_file(tmp_path, [PERFECT], judge="offline").rename(tmp_path / "eval.yaml")
    own_kernel(tmp_path, monkeypatch)
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in CELLS])
    client = nbclient.NotebookClient(
        book,
        timeout=NEVER_S,
        kernel_name="callscore",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    shown = [cell.outputs[-1]["data"] for cell in book.cells]
    assert "False Pass Rate" in shown[0]["text/html"]
    assert shown[1]["text/plain"] == "'score'"
    assert shown[2]["text/plain"] == "True"
    assert "perfect" in shown[3]["text/html"]


def own_kernel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel of this very Python, whatever kernels the machine has."""
    spec: Json = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "callscore",
        "language": "python",
    }
    kernel = folder / "jupyter" / "kernels" / "callscore"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    monkeypatch.setenv("JUPYTER_PATH", str(folder / "jupyter"))
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
