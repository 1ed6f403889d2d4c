"""Model APIs over HTTP: a wire format, an endpoint and a key; and an API for embeddings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from callscore.core.batch import BatchApi, BatchLine
from callscore.core.case import Prompt, Reply, ToolCall
from callscore.core.provider import AttemptFailed, ProviderRequest, ProviderResponse
from callscore.core.run import ModelSpec
from callscore.providers.http import (
    Endpoint,
    Http,
    HttpResponse,
    ServerError,
    failure,
    server_error,
)
from callscore.providers.rate_limit_headers import NO_LIMITS, left
from callscore.providers.request_variants import Api, RequestVariants, Variant
from callscore.providers.secrets import excerpt, without_secrets
from callscore.providers.wire_format import Requests

CONTENT_FILTER = "content_filter"
_SESSION_TOKEN = "X-Amz-Security-Token"

Authorise = Callable[[bytes], Awaitable[Mapping[str, str] | AttemptFailed]]
"""The headers for one body, or why there are none."""


class Access(msgspec.Struct, frozen=True):
    """Endpoint and credentials of a model; `secrets` must not appear in messages."""

    endpoint: Endpoint
    authorise: Authorise
    secrets: Sequence[str] = ()


class HttpProvider:
    """Builds requests in a wire format and sends them over HTTP.

    If the API refuses a request, its next best variant is tried at once (`request_variants`).
    """

    def __init__(self, spec: ModelSpec, apis: Sequence[Api], access: Access, http: Http) -> None:
        self.name = spec.name
        self._requests = Requests(spec.model, apis[0].wire_format, apis[0].endpoint.url)
        self._model = spec.model
        self._variants = RequestVariants(apis)
        self._access = access
        self._http = http
        http.join()

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        """The request for a prompt, with the cache key."""
        return self._requests.request(prompt, repeat)

    async def attempt(self, request: ProviderRequest) -> ProviderResponse | AttemptFailed:
        """One attempt; a refusal, an empty or a truncated reply is a reply (C-27)."""
        variant = self._variants.first(request)
        while True:
            found = await self._attempt(request, variant)
            if not isinstance(found, HttpResponse):
                return found
            error = server_error(found.body, found.headers)
            another = self._variants.next(request, variant, found.status, error)
            if another is None:
                return self._on_error(found, error, self._variants.api(variant).endpoint.host)
            variant = another

    async def _attempt(
        self, request: ProviderRequest, variant: Variant
    ) -> ProviderResponse | AttemptFailed | HttpResponse:
        """The result of one request; a response with an error status is returned as it is."""
        wire_format, endpoint = self._variants.api(variant)
        body = self._variants.body(request, variant)
        headers = await self._access.authorise(body)
        if isinstance(headers, AttemptFailed):
            return headers
        answer = await self._http.post(endpoint, body, headers)
        if isinstance(answer, AttemptFailed) or answer.status != 200:
            return answer
        reply = wire_format.read(answer.body)
        if isinstance(reply, AttemptFailed):
            return self._unreadable(reply, answer, endpoint.host)
        names = wire_format.limit_headers
        reported = left(answer.headers, names) if names else NO_LIMITS
        asked_as = self._variants.accept(request, variant)
        token = headers.get(_SESSION_TOKEN)
        secrets = (*self._access.secrets, token) if token else self._access.secrets
        reply = _without_secrets(_with_known_counts(reply), secrets, asked_as)
        return ProviderResponse(reply, reported.requests, reported.tokens, reported.reset_s)

    @property
    def batch_api(self) -> BatchApi:
        """The batch API of the model; raises ConfigError if its address has none."""
        from callscore.providers.batch_http import BatchHttp, make_batch_api

        api = self._variants.api(self._variants.newest)
        http = BatchHttp(api.endpoint, self._access, self._http)
        return make_batch_api(api.wire_format, self._model, http)

    def batch_body(self, request: ProviderRequest) -> bytes:
        """The body in the best form that the API has not refused yet."""
        return self._variants.body(request, self._variants.first(request))

    def read_line(self, line: BatchLine) -> ProviderResponse | AttemptFailed:
        """The reply in a result of a batch, as if it had come live."""
        if line.failure is not None:
            message = excerpt(line.failure.message, self._access.secrets)
            return msgspec.structs.replace(line.failure, message=message)
        host = self._access.endpoint.host
        answer = HttpResponse(line.status, {}, line.body)
        if line.status != 200:
            return self._on_error(answer, server_error(line.body), host)
        # the job may be of an earlier session, which knew better which API the model needs
        read = [api.wire_format.read(line.body) for api in self._variants.apis]
        reply = next((found for found in read if isinstance(found, Reply)), read[0])
        if isinstance(reply, AttemptFailed):
            return self._unreadable(reply, answer, host)
        reply = _without_secrets(_with_known_counts(reply), self._access.secrets, None)
        return ProviderResponse(reply)

    async def close(self) -> None:
        """Close connections."""
        await self._http.leave()

    def _on_error(
        self, answer: HttpResponse, error: ServerError, host: str
    ) -> ProviderResponse | AttemptFailed:
        if answer.status == 400 and CONTENT_FILTER in error.codes:
            # a prompt that the provider's filter blocks has its final reply; some bill it, some do
            # not
            return ProviderResponse(Reply("", CONTENT_FILTER))
        return failure(answer, error, host, self._access.secrets)

    def _unreadable(self, failed: AttemptFailed, answer: HttpResponse, host: str) -> AttemptFailed:
        """An error inside a 200, or an unreadable body, with an excerpt."""
        secrets = self._access.secrets
        error = server_error(answer.body)
        status = next((int(c) for c in error.codes if c.isdecimal() and len(c) == 3), 0)
        if failed.kind == "unreadable" and 400 <= status < 600:
            return failure(answer._replace(status=status), error, host, secrets)
        reported = f"{host}: {failed.message}: {error.message}"
        return msgspec.structs.replace(failed, message=excerpt(reported, secrets), status=200)


def _with_known_counts(reply: Reply) -> Reply:
    """The reply with counts of 0 tokens unknown: no prompt and no answer has none."""
    answered = reply.text or reply.tool_calls
    if reply.input_tokens != 0 and (reply.output_tokens != 0 or not answered):
        return reply
    return msgspec.structs.replace(
        reply,
        input_tokens=reply.input_tokens or None,
        output_tokens=reply.output_tokens or None if answered else reply.output_tokens,
    )


def _without_secrets(reply: Reply, secrets: Sequence[str], asked_as: str | None) -> Reply:
    """The reply without secrets: a server may echo the key that it was sent (P5)."""

    def hidden(text: str) -> str:
        return without_secrets(text, secrets)

    text = hidden(reply.text) if isinstance(reply.text, str) else reply.text
    calls = tuple(
        ToolCall(hidden(request.name), hidden(request.arguments)) for request in reply.tool_calls
    )
    model = None if reply.model is None else hidden(reply.model)
    return msgspec.structs.replace(
        reply, text=text, tool_calls=calls, model=model, asked_as=asked_as
    )


class EmbeddingServer:
    """Posts bodies to one `/embeddings` over the shared connections, with the same checks as every
    other request.
    """

    def __init__(self, access: Access, http: Http) -> None:
        self.host = access.endpoint.host
        self._access = access
        self._http = http
        http.join()

    async def post(self, body: bytes) -> bytes | AttemptFailed:
        """The body of the response, or why there is none."""
        headers = await self._access.authorise(body)
        if isinstance(headers, AttemptFailed):
            return headers
        answer = await self._http.post(self._access.endpoint, body, headers)
        if isinstance(answer, AttemptFailed):
            return answer
        if answer.status != 200:
            return failure(answer, server_error(answer.body), self.host, self._access.secrets)
        return answer.body

    async def close(self) -> None:
        """Close connections."""
        await self._http.leave()
