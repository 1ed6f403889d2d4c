"""Scores conversations: how they ended, which facts hold, what went wrong and was put right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any, NamedTuple

from callscore.core.case import Reply
from callscore.core.scenarios import (
    TOOLS,
    USER,
    Json,
    ScenarioSettings,
    StepRequest,
    StoredReplies,
)
from callscore.suites.orchestration.conversation import FreeConversation, MadeCall
from callscore.suites.orchestration.replies import (
    ReplyUsage,
    to_recorded_reply,
    usage_by_scenario,
)
from callscore.suites.orchestration.scenario.data import ScenarioSet
from callscore.suites.orchestration.scenario.model import Scenario
from callscore.suites.orchestration.trajectory import reply_json, request_json


class Exchange(NamedTuple):
    """One request of a conversation, and its reply."""

    request: StepRequest
    reply: Reply


class ConversationRun(NamedTuple):
    """A conversation from beginning to end."""

    conversation: FreeConversation
    exchanges: Sequence[Exchange]


class CallCounts(NamedTuple):
    """What was wrong with the calls of one conversation."""

    failed: int
    """Calls that returned an error."""
    repeated: int
    """Calls that an earlier one equals, with the same result."""
    wasted: int
    """Steps of which every call failed or was repeated."""
    wrong: bool
    """Whether a step had a failed call."""


def count_calls(calls: Sequence[MadeCall]) -> CallCounts:
    """Failed and repeated calls, and the steps that consist of nothing else."""
    failed = repeated = 0
    seen: list[tuple[Any, str]] = []
    useful: dict[int, bool] = {}
    for made in calls:
        is_repeat = (made.call, made.text) in seen
        seen.append((made.call, made.text))
        failed += made.is_error
        repeated += is_repeat
        useful[made.step] = useful.get(made.step, False) or not (made.is_error or is_repeat)
    wasted = sum(not found for found in useful.values())
    return CallCounts(failed, repeated, wasted, failed > 0)


def walk(conversation: FreeConversation, stored: StoredReplies) -> ConversationRun | str:
    """The stored conversation; or why it is incomplete."""
    found: list[Exchange] = []
    while (request := conversation.request) is not None:
        reply = stored(request.model, request.case.id).get(request.run)
        if not isinstance(reply, Reply):
            why = to_recorded_reply(reply).error
            return f"{request.case.id}, run {request.run}: {why}"
        found.append(Exchange(request, reply))
        conversation.add(reply)
    return ConversationRun(conversation, found)


class ConversationScorer:
    """Scores the conversations of one model in one language, scenario by scenario."""

    def __init__(
        self,
        model: str,
        scenario_set: ScenarioSet,
        settings: ScenarioSettings,
        repeats: int,
        stored: StoredReplies,
    ) -> None:
        self._model, self._set, self._settings = model, scenario_set, settings
        self._repeats, self._stored = repeats, stored
        self._runs: list[ConversationRun] = []
        self._left_out: list[str] = []
        self._used: dict[str, ReplyUsage] = {}
        self._missed: dict[str, list[str]] = {}

    def add(self, scenario: Scenario) -> Sequence[ConversationRun]:
        """Add the conversations of one scenario; returns none if one of them is incomplete."""
        of, found = self._set, []
        for number in range(1, self._repeats + 1):
            begun = FreeConversation(
                scenario, of.cards, of.protocol, self._settings, self._model, number
            )
            walked = walk(begun, self._stored)
            if isinstance(walked, str):
                self._left_out.append(walked)
                return ()
            found.append(walked)
        self._runs += found
        self._used[scenario.id] = ReplyUsage.of(_replies(found, self._model))
        for run in found:
            missed = [str(check.fact) for check in run.conversation.facts() if not check.holds]
            if missed:
                self._missed.setdefault(scenario.id, []).extend(missed)
        return found

    def document(self) -> Json | None:
        """`x_extension.free_running.conversations`; None if there are none."""
        if not self._runs and not self._left_out:
            return None
        runs = [run.conversation for run in self._runs]
        counts = [count_calls(run.calls) for run in runs]
        wrong = [run for run, count in zip(runs, counts, strict=True) if count.wrong]
        user = ReplyUsage.of(_replies(self._runs, USER))
        return {
            "scenarios": len(self._used),
            "conversations": len(runs),
            "left_out": self._left_out,
            "success": fmean(run.is_right() for run in runs) if runs else None,
            "stopped": dict(sorted(Counter(str(run.stopped) for run in runs).items())),
            "steps": sum(run.steps for run in runs),
            "extra_steps": sum(max(0, run.steps - run.expected_steps) for run in runs),
            "wasted_steps": sum(count.wasted for count in counts),
            "calls": sum(len(run.calls) for run in runs),
            "failed_calls": sum(count.failed for count in counts),
            "repeated_calls": sum(count.repeated for count in counts),
            "results_cut": sum(made.is_cut for run in runs for made in run.calls),
            "results": dict(
                sorted(Counter(made.source for run in runs for made in run.calls).items())
            ),
            "with_wrong_step": len(wrong),
            "recovered": sum(run.is_right() for run in wrong),
            "user_turns": sum(run.user_turns for run in runs),
            "facts_missed": self._missed,
            "usage": usage_by_scenario(self._used),
            "usage_of_user": user.as_json(),
        }


def _replies(runs: Sequence[ConversationRun], model: str) -> list[Reply]:
    return [each.reply for run in runs for each in run.exchanges if each.request.model == model]


def conversation_lines(runs: Sequence[ConversationRun]) -> list[Json]:
    """The steps of the model as a trajectory; the last one of a run says how it ended."""
    lines: list[Json] = []
    for run in runs:
        asked = [each for each in run.exchanges if each.request.model not in (TOOLS, USER)]
        of_run = [_line(each) for each in asked]
        of_run[-1]["verdict"] |= _outcome(run.conversation)
        lines += of_run
    return lines


def _line(exchange: Exchange) -> Json:
    request, reply = exchange
    return {
        "case_id": request.case.id,
        "model": request.model,
        "run": request.run,
        "history": "own",
        "kind": "agent",
        "agent": "",
        "request": request_json(request.prompt),
        "reply": reply_json(reply),
        "gold": request.case.expected_outcome,
        "verdict": {
            "status": "not_scored",
            "why": "",
            "success": None,
            "flags": [],
            "differences": [],
        },
    }


def _outcome(conversation: FreeConversation) -> Json:
    last = [made for made in conversation.calls if made.step == conversation.steps]
    return {
        "status": "valid",
        "success": conversation.is_right(),
        "stopped": conversation.stopped,
        "facts": [
            {"fact": str(check.fact), "holds": check.holds, "found": check.found}
            for check in conversation.facts()
        ],
        "last_results": [
            {"tool": made.call.name, "result": made.text, "is_error": made.is_error}
            for made in last
        ],
    }
