"""The replies of one model to one scenario, as a recording that can be scored, and their usage."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from callscore.core.case import Failed, Reply
from callscore.core.scorecard import Latency
from callscore.suites.orchestration.scenario.cases import StepCase
from callscore.suites.orchestration.scenario.model import Scenario
from callscore.suites.orchestration.scenario.output_file import (
    RecordedReply,
    RecordedRun,
    ScenarioRecording,
)

NOT_RUN = "not run"


class StepReply(msgspec.Struct, frozen=True):
    """The reply to one step in one run; None if the step was not run."""

    case: StepCase
    run: int
    reply: Reply | Failed | None


class ReplyTimes(NamedTuple):
    """How long replies took, in milliseconds: of single steps, and of whole scenarios."""

    steps: Sequence[float] = ()
    scenarios: Sequence[float] = ()

    def __add__(self, other: object) -> ReplyTimes:
        if not isinstance(other, ReplyTimes):
            return NotImplemented
        return ReplyTimes([*self.steps, *other.steps], [*self.scenarios, *other.scenarios])

    def latency(self) -> Latency | None:
        """p50 and p95 of both; None without times        C-141"""
        if not self.steps:
            return None
        ends = [percentile(times, p) for times in self for p in (0.5, 0.95)]
        return Latency(*ends)


def times_of_runs(runs: Iterable[Iterable[Reply | Failed | None]]) -> ReplyTimes:
    """How long replies took, by step and by run; runs with an unknown time are left out."""
    timed = [[of.latency_ms for of in run if isinstance(of, Reply)] for run in runs]
    known = [[time for time in times if time is not None] for times in timed]
    whole = [of for of, times in zip(known, timed, strict=True) if times and len(of) == len(times)]
    return ReplyTimes([time for of in whole for time in of], [math.fsum(of) for of in whole])


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed"""
    return sorted(values)[math.ceil(share * len(values)) - 1]


class ScenarioReplies(msgspec.Struct, frozen=True):
    """All requested steps of a scenario, with the replies in every run."""

    scenario: Scenario
    model: str
    repeats: int
    steps: Sequence[StepReply]
    asking_back: bool = False

    @property
    def missing(self) -> str:
        """Why replies are missing; empty if none is."""
        for step in self.steps:
            if (error := to_recorded_reply(step.reply).error) != "":
                return f"{step.case.id}, run {step.run}: {error}"
        return ""

    def to_recording(self) -> ScenarioRecording:
        """The replies as a recording: every run, every requested step."""
        runs = range(1, self.repeats + 1)
        plans: dict[int, dict[int, RecordedReply]] = {run: {} for run in runs}
        steps: dict[int, dict[int, RecordedReply]] = {run: {} for run in runs}
        for step in self.steps:
            kept = plans if step.case.is_plan else steps
            kept[step.run][step.case.step_id] = to_recorded_reply(step.reply, self.asking_back)
        return ScenarioRecording(
            self.scenario.id,
            tuple(RecordedRun(run, plans[run], steps[run]) for run in runs),
            (self.scenario.raw,) * self.repeats,
            self.model,
        )

    def usage(self) -> ReplyUsage:
        """The usage of all replies."""
        return ReplyUsage.of(step.reply for step in self.steps)

    def costs(self) -> list[float | None]:
        """What each run cost; None if the price of a reply is unknown."""
        return [
            ReplyUsage.of(step.reply for step in self.steps if step.run == run).cost_usd
            for run in range(1, self.repeats + 1)
        ]

    def times(self) -> ReplyTimes:
        """How long the replies took."""
        runs: dict[int, list[Reply | Failed | None]] = {}
        for step in self.steps:
            runs.setdefault(step.run, []).append(step.reply)
        return times_of_runs(runs.values())

    def by_step(self) -> Mapping[tuple[str, int], Reply]:
        """The replies, by case and run."""
        return {
            (step.case.id, step.run): step.reply
            for step in self.steps
            if isinstance(step.reply, Reply)
        }


def collect_replies(
    cases: Iterable[StepCase], stored: Mapping[str, Mapping[int, Reply | Failed]], repeats: int
) -> Iterator[StepReply]:
    """Every step with its reply in every run."""
    for case in cases:
        found = stored.get(case.id, {})
        for run in range(1, repeats + 1):
            yield StepReply(case, run, found.get(run))


def to_recorded_reply(found: Reply | Failed | None, asking_back: bool = False) -> RecordedReply:
    """The reply as a recorded one; a failure stays a failure and never counts against the model."""
    if found is None:
        return RecordedReply(error=NOT_RUN)
    if isinstance(found, Failed):
        return RecordedReply(error=found.why or found.stage)
    calls = [{"name": call.name, "arguments": call.arguments} for call in found.tool_calls]
    return RecordedReply(reply_text(found), calls, asking_back=asking_back)


def reply_text(reply: Reply) -> str:
    """The text of a reply; invalid UTF-8 is replaced."""
    return reply.text.decode("utf-8", "replace") if isinstance(reply.text, bytes) else reply.text


class ReplyUsage(msgspec.Struct, frozen=True):
    """Tokens and cost of several replies; unknown values are counted, not taken as 0."""

    answers: int = 0
    known_input: int = 0
    known_output: int = 0
    uncounted: int = 0
    """Replies with unknown tokens."""
    known_usd: float = 0.0
    unpriced: int = 0
    """Replies with unknown cost."""

    @classmethod
    def of(cls, outcomes: Iterable[Reply | Failed | None]) -> ReplyUsage:
        """The sum over the replies among the outcomes."""
        replies = [reply for reply in outcomes if isinstance(reply, Reply)]
        return cls(
            len(replies),
            sum(reply.input_tokens or 0 for reply in replies),
            sum(reply.output_tokens or 0 for reply in replies),
            sum(None in (reply.input_tokens, reply.output_tokens) for reply in replies),
            math.fsum(reply.cost_usd or 0.0 for reply in replies),
            sum(reply.cost_usd is None for reply in replies),
        )

    @property
    def cost_usd(self) -> float | None:
        """The cost; None if that of a reply is unknown."""
        return None if self.unpriced else self.known_usd

    def as_json(self) -> dict[str, Any]:
        """The usage as in result files."""
        return {
            "answers": self.answers,
            "input_tokens": None if self.uncounted else self.known_input,
            "output_tokens": None if self.uncounted else self.known_output,
            "cost_usd": self.cost_usd,
        }


def usage_by_scenario(used: Mapping[str, ReplyUsage]) -> dict[str, Any]:
    """Tokens and cost of one model: in total, and by scenario."""
    everything = ReplyUsage(
        sum(usage.answers for usage in used.values()),
        sum(usage.known_input for usage in used.values()),
        sum(usage.known_output for usage in used.values()),
        sum(usage.uncounted for usage in used.values()),
        math.fsum(usage.known_usd for usage in used.values()),
        sum(usage.unpriced for usage in used.values()),
    )
    by_scenario = {scenario: usage.as_json() for scenario, usage in used.items()}
    return {**everything.as_json(), "by_scenario": by_scenario}
