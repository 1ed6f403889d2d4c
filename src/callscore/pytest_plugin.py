"""The pytest plugin: `pytest --callscore EVAL.yaml` makes every gate of an eval file a test.

The fixture `callscore_card` is the scorecard of that run. Nothing else of Callscore is imported
unless the option or the fixture is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from callscore.comparison.run_gates import GatedRun
    from callscore.config.file import GateEntry
    from callscore.core.scorecard import Scorecard

OPTION = "--callscore"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --callscore."""
    parser.getgroup("callscore").addoption(
        OPTION,
        dest="callscore",
        action="append",
        default=[],
        metavar="EVAL.yaml",
        help="Run this eval file; every gate for every model is a test. May be repeated.",
    )


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the gates of the eval files after all other tests."""
    for path in _eval_files(config):
        collector = EvalFileCollector.from_parent(session, path=path)
        items.extend(collector.collect())


def _eval_files(config: pytest.Config) -> list[Path]:
    return [(config.invocation_params.dir / name).resolve() for name in config.option.callscore]


class EvalFileCollector(pytest.File):
    """Collects the gates of an eval file; the file is run with the first test."""

    def collect(self) -> Iterator[GateItem]:
        """One test per gate and model; a single test of the run if there are no gates."""
        from callscore.config.config import load_eval
        from callscore.core.errors import CallscoreError

        try:
            config = load_eval(self.path)
        except CallscoreError as error:
            raise pytest.UsageError(str(error)) from None
        if not config.gates:
            yield GateItem.from_parent(self, name="complete")
        names: dict[str, int] = {}
        for gate in config.gates:
            for model in config.models:
                if gate.model in (None, model.name):
                    name = f"{model.name}: {_describe_gate(gate)}"
                    names[name] = names.get(name, 0) + 1
                    suffix = f" ({names[name]})" if names[name] > 1 else ""
                    yield GateItem.from_parent(
                        self, name=name + suffix, gate=gate, model=model.name
                    )


def _describe_gate(gate: GateEntry) -> str:
    parts = [gate.of]
    parts += [f"at least {gate.at_least:g}"] if gate.at_least is not None else []
    parts += [f"at most {gate.at_most:g}"] if gate.at_most is not None else []
    parts += ["no regression"] if gate.no_regression is not None else []
    return " ".join([*parts, *(["surely"] if gate.sure else [])])


class GateItem(pytest.Item):
    """One gate for one model."""

    def __init__(self, *, gate: GateEntry | None = None, model: str = "", **more: Any) -> None:
        super().__init__(**more)
        self._gate, self._model = gate, model

    def runtest(self) -> None:
        """Run the eval file once; fail if the gate is missed or undecided."""
        assert isinstance(self.parent, EvalFileCollector)
        run = _gated_run(self.config, self.parent.path)
        if self._gate is None:
            if run.status != "complete":
                raise GateMissed(f"the run is {run.status}")
            return
        for check in run.checks_of(self._gate, self._model):
            if check.status != "passed":
                raise GateMissed(f"{check.model}: {check.name} {check.message} ({check.status})")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The message without a traceback."""
        from callscore.core.errors import CallscoreError

        if isinstance(excinfo.value, GateMissed | CallscoreError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The location of the test: the eval file."""
        return self.path, None, f"{self.path.name}: {self.name}"


class GateMissed(Exception):
    """A gate does not hold."""


_RUNS = pytest.StashKey[dict[Path, "GatedRun"]]()


def _gated_run(config: pytest.Config, path: Path) -> GatedRun:
    """The run of an eval file, at most one per session."""
    from callscore.comparison.run_gates import run_eval

    runs = config.stash.setdefault(_RUNS, {})
    if path not in runs:
        runs[path] = run_eval(path)
    return runs[path]


@pytest.fixture(scope="session")
def callscore_card(pytestconfig: pytest.Config) -> Scorecard:
    """The scorecard of the eval file that --callscore names."""
    paths = _eval_files(pytestconfig)
    if not paths:
        pytest.skip(f"needs {OPTION} EVAL.yaml")
    card = _gated_run(pytestconfig, paths[0]).card
    if card is None:
        pytest.skip(f"{paths[0]}: the run was interrupted and has no scorecard")
    return card
