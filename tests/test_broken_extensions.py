"""Packages with a mistake: each gets one clear message and exit code 2, never a traceback."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from callscore.core.case import Prompt
from callscore.core.provider import AttemptFailed, ProviderRequest, ProviderResponse
from callscore.core.run import ModelSpec
from callscore.providers.plugin import PluginProvider
from commands import CompletedCommand, run
from extensions import Page, install_modules

MEASURE = "Measure(right, right, 1.0)"
MEASURED = f'Measured({{"reason.accuracy": {MEASURE}}})'
SHARE = "Measure(short / len(reasons), short, len(reasons))"
LINE = " (callscore_reason.py, line "


def _followed(page_name: str, changes: dict[str, str], folder: Path) -> CompletedCommand:
    """The last command of a page, whose package has some of its text replaced."""
    page = Page(page_name)
    texts = dict(page.package)
    for old, new in changes.items():
        (name,) = (each for each, text in texts.items() if old in text)
        texts[name] = texts[name].replace(old, new)
    env = install_modules(texts, folder)
    page.write_files(folder)
    done = [run(*command.split(), env=env, cwd=folder) for command in page.commands]
    return done[-1]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("class ReasonTask", "clas ReasonTask", "cannot be imported: SyntaxError: invalid syntax"),
        ("\nclass", "\n1 / 0\nclass", "cannot be imported: ZeroDivisionError: division by zero"),
        ("name, title, version", "name, tytle, version", "ReasonTask has no title; expected"),
        ("def measure(", "def gauge(", "raised TypeError: Can't instantiate abstract class"),
        ("MetricSpec(section=", "dict(section=", "reason.accuracy is dict; expected a callscore"),
        ('weights = {"reason.', 'weights = {"raisin.', "unknown name 'raisin.accuracy'; expected"),
        ('accuracy": 1.0}', 'accuracy": 2.0}', "the weights add up to 2; expected 1"),
        ('version = "reason"', 'version = "final"', "'final' cannot be the name of a task"),
        ('.get("reason")', '["raisin"]', "reference() of case 'call-1' raised KeyError: 'raisin'"),
        ('case.config["reasons"]', "case.x", "prompt() of case 'call-1' raised AttributeError"),
        ("return Prompt((", "return ((", "returned tuple; expected a callscore.extension.Prompt"),
        ("read_object(reply)", "1 / 0", "read() raised ZeroDivisionError: division by zero" + LINE),
        ("float(output == reference)", "1 / 0", "measure() raised ZeroDivisionError: division by"),
        ('{"reason.accuracy": Measure(', '{"reason.other": Measure(', "metric 'reason.other'"),
        (MEASURED, "Measured({})", "measure() returned no measure of reason.accuracy"),
        (MEASURE, 'Measure(float("nan"), 0, 1)', "the value nan; expected a finite number"),
        (MEASURE, "Measure(1, 1, 1e400)", "the denominator inf; expected a finite number"),
        (MEASURE, 'Measure("good", 1, 1)', "the value 'good'; expected a finite number"),
        (MEASURE, "Measure(None)", "returned a Measure without a value; expected an `absence`"),
        (MEASURE, "right", "reason.accuracy returned float; expected a callscore.extension.Mea"),
        (MEASURED, "right", "measure() returned float; expected a callscore.extension.Measured"),
        ('outcome["reason"] =', 'outcome["x"]["y"] =', "degrade() raised KeyError: 'x'" + LINE),
        ('outcome["reason"] = ', "return ", "degrade() returned str; expected a callscore.exten"),
    ],
)
def test_a_mistake_in_a_task(old: str, new: str, message: str, tmp_path: Path) -> None:
    _refused(_followed("task.md", {old: new}, tmp_path), message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name, title = "routing"', 'name, title = "calls"', "a suite 'calls' is built in"),
        ('"spec.toml")', '"none.toml")', "suite 'routing': none.toml: [Errno 2] No such file"),
        ('framework = "1.0"', "framework =", "suite 'routing': spec.toml: Invalid value"),
        ('tasks = ["queue", "priority"]', "tasks = 5", "spec.toml: Expected `array`, got `int`"),
        ('label = "Queue",', 'label = "Queue", x = 1,', "Object contains unknown field `x`"),
        ('"Good"', '"Great"', "Invalid enum value 'Great'"),
        ("priority = 0.25", "prio = 0.25", "final.b: unknown name 'prio'; expected one of queue"),
        ('partial(FieldTask, "priority")', "", "`task_types` has no task 'priority'"),
        ("(SpecSuite)", "", "RoutingSuite has no spec, verdict_rules, settings, …; expected"),
        (
            "(SpecSuite):",
            "(SpecSuite):\n    def read_scenario(self, name, text): return []",
            "suite 'routing': RoutingSuite has no scenario_files; expected a ScenarioReader",
        ),
    ],
)
def test_a_mistake_in_a_suite(old: str, new: str, message: str, tmp_path: Path) -> None:
    _refused(_followed("suite.md", {old: new}, tmp_path), message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("class ShortReasons:", "class ShortReasons(int):", ""),
        ("short = sum(", "short = 1 / 0 + sum(", "case 'greeting-1' raised ZeroDivisionError"),
        (SHARE, "1.0", "returned float; expected a callscore.extension.Measure"),
        (SHARE, 'Measure(float("nan"), 1, 1)', "the value nan; expected a finite number"),
        ('    version = "1"\n', "", "metric 'short-reasons': ShortReasons has no version"),
        ("spec = MetricSpec(", "spec = dict(", "spec is dict; expected a callscore.extension.Met"),
        ("qa.short_reasons", "qa.structure", "qa.structure is a metric of the suite 'calls'"),
        ("qa.short_reasons", "quality.x", "quality.x does not begin with the name of a task"),
    ],
)
def test_a_mistake_in_a_metric(old: str, new: str, message: str, tmp_path: Path) -> None:
    done = _followed("metric.md", {old: new}, tmp_path)
    if message:
        _refused(done, message)
    else:
        assert done.returncode == 0, done.stderr  # an odd class that keeps to the protocol


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("self.name = spec.name", "raise ValueError('no')", "'inhouse' raised ValueError: no"),
        ("async def close", "async def end", "InhouseProvider has no close; expected a Provider"),
        ("messages = [", "messages = 1 / 0, [", "request() raised ZeroDivisionError: division by"),
        (".digest()", ".hexdigest()", "request(): the key is not bytes"),
        ("return ProviderRequest(key", "return print(key", "request() raised TypeError"),
        ("generate, **", "print, **", "our-model: provider 'inhouse' raised TypeError"),
        ("return ProviderResponse(\n", "return (\n", "attempt() returned Reply; expected Provider"),
    ],
)
def test_a_mistake_in_a_provider(old: str, new: str, message: str, tmp_path: Path) -> None:
    _refused(_followed("provider.md", {old: new}, tmp_path), message)


@pytest.mark.parametrize(
    ("error", "kind"),
    [(TimeoutError, "timeout"), (ConnectionResetError, "connection"), (KeyError, "bad_request")],
)
def test_what_a_provider_raises_is_repeated_if_the_network_caused_it(
    error: type[Exception], kind: str
) -> None:
    class Raising:
        name = "m"

        def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
            return ProviderRequest(b"key", "m", b"body", 1, 1)

        async def attempt(self, request: ProviderRequest) -> ProviderResponse | AttemptFailed:
            raise error("sk-secret")

        async def close(self) -> None:
            pass

    provider = PluginProvider(Raising(), ModelSpec("m", "inhouse", "m"))
    failed = asyncio.run(provider.attempt(provider.request(Prompt(()), 1)))
    assert isinstance(failed, AttemptFailed)
    assert failed.kind == kind
    assert "sk-secret" not in failed.message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("worst = int(", "worst = 1 / 0 + int(", "write() raised ZeroDivisionError: division by"),
        ('.title)}\\n".encode()', '.title)}\\n"', "write() yielded str; expected bytes"),
        ("FORMAT = ReportFormat(", "FORMAT = str(", "cannot be imported: TypeError: str() takes"),
        (
            "FORMAT = ReportFormat(",
            "FORMAT = list((",
            "cannot be imported: SyntaxError: '(' was never",
        ),
    ],
)
def test_a_mistake_in_a_report_format(old: str, new: str, message: str, tmp_path: Path) -> None:
    _refused(_followed("report.md", {old: new}, tmp_path), message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '    signature = "keywords:1"\n',
            "",
            "KeywordJudge has no signature; expected a Judge",
        ),
        (
            "class KeywordJudge:\n",
            "class KeywordJudge:\n    x = 1 / 0\n",
            "cannot be imported: Zero",
        ),
        ('    name = "', '    def __init__(self, x): pass\n    name = "', "raised TypeError: Key"),
    ],
)
def test_a_mistake_in_a_judge(old: str, new: str, message: str, tmp_path: Path) -> None:
    _refused(_followed("judge.md", {old: new}, tmp_path), message)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "spoken = ",
            "spoken = 1 / 0, ",
            "keywords raised ZeroDivisionError (callscore_keywords.py",
        ),
        (
            "return JudgeResult(",
            "return (",
            "keywords returned list; expected JudgeResult or Failed",
        ),
        (
            "question.item, word, by",
            'question.item, "good", by',
            "the verdict 'good' was not offered",
        ),
        (
            "question.metric, question.item",
            'question.metric, "Q9"',
            "a verdict on 'Q9', which was not",
        ),
    ],
)
def test_a_judge_that_fails_is_counted_and_gives_no_score(
    old: str, new: str, why: str, tmp_path: Path
) -> None:
    done = _followed("judge.md", {old: new}, tmp_path)
    assert done.returncode == 3, done.stderr  # it gave no usable verdict at all
    assert "1 could not be judged" in done.stdout
    assert f"items got no verdict, for example: {why}" in " ".join(done.stdout.split())


def test_two_packages_cannot_have_the_same_name(tmp_path: Path) -> None:
    page = Page("task.md")
    twice = page.package["pyproject.toml"] + 'other = "callscore_reason:ReasonTask"\n'
    env = install_modules({**page.package, "pyproject.toml": twice}, tmp_path)
    page.write_files(tmp_path)
    done = run("run", "eval.yaml", env=env, cwd=tmp_path)
    _refused(done, "task 'reason': a suite 'reason' also comes from task 'other'; expected another")


def _refused(done: CompletedCommand, message: str) -> None:
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 2
