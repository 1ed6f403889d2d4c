"""Bundled sample data, and how to score it; all of it is fictional."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import resources

from callscore.config.score import ScoreConfig

_OUTPUTS = ("outputs", "repeats")
_VERDICTS = ("verdicts", "repeat-verdicts", "benchmark-verdicts")


@contextmanager
def sample_calls() -> Iterator[ScoreConfig]:
    """The settings to score the sample calls, each asked twice, with the eleven benchmarks."""
    folder = resources.files(__package__).joinpath("calls")
    with ExitStack() as stack:
        paths = {
            name: stack.enter_context(resources.as_file(folder.joinpath(f"{name}.jsonl")))
            for name in ("cases", *_OUTPUTS, *_VERDICTS)
        }
        yield ScoreConfig(
            cases=(paths["cases"],),
            outputs=tuple(paths[name] for name in _OUTPUTS),
            verdicts=tuple(paths[name] for name in _VERDICTS),
        )
