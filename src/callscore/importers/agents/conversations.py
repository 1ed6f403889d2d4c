"""Puts the conversations of a trace together from the requests to models in it.

A request has the history so far, so the next one usually begins with all of it. A request that
does not continue a conversation begins another, such as that of an agent that another one calls
as a tool.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Tool
from callscore.importers.agents.messages import Event, decoded, has_only_results, read_events
from callscore.importers.agents.spent import Spent
from callscore.importers.agents.tools import read_tools

MODEL = "recorded"
"""The name of a model that a trace does not name."""
CHOICES = "further choices of a reply"
NO_REPLY = "replies that are not recorded"
NO_CALLS = "requests without tool calls, outside of the conversation"


class Request(msgspec.Struct):
    """One request to a model in a trace, with its reply."""

    trace: str
    asked: Sequence[Any]
    replied: Sequence[Any] = ()
    model: str = ""
    tools: Any = None
    agent: str = ""
    error: str = ""
    at: str = ""
    results: Mapping[str, Any] = {}
    """By id of the call, what a tool returned, if that is all that was recorded."""
    spent: Spent = Spent()
    id: str = ""
    after: str = ""
    """The id of the reply whose history the API put before this request."""
    run: int = 1
    unread: Sequence[str] = ()


class AgentTrace(msgspec.Struct):
    """One recorded conversation of an agent."""

    id: str
    events: list[Event]
    model: str = MODEL
    tools: list[Tool] = []
    error: str = ""
    run: int = 1
    unread: Counter[str] = msgspec.field(default_factory=Counter)
    """By kind, what the trace has and the conversation has not."""


class _Conversation:
    """The requests of one history."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.requests: list[Request] = []
        self.whole: Sequence[Any] = ()
        """The messages of the last request, with its reply."""
        self._system: dict[str, Event] = {}
        self._keys: list[object] = []

    @property
    def waits(self) -> bool:
        """Whether the last calls have no results yet."""
        return any(not call.has_result for call in self.events[-1].calls)

    def add(self, request: Request, events: Sequence[Event], replied: int) -> bool:
        """Add the request if its history continues this one."""
        said = [event for event in events if event.role != "system"]
        keys = [_key(event) for event in said]
        start = self._start(keys)
        if start is None:
            return False
        for known, again in zip(self.events[start:], said, strict=False):
            _complete(known, again)
        shared = len(self.events) - start
        self.events += said[shared:]
        self._keys += keys[shared:]
        self.requests.append(request)
        for event in events:
            if event.role == "system":
                event.agent = request.agent
                self._system.setdefault(event.text, event)
        reply = self.events[start + len(said) - replied : start + len(said)]
        for event in reply:
            event.agent = event.agent or request.agent
        if reply and reply[-1].spent == Spent():
            reply[-1].spent = request.spent
        return True

    def _start(self, keys: Sequence[object]) -> int | None:
        """Where the request begins in this history; None if it has another one."""
        if not self.requests:
            return 0
        for start in range(len(self._keys)):
            tail = self._keys[start : start + len(keys)]
            is_all = start == 0 and bool(tail)
            if tail == keys[: len(tail)] and (is_all or _has_reply(self.events[start:], tail)):
                return start
        return None

    def trace(self, name: str, others: Sequence[Request]) -> AgentTrace:
        """The conversation, with what the other requests of its trace say about it."""
        results = {of: each for one in others for of, each in one.results.items()}
        for call in (call for event in self.events for call in event.calls):
            if not call.has_result and call.id in results:
                call.result, call.has_result = decoded(results[call.id]), True
        given = self.requests if any(one.tools for one in self.requests) else others
        tools = {tool.name: tool for one in given for tool in read_tools(one.tools)}
        named = [one.model for one in (*reversed(self.requests), *others) if one.model]
        events = [*self._system.values(), *self.events]
        unread = Counter(kind for event in events for kind in event.unread)
        last = self.requests[-1]
        unread.update(
            kind
            for one in self.requests
            for kind in one.unread
            if kind != NO_REPLY or one is last  # later requests have what others replied
        )
        model = named[0] if named else MODEL
        return AgentTrace(name, events, model, list(tools.values()), last.error, last.run, unread)


def read_conversations(name: str, requests: Sequence[Request]) -> Iterator[AgentTrace]:
    """The longest conversation of a trace, and the others that call tools."""
    found: list[_Conversation] = []
    said: dict[str, list[Any]] = {}
    for request in sorted(requests, key=lambda request: request.at):
        asked = [*_before(request, said, found), *request.asked]
        whole = [*asked, *request.replied]
        if request.id:
            said[request.id] = whole
        events = read_events(whole)
        if not any(event.role != "system" for event in events):
            continue
        earlier = len(read_events(asked))
        replied = max(1, len(events) - earlier) if request.replied else 0
        its = next((each for each in found if each.add(request, events, replied)), None)
        if its is None:
            its = _Conversation()
            its.add(request, events, replied)
            found.append(its)
        its.whole = whole
    if not found:
        return
    longest = max(found, key=lambda each: len(each.events))
    others = [each for each in found if each is not longest]
    main = longest.trace(name, requests)
    quiet = [each for each in others if not any(event.calls for event in each.events)]
    main.unread.update([NO_CALLS] * sum(len(each.requests) for each in quiet))
    yield main
    acting = [each for each in others if each not in quiet]
    yield from (each.trace(f"{name}-{place}", requests) for place, each in enumerate(acting, 2))


def _before(
    request: Request, said: Mapping[str, list[Any]], found: Sequence[_Conversation]
) -> Sequence[Any]:
    """The history that the API puts before the request, if it keeps one.

    A span need not name the reply that it continues; then one that only has results of tools
    continues the last conversation that waits for some.
    """
    if request.after in said:
        return said[request.after]
    if not has_only_results(request.asked):
        return ()
    return next((each.whole for each in reversed(found) if each.waits), ())


def _key(event: Event) -> object:
    calls = [(call.name, call.arguments) for call in event.calls]
    return (event.role, event.text.strip(), calls)


def _has_reply(events: Sequence[Event], tail: Sequence[object]) -> bool:
    """Whether the shared part, at the end of the history, is more than a message of the user."""
    return len(tail) == len(events) and any(event.role == "assistant" for event in events)


def _complete(known: Event, again: Event) -> None:
    """Add to an event what a later request says about it."""
    known.agent = known.agent or again.agent
    for call, same in zip(known.calls, again.calls, strict=False):
        if same.has_result and not call.has_result:
            call.result, call.has_result = same.result, True
