"""A model behind an API: a dialect, an address and a key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from callscore.core.case import Prompt, Reply, ToolCall
from callscore.core.provider import Answered, AttemptFailed, ProviderRequest
from callscore.core.run import ModelSpec
from callscore.providers.cache_key import Requests
from callscore.providers.http import Endpoint, Http, HttpAnswer
from callscore.providers.http_errors import ServerError, failure, server_error
from callscore.providers.rate_limit_headers import NOTHING_TOLD, left
from callscore.providers.redaction import excerpt, without_secrets
from callscore.providers.ways import Way, Ways, Wire

CONTENT_FILTER = "content_filter"
_SESSION_TOKEN = "X-Amz-Security-Token"

Authorise = Callable[[bytes], Awaitable[Mapping[str, str] | AttemptFailed]]
"""The headers that one body must be sent with, or why there are none."""


class Access(msgspec.Struct, frozen=True):
    """Where a model is and how it lets us in; `secrets` are what no message may show."""

    endpoint: Endpoint
    authorise: Authorise
    secrets: Sequence[str] = ()


class RemoteModel:
    """A Provider: builds requests in a dialect and carries them out over HTTP.

    Where the API refuses the form of a request, the next best is tried at once: see `Ways`.
    """

    def __init__(self, spec: ModelSpec, wires: Sequence[Wire], access: Access, http: Http) -> None:
        self.name = spec.name
        self._requests = Requests(spec.model, wires[0].dialect, wires[0].endpoint.url)
        self._ways = Ways(wires)
        self._access = access
        self._http = http
        http.join()

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        """The request for a prompt, with the key of everything that determines its answer."""
        return self._requests.request(prompt, repeat)

    async def attempt(self, request: ProviderRequest) -> Answered | AttemptFailed:
        """One attempt; a refusal, an empty or a cut answer is an answer (C-27)."""
        way = self._ways.first(request)
        while True:
            found = await self._attempt(request, way)
            if not isinstance(found, HttpAnswer):
                return found
            error = server_error(found.body, found.headers)
            another = self._ways.next(request, way, found.status, error)
            if another is None:
                return self._refused(found, error, self._ways.wire(way).endpoint.host)
            way = another

    async def _attempt(
        self, request: ProviderRequest, way: Way
    ) -> Answered | AttemptFailed | HttpAnswer:
        """What came of one request; an answer with an error status as it is."""
        dialect, endpoint = self._ways.wire(way)
        body = self._ways.body(request, way)
        headers = await self._access.authorise(body)
        if isinstance(headers, AttemptFailed):
            return headers
        answer = await self._http.post(endpoint, body, headers)
        if isinstance(answer, AttemptFailed) or answer.status != 200:
            return answer
        reply = dialect.read(answer.body)
        if isinstance(reply, AttemptFailed):
            return self._unread(reply, answer, endpoint.host)
        names = dialect.limit_headers
        told = left(answer.headers, names) if names else NOTHING_TOLD
        asked_as = self._ways.taken(request, way)
        token = headers.get(_SESSION_TOKEN)
        secrets = (*self._access.secrets, token) if token else self._access.secrets
        reply = _without_secrets(reply, secrets, asked_as)
        return Answered(reply, told.requests, told.tokens, told.reset_s)

    async def close(self) -> None:
        """Give back connections."""
        await self._http.leave()

    def _refused(
        self, answer: HttpAnswer, error: ServerError, host: str
    ) -> Answered | AttemptFailed:
        if answer.status == 400 and CONTENT_FILTER in error.codes:
            # a prompt that the provider's filter stops is answered for good; some bill it, some not
            return Answered(Reply("", CONTENT_FILTER))
        return failure(answer, error, host, self._access.secrets)

    def _unread(self, failed: AttemptFailed, answer: HttpAnswer, host: str) -> AttemptFailed:
        """An error inside a 200, or a body that nobody can read: say which, and quote it."""
        secrets = self._access.secrets
        error = server_error(answer.body)
        status = next((int(c) for c in error.codes if c.isdecimal() and len(c) == 3), 0)
        if failed.kind == "unreadable" and 400 <= status < 600:
            return failure(answer._replace(status=status), error, host, secrets)
        told = f"{host}: {failed.message}: {error.message}"
        return msgspec.structs.replace(failed, message=excerpt(told, secrets), status=200)


def _without_secrets(reply: Reply, secrets: Sequence[str], asked_as: str | None) -> Reply:
    """The reply as it may be stored and shown: a server may echo the key that it was sent (P5)."""

    def hidden(text: str) -> str:
        return without_secrets(text, secrets)

    text = hidden(reply.text) if isinstance(reply.text, str) else reply.text
    calls = tuple(ToolCall(hidden(call.name), hidden(call.arguments)) for call in reply.tool_calls)
    model = None if reply.model is None else hidden(reply.model)
    return msgspec.structs.replace(
        reply, text=text, tool_calls=calls, model=model, asked_as=asked_as
    )
