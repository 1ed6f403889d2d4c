"""A conversation: a scenario with an expected end, in which the model acts on its own.

The model talks to the user and calls tools until the user has nothing more to say or a stop rule
ends it. A call that the scenario has a result for gets that result; other calls are carried out by
what the eval file names for the tool. The user follows the script, or is played by a model with a
goal. Everything that is asked is stored, so that a conversation can be continued and scored again.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from callscore.core.case import Case, Message, Prompt, Reply, SentCall
from callscore.core.errors import DataError
from callscore.core.scenarios import (
    TOOLS,
    USER,
    FollowUpBound,
    ScenarioSettings,
    StepRequest,
)
from callscore.core.task import SCENARIO
from callscore.suites.orchestration.call.compare import Match, compare
from callscore.suites.orchestration.call.measures import Tools, measure_calls
from callscore.suites.orchestration.call.schema import schema_violations
from callscore.suites.orchestration.decision.parse import read_calls
from callscore.suites.orchestration.free_run import NO_ERROR, NO_RESULT
from callscore.suites.orchestration.plan.lenient_json import strip_think_block
from callscore.suites.orchestration.replies import reply_text, to_recorded_reply
from callscore.suites.orchestration.scenario.cards import Cards, argument_schema
from callscore.suites.orchestration.scenario.cases import StepCaseBuilder, tool_result
from callscore.suites.orchestration.scenario.end_state import ExpectedFact
from callscore.suites.orchestration.scenario.model import (
    AgentStep,
    CallsDue,
    DecodedCall,
    Scenario,
    case_id,
    gold_reply,
)
from callscore.suites.orchestration.scenario.protocol import PromptProtocol, user_system

UNKNOWN_TOOL, INVALID_ARGUMENTS = "UNKNOWN_TOOL", "INVALID_ARGUMENTS"
END = "[END]"
"""What a model that plays the user writes when it has nothing more to say."""
BEGIN = "Hello."
"""The first message of the agent, as a model that plays the user sees it."""
ALL = "*"
CLOSING = "Done."
ENVELOPE = 100
"""The bytes of a message or a call in a request besides its text, at most."""

StopReason = Literal["finished", "steps", "user_turns", "loop", "bytes", "silent"]
"""finished    the user has nothing more to say
steps, user_turns, bytes   a limit of the eval file
loop        the same calls with the same results, again and again
silent      a reply without text and without a call
"""


class MadeCall(msgspec.Struct, frozen=True):
    """A call that the model made, and what it returned."""

    step: int
    call: DecodedCall
    text: str
    """The result as JSON."""
    is_error: bool = False
    source: Literal["recorded", "live", "none", "refused"] = "recorded"
    is_cut: bool = False


class _LiveResult(msgspec.Struct, frozen=True):
    """A result as `providers.tools` stores it."""

    text: str
    is_error: bool = False
    is_cut: bool = False


_READ_RESULTS = msgspec.json.Decoder(list[_LiveResult])


class FactCheck(NamedTuple):
    """An expected fact, and whether it holds."""

    fact: ExpectedFact
    holds: bool
    found: str = ""


class _Recorded(NamedTuple):
    """An expected call with the result that the scenario has for it."""

    call: DecodedCall
    result: Any


class FreeConversation:
    """One run of one scenario; `request` is what is asked next, None at the end."""

    def __init__(
        self,
        scenario: Scenario,
        cards: Cards,
        protocol: PromptProtocol,
        settings: ScenarioSettings,
        model: str,
        run: int,
    ) -> None:
        self._scenario, self.settings, self._run = scenario, settings, run
        self.model = model
        self._agent = agent_of(scenario, cards)
        self._tools: Tools = cards.tools_of(self._agent)
        card = cards.by_id.get(self._agent)
        self._names = frozenset(tool.name for tool in card.tools) if card is not None else ()
        self._builder = StepCaseBuilder(scenario, cards, protocol)
        self._recorded = list(_recorded_results(scenario))
        self._script = [raw.content for raw in scenario.raw if raw.agent == "user"]
        self._gold = [step for step in scenario.agent_steps if step.has_card]
        self._messages: list[Message] = []
        self._asked: list[DecodedCall] = []
        """The calls of the step whose results are awaited."""
        self._sent: list[SentCall] = []
        self._results: list[MadeCall | None] = []
        """What is known of them; None if the tool is asked."""
        self._live: list[DecodedCall] = []
        """All calls that were carried out."""
        self._checked: dict[int, _LiveResult] = {}
        """By number of the fact, what the tool returned after the end."""
        self.steps = 0
        self.user_turns = 1
        self.size = 0
        self.calls: list[MadeCall] = []
        self.said: list[tuple[str, str]] = []
        """Who said what: `user` or `agent`."""
        self.stopped: StopReason | None = None
        self._hear_user(self._script[0] if self._script else scenario.ending.goal)
        self.request: StepRequest | None = self._ask_agent()

    @property
    def place(self) -> str:
        """The id of the request, without who is asked."""
        return case_id(self._scenario.lang, self._scenario.id, self.steps)

    @property
    def is_user_played(self) -> bool:
        """Whether a model plays the user; without a goal, the user follows the script."""
        return self.settings.user is not None and bool(self._scenario.ending.goal)

    @property
    def expected_steps(self) -> int:
        """The replies of a model that does what the script says."""
        return len(self._gold) + 1

    def add(self, reply: Reply) -> None:
        """Add the reply to `request`, and continue."""
        request = self.request
        assert request is not None
        if self.stopped is not None:
            self._add_checks(reply)
        elif request.model == TOOLS:
            self._add_results(_READ_RESULTS.decode(reply_text(reply)))
        elif request.model == USER:
            self._add_user(strip_think_block(reply_text(reply)).strip())
        else:
            self._add_step(reply)

    def facts(self) -> list[FactCheck]:
        """Every expected fact, checked at the end."""
        return [self._check(at, fact) for at, fact in enumerate(self._scenario.ending.facts)]

    def is_right(self) -> bool:
        """Whether it ended by itself, with every expected fact        C-141"""
        return self.stopped == "finished" and all(check.holds for check in self.facts())

    def _ask_agent(self) -> StepRequest:
        self.steps += 1
        expected = gold_reply(self._due()) or {"text": _closing(self._scenario)}
        prompt = self._builder.conversation(self._agent, self._messages)
        case = self._case(f"{self.place}/own", expected)
        return StepRequest(self.model, self._run, case, prompt)

    def _add_step(self, reply: Reply) -> None:
        """Take the text and the calls of the model."""
        text = strip_think_block(reply_text(reply)).strip()
        calls, malformed = read_calls(to_recorded_reply(reply).tool_calls)
        if not calls and not malformed:
            self._messages.append(Message("assistant", text))
            self._count(text)
            if not text:
                self._stop("silent")
            else:
                self.said.append(("agent", text))
                self._let_user_speak()
            return
        self._sent = [
            SentCall(f"call_{self.steps}_{number}", call.name, call.arguments)
            for number, call in enumerate(reply.tool_calls, 1)
        ]
        self._messages.append(Message("assistant", text, self._sent))
        self._count(text, *(call.arguments for call in self._sent))
        self._asked = [_decoded(call) for call in self._sent]
        self._results = [self._known_result(call) for call in self._asked]
        live = [
            call for call, found in zip(self._asked, self._results, strict=True) if found is None
        ]
        if live:
            self.request = self._ask_tools(live, f"{self.place}/tools")
            self._live += live
        else:
            self._add_results([])

    def _known_result(self, call: DecodedCall) -> MadeCall | None:
        """The result of a call, if no tool has to be asked."""
        if call.name not in self._names:
            return self._refused(call, UNKNOWN_TOOL, "There is no tool of this name.")
        if call.arguments is _NOT_JSON:
            return self._refused(call, INVALID_ARGUMENTS, "The arguments are not a JSON object.")
        tool = self.settings.tools.get(call.name) or self.settings.tools.get(ALL)
        if tool is None or tool.recorded:
            for recorded in self._recorded:
                if recorded.result is not None and self._matches(call, recorded.call):
                    text = msgspec.json.encode(recorded.result).decode()
                    return MadeCall(self.steps, call, text)
        problems = [each.detail for each in schema_violations([call], (), self._tools)]
        if problems:
            return self._refused(call, INVALID_ARGUMENTS, "; ".join(problems)[:500])
        if tool is None:
            message = "Nothing is recorded for this call."
            return msgspec.structs.replace(self._refused(call, NO_RESULT, message), source="none")
        return None

    def _refused(self, call: DecodedCall, kind: str, message: str) -> MadeCall:
        value = {"error": kind, "tool": call.name, "message": message}
        text = msgspec.json.encode(value).decode()
        return MadeCall(self.steps, call, text, is_error=True, source="refused")

    def _matches(self, call: DecodedCall, expected: DecodedCall) -> bool:
        """Whether a call is an expected one, as far as code can decide, compared as in scoring."""
        score = measure_calls([call], [expected], (), self._tools, lambda question: None)
        return all(difference.kind in NO_ERROR for difference in score.differences)

    def _add_results(self, live: Sequence[_LiveResult]) -> None:
        """Add the results of the step, those of tools among them, and ask the model again."""
        left = iter(live)
        for call, sent, known in zip(self._asked, self._sent, self._results, strict=True):
            made = known
            if made is None:
                found = next(left)
                made = MadeCall(self.steps, call, found.text, found.is_error, "live", found.is_cut)
            self.calls.append(made)
            self._messages.append(Message("tool", made.text, call=sent))
            self._count(made.text)
        if self._loops():
            self._stop("loop")
        else:
            self._go_on()

    def _go_on(self) -> None:
        """Ask the model again, unless a limit is reached."""
        rules = self.settings.stop
        if self.size >= rules.bytes:
            self._stop("bytes")
        elif self.steps >= rules.steps:
            self._stop("steps")
        else:
            self.request = self._ask_agent()

    def _let_user_speak(self) -> None:
        rules = self.settings.stop
        played = self.is_user_played
        if not played and self.user_turns >= len(self._script):
            self._stop("finished")
        elif self.user_turns >= rules.user_turns:
            self._stop("user_turns")
        elif self.size >= rules.bytes:
            self._stop("bytes")
        elif played:
            self.request = self.ask_user()
        else:
            self._add_user(self._script[self.user_turns])

    def ask_user(self) -> StepRequest:
        """The request for the next message of a user that a model plays."""
        ending = self._scenario.ending
        system = Message("system", user_system(ending.goal, ending.known, END))
        # For the model that plays the user, the agent is the one who talks to it.
        turns = [Message("assistant" if who == "user" else "user", text) for who, text in self.said]
        script = [*self._script, END]
        expected = {"text": script[min(self.user_turns, len(script) - 1)]}
        case = self._case(f"{self.place}/user/{self.model}", expected)
        prompt = Prompt((system, Message("user", BEGIN), *turns))
        return StepRequest(USER, self._run, case, prompt)

    def _add_user(self, text: str) -> None:
        if not text or END in text:
            self._stop("finished")
            return
        self.user_turns += 1
        self._hear_user(text)
        self._go_on()

    def _hear_user(self, text: str) -> None:
        self.said.append(("user", text))
        self._messages.append(Message("user", text))
        self._count(text)

    def _ask_tools(self, calls: Sequence[DecodedCall], place: str) -> StepRequest:
        order = {
            "conversation": f"{self._scenario.lang}/{self._scenario.id}/{self.model}/{self._run}",
            "calls": [msgspec.structs.asdict(call) for call in calls],
            "before": [msgspec.structs.asdict(call) for call in self._live],
        }
        case = msgspec.structs.replace(self._case(f"{place}/{self.model}", {}), config=order)
        return StepRequest(TOOLS, self._run, case, Prompt(()))

    def _stop(self, reason: StopReason) -> None:
        """End the conversation; tools that facts are about are asked once more."""
        self.stopped = reason
        self.request = None
        asked = [fact for fact in self._scenario.ending.facts if fact.kind == "tool"]
        if asked and reason == "finished":
            calls = [DecodedCall(fact.tool, fact.arguments) for fact in asked]
            self.request = self._ask_tools(calls, f"{self.place}/end")

    def _add_checks(self, reply: Reply) -> None:
        facts = enumerate(self._scenario.ending.facts)
        asked = [at for at, fact in facts if fact.kind == "tool"]
        results = _READ_RESULTS.decode(reply_text(reply))
        self._checked = dict(zip(asked, results, strict=True))
        self.request = None

    def _check(self, at: int, fact: ExpectedFact) -> FactCheck:
        if fact.kind == "said":
            texts = [text for who, text in self.said if who == "agent"]
            wanted = [_folded(text) for text in fact.texts]
            holds = any(want in _folded(text) for text in texts for want in wanted)
            return FactCheck(fact, holds, texts[-1] if texts else "")
        if fact.kind == "tool":
            found = self._checked.get(at)
            if found is None:
                return FactCheck(fact, False)
            holds = not found.is_error and has_values(_value(found.text), fact.result)
            return FactCheck(fact, holds, found.text)
        made = [call for call in self.calls if self._is_of(call, fact)]
        last = made[-1].text if made else ""
        if fact.kind == "not_called":
            return FactCheck(fact, not made, last)
        return FactCheck(fact, any(not call.is_error for call in made), last)

    def _is_of(self, made: MadeCall, fact: ExpectedFact) -> bool:
        """Whether a call has the name and the arguments of a fact, compared as in scoring."""
        given, tool = made.call.arguments, self._tools.get(fact.tool)
        return made.call.name == fact.tool and all(
            name in given
            and compare(given[name], value, argument_schema(tool, name)) is not Match.DIFFERENT
            for name, value in fact.arguments.items()
        )

    def _loops(self) -> bool:
        """Whether the last steps were the same calls with the same results."""
        most = self.settings.stop.repeats
        if self.steps < most:
            return False
        last = [
            [(call.call, call.text) for call in self.calls if call.step == step]
            for step in range(self.steps - most + 1, self.steps + 1)
        ]
        return all(step and step == last[0] for step in last)

    def _due(self) -> AgentStep | None:
        """The first expected step that is not done; a rejection is done when the agent speaks."""
        spoken = sum(who == "agent" for who, _ in self.said)
        for step in self._gold:
            if not isinstance(step.due, CallsDue):
                if not spoken:
                    return step
                spoken -= 1
            elif not all(
                any(self._matches(made.call, due) for made in self.calls) for due in step.due.calls
            ):
                return step
        return None

    def _count(self, *texts: str) -> None:
        self.size += sum(len(text.encode("utf-8", "replace")) + ENVELOPE for text in texts)

    def _case(self, name: str, expected: Mapping[str, Any]) -> Case:
        scenario = self._scenario
        return Case(name, SCENARIO, "", {}, expected, call_id=scenario.call_id, lang=scenario.lang)


_NOT_JSON: Mapping[str, Any] = {}
"""The arguments of a call whose text is not a JSON object."""


def _decoded(sent: SentCall) -> DecodedCall:
    found, _ = read_calls([{"name": sent.name, "arguments": sent.arguments}])
    return found[0] if found else DecodedCall(sent.name, _NOT_JSON)


def bounds_of(first: FreeConversation) -> Iterator[FollowUpBound]:
    """The most that a conversation can take: of the model, and of the one that plays the user.

    No request is sent once the limit of bytes is reached, so that none is longer by more than that.
    """
    rules, request = first.settings.stop, first.request
    assert request is not None
    steps = min(rules.steps, first.expected_steps)
    yield FollowUpBound(request.case, request.prompt, rules.steps, "", rules.bytes, 0, steps)
    if first.is_user_played:
        asked = first.ask_user()
        turns = rules.user_turns - 1
        yield FollowUpBound(asked.case, asked.prompt, turns, USER, rules.bytes, 0, min(1, turns))


def agent_of(scenario: Scenario, cards: Cards) -> str:
    """The agent that talks to the user; raises DataError if there are several, or a planner."""
    agents = list(dict.fromkeys(step.agent for step in scenario.agent_steps)) or list(cards.by_id)
    if scenario.plans or len(agents) != 1:
        found = "a plan" if scenario.plans else f"{len(agents)} agents"
        raise DataError(
            f"the scenario has {found}; expected one agent, which talks to the user itself",
            field="expect",
        )
    return agents[0]


def check_conversation(scenario: Scenario, cards: Cards, settings: ScenarioSettings) -> None:
    """Raise DataError if the scenario cannot be a conversation with these tools."""
    agent_of(scenario, cards)
    if not any(raw.agent == "user" for raw in scenario.raw):
        raise DataError("no message of the user; expected at least the first one", field="steps")
    for at, fact in enumerate(scenario.ending.facts):
        if fact.kind == "tool" and not settings.tools.keys() & {fact.tool, ALL}:
            raise DataError(
                f"{fact.tool} is asked after the end; expected it under `tools` of the eval file",
                field=f"expect[{at}].tool",
            )


def _closing(scenario: Scenario) -> str:
    """What the assistant says last in the script."""
    said = [raw.content for raw in scenario.raw if raw.agent == "main"]
    return said[-1] if said else CLOSING


def _recorded_results(scenario: Scenario) -> Iterator[_Recorded]:
    """Every expected call with its recorded result."""
    contents = {raw.step_id: raw.content for raw in scenario.raw}
    for step in scenario.agent_steps:
        if isinstance(step.due, CallsDue):
            result, calls = tool_result(contents[step.step_id]), step.due.calls
            is_each = isinstance(result, list) and len(result) == len(calls) > 1
            for number, call in enumerate(calls):
                yield _Recorded(call, result[number] if is_each else result)


def has_values(value: Any, expected: Any) -> bool:
    """Whether a value has the expected ones: every named key of an object, and what it holds."""
    if isinstance(expected, Mapping):
        return isinstance(value, Mapping) and all(
            key in value and has_values(value[key], inner) for key, inner in expected.items()
        )
    return compare(value, expected) is Match.EQUAL


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:  # it was cut
        return text


def _folded(text: str) -> str:
    """A text for comparing: composed letters, no case, single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
