"""Sample outputs of the orchestration suite: two models on six scenarios, all fictional."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources

from callscore.core.scenarios import RecordedOutputs
from callscore.evaluate.scenarios import OutputsJob

MODELS = ("sample-large", "sample-small")


@contextmanager
def sample_runs() -> Iterator[tuple[OutputsJob, ...]]:
    """One scoring job per sample model."""
    with resources.as_file(resources.files(__package__)) as folder:
        yield tuple(
            OutputsJob(
                RecordedOutputs(
                    outputs=(folder / "outputs" / model / "EN",),
                    cards=(folder / "cards" / "EN",),
                    model=model,
                ),
                verdicts=(folder / "verdicts.jsonl",),
            )
            for model in MODELS
        )
