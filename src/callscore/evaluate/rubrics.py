"""The rubrics of judging models: the built-in ones, and those of suites of other packages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import msgspec

from callscore.core.plugins import PluginError
from callscore.core.suite import Suite
from callscore.judges.rubric import Library, Rubric, built_in_library, parse_rubric
from callscore.suites.registry import other_suites


@cache
def rubric_library() -> Library:
    """All rubrics; raises PluginError if one of another package is invalid."""
    library = built_in_library()
    owners = dict.fromkeys(library.rubrics, "is built in")
    added: list[Rubric] = []
    for suite in other_suites():
        for file, rubric in _rubrics_of(suite):
            if (owner := owners.get(rubric.name)) is not None:
                raise PluginError(
                    f"{file}: a rubric {rubric.name!r} {owner}; expected another name"
                )
            owners[rubric.name] = f"also comes from suite {suite.name!r}"
            added.append(rubric)
    return library.with_rubrics(added) if added else library


def _rubrics_of(suite: Suite) -> Iterator[tuple[str, Rubric]]:
    """The rubrics of a suite, each with its file for messages."""
    for name, raw in suite.spec.rubrics.items():
        file = f"suite {suite.name!r}: {name}"
        try:
            rubric = parse_rubric(raw)
        except (msgspec.MsgspecError, ValueError) as error:
            raise PluginError(f"{file}: {error}") from None
        for slug in rubric.asks:
            if slug not in suite.spec.metrics:
                known = ", ".join(suite.spec.metrics)
                raise PluginError(
                    f"{file}: asks: {slug!r} is not a metric; expected one of {known}"
                )
        yield file, rubric
