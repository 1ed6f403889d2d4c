"""Scenarios that are one in several languages: drawn and resampled together (STATS §2, §4).

Files of two languages need not have the same names: of the 219 names that both languages of the
public data have, 19 are those of the same steps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from callscore.core.errors import DataError
from callscore.scorecard.tally import TaskTally
from callscore.suites.orchestration.scenario.model import CallsDue, Scenario
from callscore.suites.orchestration.scenario.parse import ScenarioKey
from callscore.suites.orchestration.scenario_tally import unit_key

Twins = Mapping[str, str]
"""`LANG/ID` → the `LANG/ID` of the same scenario in the first language that has it."""
NO_TWINS: Twins = {}


class Outline(msgspec.Struct, frozen=True):
    """What a scenario expects, as far as it is the same in every language."""

    steps: tuple[tuple[str, ...], ...]
    """By step of an agent, its id, and the names of the calls or the kind of rejection."""
    twin: str = ""
    """`ID` or `LANG/ID`, as the file says."""


def outline_of(scenario: Scenario) -> Outline:
    """The agents, the tools they must call, and the rejections, in their order."""
    steps = []
    for step in scenario.agent_steps:
        due = step.due
        if isinstance(due, CallsDue):
            steps.append((step.agent, *([call.name for call in due.calls] or [due.tool])))
        else:
            steps.append((step.agent, due.type))
    return Outline(tuple(steps), scenario.twin)


def check_twins(
    lang: str, outlines: Mapping[str, Outline], names: Mapping[str, Collection[str]]
) -> Iterator[tuple[str, DataError]]:
    """The scenarios of a language whose `twin` is not one scenario of another language.

    `names` has the ids of all languages; nothing is checked if there is only one.
    """
    for scenario, outline in outlines.items() if len(names) > 1 else ():
        twin = outline.twin
        found = _places(twin, lang, names) if twin else []
        if twin and len(found) != 1:
            listed = " and ".join("/".join(place) for place in found)
            problem = f"{twin!r} is {listed}" if found else f"{twin!r} is in no other language"
            expected = "LANG/ID" if found else "the id of a scenario in another language"
            yield scenario, DataError(f"{problem}; expected {expected}", field="twin")


def _places(twin: str, lang: str, names: Mapping[str, Collection[str]]) -> list[ScenarioKey]:
    """The scenarios of other languages that `ID` or `LANG/ID` can mean."""
    named, _, scenario = twin.rpartition("/")
    return [
        ScenarioKey(other, scenario)
        for other, known in names.items()
        if other != lang and named in ("", other) and scenario in known
    ]


def find_twins(languages: Mapping[str, Mapping[str, Outline]]) -> Twins:
    """By `twin`; else by equal steps, if each language has them once        STATS §2"""
    outlines = {
        ScenarioKey(lang, scenario): outline
        for lang, of in languages.items()
        for scenario, outline in of.items()
    }
    groups = {key: {key} for key in outlines}
    for key, outline in outlines.items():
        named = _places(outline.twin, key.lang, languages) if outline.twin else []
        if len(named) == 1:
            _join(groups, [key, *named])
    alone = {key: outline for key, outline in outlines.items() if len(groups[key]) == 1}
    for same in _equal_steps(alone):
        _join(groups, same)
    firsts = {key: min(group) for key, group in groups.items()}
    return {"/".join(key): "/".join(first) for key, first in firsts.items() if first != key}


def _equal_steps(outlines: Mapping[ScenarioKey, Outline]) -> Iterator[Sequence[ScenarioKey]]:
    """Scenarios with equal steps, each of another language."""
    same: dict[tuple[tuple[str, ...], ...], list[ScenarioKey]] = defaultdict(list)
    for key, outline in outlines.items():
        if outline.steps:
            same[outline.steps].append(key)
    for keys in same.values():
        if len({key.lang for key in keys}) == len(keys):
            yield keys


def _join(groups: dict[ScenarioKey, set[ScenarioKey]], keys: Sequence[ScenarioKey]) -> None:
    joined = set[ScenarioKey]().union(*(groups[key] for key in keys))
    groups.update(dict.fromkeys(joined, joined))


def calls_of(
    languages: Mapping[str, Collection[str]], twins: Twins
) -> Mapping[str, Mapping[str, str]]:
    """By language and scenario, the call that it is: twins are one, every other is its own.

    Those of the first language keep the name that they have without other languages.
    """
    first = min(languages)
    calls: dict[str, dict[str, str]] = {}
    for lang, scenarios in languages.items():
        found = calls[lang] = {}
        for scenario in scenarios:
            place = twins.get(f"{lang}/{scenario}", f"{lang}/{scenario}")
            found[scenario] = place.removeprefix(f"{first}/")
    return calls


def resample_twins_together(
    tallies: Mapping[str, TaskTally], names: Mapping[str, Collection[str]], twins: Twins
) -> None:
    """Give twins one unit of resampling, and every other scenario one of its own."""
    if len(tallies) > 1:
        for lang, calls in calls_of(names, twins).items():
            units = {unit_key(scenario): unit_key(call) for scenario, call in calls.items()}
            tallies[lang].rename_calls(units)
