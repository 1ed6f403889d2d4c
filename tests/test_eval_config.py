"""EVAL.yaml: every key documented, every mistake named with file, line and remedy."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from builders import qa_case, question
from callscore.config.config import load_eval
from callscore.config.file import (
    PROVIDERS,
    AttemptsEntry,
    DataEntry,
    EvalFile,
    GateEntry,
    ModelEntry,
    RaceEntry,
    RegressionEntry,
    ScenarioEntry,
    StopEntry,
    ToolEntry,
)
from callscore.core.errors import ConfigError
from callscore.core.run import Limits, Price
from callscore.providers.simulated import SimulatedParams
from callscore.suites.registry import built_in_tasks

ROOT = Path(__file__).parent.parent
STRUCTS: list[type[msgspec.Struct]] = [
    EvalFile,
    ModelEntry,
    Price,
    Limits,
    DataEntry,
    ScenarioEntry,
    StopEntry,
    ToolEntry,
    GateEntry,
    RegressionEntry,
    RaceEntry,
    AttemptsEntry,
    SimulatedParams,
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.jsonl", "b.jsonl"):
        line = json.dumps(qa_case([question()], name))
        (tmp_path / name).write_text(line + "\n", encoding="utf-8")
    return tmp_path


def written(folder: Path, text: str) -> Path:
    path = folder / "eval.yaml"
    path.write_text(text, encoding="utf-8")
    return path


MODEL = "models: [{name: m, provider: simulated}]\n"
ONLINE = "data: a.jsonl\nmodels:\n- name: m\n  provider: openai\n  model: x\n  "


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ("{wrong_score: 1}", ".wrong_score: unknown key; did you mean wrong_scores?"),
        ("{refusals: 1.5}", ": refusals must be between 0 and 1"),
        ("{seed: x}", ".seed: Expected int, got str"),
        ("{latency_ms: -1}", ": latency_ms must be between 0 and 600000"),
    ],
)
def test_wrong_params_of_a_simulated_model_are_refused_with_their_line(
    folder: Path, params: str, message: str
) -> None:
    text = f"data: a.jsonl\nmodels:\n- {{name: m, provider: simulated, params: {params}}}\n"
    with pytest.raises(ConfigError) as caught:
        load_eval(written(folder, text))
    assert str(caught.value) == f"{folder / 'eval.yaml'}:3: models[0].params{message}"


def test_a_small_file_is_enough_and_the_rest_has_defaults(folder: Path) -> None:
    config = load_eval(written(folder, "data: a.jsonl\n" + MODEL))
    assert config.name == "eval"
    assert config.cases == (folder / "a.jsonl",)
    assert (config.repeats, config.budget_usd, config.tasks) == (1, None, ())
    assert config.store == folder / ".callscore" / "runs.db"


@pytest.mark.parametrize(
    ("more", "repeats"),
    [
        ("benchmarks: all\n", 3),
        ("benchmarks: all\nsettings: {consistency.runs: 5}\n", 5),
        ("benchmarks: all\nrepeats: 1\n", 1),
        ("settings: {consistency.runs: 5}\n", 1),
    ],
)
def test_c98_consistency_has_its_runs_unless_the_file_says_otherwise(
    folder: Path, more: str, repeats: int
) -> None:
    config = load_eval(written(folder, "data: a.jsonl\n" + more + MODEL))
    assert (config.repeats, config.scoring.repeats) == (repeats, repeats)


def test_scenarios_alone_are_asked_once_as_they_have_no_benchmarks(folder: Path) -> None:
    data = "data: {orchestration: {scenarios: ., cards: .}}\nbenchmarks: all\n"
    assert load_eval(written(folder, data + MODEL)).repeats == 1


@pytest.mark.parametrize(
    "data",
    [
        "data: '*.jsonl'",
        "data: [a.jsonl, b.jsonl]",
        "data: [a.jsonl, '?.jsonl']",
        "data: {calls: ['[ab].jsonl']}",
        "data: [{calls: a.jsonl}, b.jsonl]",
    ],
)
def test_data_may_be_files_globs_or_suites(folder: Path, data: str) -> None:
    config = load_eval(written(folder, f"{data}\n{MODEL}"))
    assert sorted(path.name for path in config.cases) == ["a.jsonl", "b.jsonl"]


def test_sample_means_the_bundled_calls(folder: Path) -> None:
    (path,) = load_eval(written(folder, f"data: sample\n{MODEL}")).cases
    assert path.name == "cases.jsonl"
    assert path.is_file()


MISTAKES: list[tuple[str, str, list[str]]] = [
    ("unknown key", "data: a.jsonl\nmodles: []\n", [":2:", "modles", "did you mean models?"]),
    (
        "unknown key of a model",
        "data: a.jsonl\nmodels:\n- name: m\n  provider: openai\n  modle: x\n",
        [":5:", "models[0].modle", "did you mean model?"],
    ),
    (
        "unknown key of limits",
        ONLINE + "limits: {concurency: 3}\n",
        [":6:", "models[0].limits.concurency", "did you mean concurrency?"],
    ),
    ("price with a typo", ONLINE + "price: {inptu: 1, output: 2}\n", ["did you mean input?"]),
    ("no models", "data: a.jsonl\n", ["expected the key models"]),
    ("empty models", "data: a.jsonl\nmodels: []\n", ["models", "at least one model"]),
    ("empty file", "", ["expected data, models"]),
    ("a list", "[1]\n", ["no keys"]),
    ("wrong type", "data: a.jsonl\nrepeats: many\n" + MODEL, [":2:", "repeats", "Expected int"]),
    ("yes is no boolean", ONLINE + "allow_http: yes\n", ["allow_http", "Expected bool"]),
    ("repeats", "data: a.jsonl\nrepeats: 0\n" + MODEL, [":2:", "from 1 to 100"]),
    ("task", "data: a.jsonl\ntasks: [entitiy]\n" + MODEL, ["tasks[0]", "did you mean entity?"]),
    ("missing file", "data: zz.jsonl\n" + MODEL, [":1:", "'zz.jsonl': no such file"]),
    ("glob without a match", "data: 'z*.jsonl'\n" + MODEL, ["no such file"]),
    ("empty data", "data: []\n" + MODEL, ["data", "expected case files"]),
    ("data of a wrong kind", "data: [5]\n" + MODEL, ["data[0]", "expected a case file"]),
    ("data key", "data: {orchestra: {}}\n" + MODEL, ["did you mean orchestration?"]),
    (
        "no such folder",
        "data: {orchestration: {scenarios: s, cards: c}}\n" + MODEL,
        ["data.orchestration", "no such folder"],
    ),
    (
        "provider",
        "data: a.jsonl\nmodels: [{name: m, provider: opneai, model: x}]\n",
        ["models[0].provider", "did you mean openai?"],
    ),
    (
        "no model name",
        "data: a.jsonl\nmodels: [{name: m, provider: openai}]\n",
        ["models[0].model", "missing"],
    ),
    (
        "same name twice",
        "data: a.jsonl\nmodels:\n- {name: m, provider: baseline}\n- {name: m, provider: replay}\n",
        [":4:", "models[1].name", "appears twice"],
    ),
    (
        "control characters in a name",
        'data: a.jsonl\nmodels: [{name: "m\\e[2J", provider: simulated}]\n',
        ["printable name"],
    ),
    ("judge", "data: a.jsonl\njudge: nobody\n" + MODEL, ["judge", "expected none, offline"]),
    (
        "judge that answers from cases",
        "data: a.jsonl\njudge: {name: j, provider: baseline}\n" + MODEL,
        ["judge.provider", "cannot judge"],
    ),
    ("four judges", "data: a.jsonl\njudge: [{}, {}, {}, {}]\n" + MODEL, ["one to 3"]),
    (
        "judge with a key",
        "data: a.jsonl\njudge: {name: j, provider: openai, model: m, api_key: x}\n" + MODEL,
        ["judge.api_key", "secret"],
    ),
    ("embedder", "data: a.jsonl\nembedder: [muse]\n" + MODEL, ["embedder", "expected a model"]),
    ("benchmarks", "data: a.jsonl\nbenchmarks: some\n" + MODEL, ["benchmarks", "all or none"]),
    ("negative price", ONLINE + "price: {input: -1, output: 2}\n", ["price.input", "at least 0"]),
    ("no concurrency", ONLINE + "limits: {concurrency: 0}\n", ["limits.concurrency"]),
    ("budget", "data: a.jsonl\nbudget_usd: -1\n" + MODEL, ["budget_usd", "from 0"]),
    ("setting", "data: a.jsonl\nsettings: {gaets: all}\n" + MODEL, ["unknown setting 'gaets'"]),
    (
        "one run",
        "data: a.jsonl\nsettings: {consistency.runs: 1}\n" + MODEL,
        ["settings", "consistency.runs must be between 2 and 100"],
    ),
    ("weights", "data: a.jsonl\nweights: {qa: 2}\n" + MODEL, ["weights", "expected 1"]),
    (
        "gate",
        "data: a.jsonl\ngates: [{of: finall, at_least: 1}]\n" + MODEL,
        ["did you mean final?"],
    ),
    (
        "gates without calls",
        "data: {orchestration: {scenarios: ., cards: .}}\ngates: [{of: qa, at_least: 1}]\n" + MODEL,
        ["gates[0].of: 'qa'", "expected case files"],
    ),
    (
        "gates without scenarios",
        "data: a.jsonl\ngates: [{of: orchestration.plan, at_least: 1}]\n" + MODEL,
        ["gates[0].of: 'orchestration.plan'", "expected data.orchestration"],
    ),
    ("unknown embedder", "data: a.jsonl\nembedder: mouse\n" + MODEL, ["embedder: 'mouse'", "muse"]),
    ("weights twice", "data: a.jsonl\nweights: {qa: 2}\n" + MODEL, ["weights: the sum is 2"]),
    (
        "gate without limit",
        "data: a.jsonl\ngates: [{of: final}]\n" + MODEL,
        ["at_least, at_most or no_regression"],
    ),
    (
        "gate of nobody",
        "data: a.jsonl\ngates: [{of: final, at_least: 1, model: z}]\n" + MODEL,
        ["'z' is not among the models"],
    ),
    (
        "replay without outputs",
        "data: a.jsonl\nmodels: [{name: m, provider: replay}]\n",
        ["models[0].outputs", "missing"],
    ),
    (
        "outputs without replay",
        "data: a.jsonl\nmodels: [{name: m, provider: baseline, outputs: a.jsonl}]\n",
        ["provider: replay"],
    ),
    ("http", ONLINE + "base_url: http://models.example/v1\n", ["models[0].base_url", "allow_http"]),
    ("metadata", ONLINE + "base_url: https://169.254.169.254/v1\n", ["link-local or metadata"]),
    ("no address", ONLINE + "base_url: models.example\n", ["base_url", "expected https"]),
    ("duplicate key", "data: a.jsonl\ndata: b.jsonl\n" + MODEL, [":2:", "appears twice"]),
    ("tag", "data: !!python/name:os.system x\n" + MODEL, [":1:", "tag"]),
]


@pytest.mark.parametrize(("text", "words"), [pytest.param(t, w, id=n) for n, t, w in MISTAKES])
def test_a_mistake_is_named_with_its_place_and_a_remedy(
    folder: Path, text: str, words: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_eval(written(folder, text))
    message = str(caught.value)
    assert message.startswith(f"{folder / 'eval.yaml'}:")
    for word in words:
        assert word in message


SECRET = "sk-proj-canary0123456789"
WITH_SECRETS = [
    f"api_key: {SECRET}",
    f"api_key_env: {SECRET}",
    f"base_url: https://user:{SECRET}@models.example/v1",
    f"base_url: https://models.example/v1?key={SECRET}",
    f"params: {{api_key: {SECRET}}}",
    f"params: {{extra_headers: {{Authorization: Bearer {SECRET}}}}}",
    f"params: {{user: [{SECRET}]}}",
]


@pytest.mark.parametrize("line", WITH_SECRETS)
def test_a_secret_in_the_file_is_refused_and_not_repeated(folder: Path, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_eval(written(folder, ONLINE + line + "\n"))
    assert "models[0]" in str(caught.value)
    assert SECRET not in str(caught.value)
    assert "api_key_env" in str(caught.value)


def test_http_is_allowed_to_this_machine_and_where_the_file_says_so(folder: Path) -> None:
    for line in (
        "base_url: http://127.0.0.1:8000/v1",
        "base_url: http://localhost/v1",
        "base_url: http://models.example/v1\n  allow_http: true",
    ):
        load_eval(written(folder, ONLINE + line + "\n"))


def fingerprint(folder: Path, text: str) -> str:
    return load_eval(written(folder, text)).fingerprint


def test_speed_and_place_do_not_make_another_run_but_what_is_asked_does(folder: Path) -> None:
    base = fingerprint(folder, ONLINE + "params: {temperature: 0}\n")
    same = ONLINE + "params: {temperature: 0}\n  limits: {concurrency: 2}\n"
    assert fingerprint(folder, same + "store: x.db\nbudget_usd: 3\n") == base
    assert fingerprint(folder, ONLINE + "params: {temperature: 1}\n") != base


def test_every_key_is_documented() -> None:
    page = (ROOT / "docs" / "run.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w.]+)`", page))
    keys = {key for struct in STRUCTS for key in struct.__struct_fields__}
    assert sorted(keys - named) == []
    assert sorted({*PROVIDERS, *built_in_tasks()} - named) == []


def test_no_struct_of_the_file_is_forgotten() -> None:
    def structs(kind: Any) -> set[Any]:
        found: set[Any] = set()
        for field in msgspec.structs.fields(kind):
            for inner in re.findall(r"callscore\.[\w.]+", str(field.type)):
                module, _, name = inner.rpartition(".")
                found.add(name)
                assert module
        return found

    names = {struct.__name__ for struct in STRUCTS}
    for struct in STRUCTS:
        assert structs(struct) <= names
