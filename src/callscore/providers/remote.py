"""A model behind an API: a dialect, an address and a key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from callscore.core.calling import Answered, AttemptFailed, Call
from callscore.core.case import Prompt, Reply, ToolCall
from callscore.providers.dialect import Dialect
from callscore.providers.failures import failure, server_error
from callscore.providers.http import Endpoint, Http, HttpAnswer
from callscore.providers.redaction import excerpt, without_secrets
from callscore.providers.requests import Requests
from callscore.providers.waiting import NOTHING_TOLD, left

CONTENT_FILTER = "content_filter"

Authorise = Callable[[bytes], Awaitable[Mapping[str, str] | AttemptFailed]]
"""The headers that one body must be sent with, or why there are none."""


class Access(msgspec.Struct, frozen=True):
    """Where a model is and how it lets us in; `secrets` are what no message may show."""

    endpoint: Endpoint
    authorise: Authorise
    secrets: Sequence[str] = ()


class RemoteModel:
    """A Provider: builds requests in a dialect and carries them out over HTTP."""

    def __init__(self, name: str, model: str, dialect: Dialect, access: Access, http: Http) -> None:
        self.name = name
        self._requests = Requests(model, dialect, access.endpoint.url)
        self._dialect = dialect
        self._access = access
        self._http = http
        http.join()

    def call(self, prompt: Prompt, repeat: int) -> Call:
        """The request for a prompt, with the key of everything that determines its answer."""
        return self._requests.call(prompt, repeat)

    async def attempt(self, call: Call) -> Answered | AttemptFailed:
        """One attempt; a refusal, an empty or a cut answer is an answer (C-27)."""
        headers = await self._access.authorise(call.body)
        if isinstance(headers, AttemptFailed):
            return headers
        answer = await self._http.post(self._access.endpoint, call.body, headers)
        if isinstance(answer, AttemptFailed):
            return answer
        if answer.status != 200:
            return self._refused(answer)
        reply = self._dialect.read(answer.body)
        if isinstance(reply, AttemptFailed):
            return self._unread(reply, answer)
        names = self._dialect.limit_headers
        told = left(answer.headers, names) if names else NOTHING_TOLD
        reply = _without_secrets(reply, self._access.secrets)
        return Answered(reply, told.requests, told.tokens, told.reset_s)

    async def close(self) -> None:
        """Give back connections."""
        await self._http.leave()

    def _refused(self, answer: HttpAnswer) -> Answered | AttemptFailed:
        error = server_error(answer.body, answer.headers)
        if answer.status == 400 and CONTENT_FILTER in error.codes:
            # a prompt that the provider's filter stops is answered for good; some bill it, some not
            return Answered(Reply("", CONTENT_FILTER))
        return failure(answer, error, self._access.endpoint.host, self._access.secrets)

    def _unread(self, failed: AttemptFailed, answer: HttpAnswer) -> AttemptFailed:
        """An error inside a 200, or a body that nobody can read: say which, and quote it."""
        host, secrets = self._access.endpoint.host, self._access.secrets
        error = server_error(answer.body)
        status = next((int(c) for c in error.codes if c.isdecimal() and len(c) == 3), 0)
        if failed.kind == "unreadable" and 400 <= status < 600:
            return failure(answer._replace(status=status), error, host, secrets)
        told = f"{host}: {failed.message}: {error.message}"
        return msgspec.structs.replace(failed, message=excerpt(told, secrets), status=200)


def _without_secrets(reply: Reply, secrets: Sequence[str]) -> Reply:
    """The reply as it may be stored and shown: a server may echo the key that it was sent (P5)."""
    if not secrets:
        return reply

    def hidden(text: str) -> str:
        return without_secrets(text, secrets)

    text = hidden(reply.text) if isinstance(reply.text, str) else reply.text
    calls = tuple(ToolCall(hidden(call.name), hidden(call.arguments)) for call in reply.tool_calls)
    model = None if reply.model is None else hidden(reply.model)
    return msgspec.structs.replace(reply, text=text, tool_calls=calls, model=model)
