"""What the batch APIs of vendors share: calls with the key of the model, answers as values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec
from yarl import URL

from callscore.core.batch import BatchApi
from callscore.core.errors import ConfigError
from callscore.core.provider import AttemptFailed
from callscore.providers.http import Endpoint, Http, HttpResponse, failure, server_error

if TYPE_CHECKING:
    from aiohttp import FormData

    from callscore.providers.http_provider import Access
    from callscore.providers.wire_format import WireFormat

MOST_PAGES = 20
"""Pages of a vendor's list that are read at most."""
_ID = re.compile(r"[A-Za-z0-9_.-]{1,200}(?:/[A-Za-z0-9_.-]{1,200})?")


class BatchHttp:
    """Calls of one model's batch API, on the host of its live requests only."""

    def __init__(self, endpoint: Endpoint, access: Access, http: Http) -> None:
        self._endpoint = endpoint
        self._access = access
        self._http = http

    def at(self, path: str, stem: str, **query: str) -> URL:
        """A URL of the API: `stem` is the end of the live URL that `path` replaces."""
        url = self._endpoint.url
        base = url.raw_path.removesuffix(stem)
        if base == url.raw_path or url.raw_query_string:
            raise ConfigError(f"mode: batch: no batch API is known for {url.host}{url.raw_path}")
        return url.with_path(f"{base}{path}", encoded=True).update_query(query)

    def origin(self, path: str, **query: str) -> URL:
        """A URL of the host with another path."""
        return self._endpoint.url.with_path(path, encoded=True).with_query(query)

    def is_own(self, url: URL) -> bool:
        """Whether a URL that the vendor sent is on the same host."""
        return url.origin() == self._endpoint.url.origin()

    async def call(
        self,
        method: str,
        url: URL,
        data: bytes | BinaryIO | FormData | None = None,
        *,
        into: BinaryIO | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpResponse | AttemptFailed:
        """The response with a status of success, or why there is none."""
        authorised = await self._access.authorise(b"")
        if isinstance(authorised, AttemptFailed):
            return authorised
        sent = dict(authorised)
        if data is None or not isinstance(data, bytes):
            sent.pop("content-type", None)  # that of the data
        endpoint = Endpoint(url, self._endpoint.proxy)
        answer = await self._http.call(method, endpoint, sent | dict(headers or {}), data, into)
        if isinstance(answer, AttemptFailed) or 200 <= answer.status < 300:
            return answer
        error = server_error(answer.body, answer.headers)
        return failure(answer, error, endpoint.host, self._access.secrets)

    async def json(
        self,
        method: str,
        url: URL,
        data: bytes | BinaryIO | FormData | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any] | AttemptFailed:
        """The object in a response, or why there is none."""
        answer = await self.call(method, url, data, headers=headers)
        return answer if isinstance(answer, AttemptFailed) else decode_object(answer.body)


def decode_object(body: bytes) -> dict[str, Any] | AttemptFailed:
    """A JSON object; `unreadable` if it is none."""
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return AttemptFailed("unreadable", "the answer is no JSON object")


def checked_id(found: Mapping[str, Any], name: str) -> str | AttemptFailed:
    """An id that may become part of a URL."""
    value = found.get(name)
    if isinstance(value, str) and _ID.fullmatch(value) and ".." not in value:
        return value
    return AttemptFailed("unreadable", f"the answer has no {name}")


def words(*values: object) -> str:
    """What a vendor says, as one short line."""
    return "; ".join(" ".join(str(value).split())[:200] for value in values if value)


def make_batch_api(wire_format: WireFormat, model: str, http: BatchHttp) -> BatchApi:
    """The batch API that belongs to a wire format."""
    if wire_format.kind.startswith("openai"):
        from callscore.providers.openai_batch import OpenAIBatch

        return OpenAIBatch(wire_format.path(model), http)
    if wire_format.kind.startswith("anthropic"):
        from callscore.providers.anthropic_batch import AnthropicBatch

        return AnthropicBatch(http)
    if wire_format.kind == "gemini":
        from callscore.providers.gemini_batch import GeminiBatch

        return GeminiBatch(wire_format.path(model), http)
    raise ConfigError(f"mode: batch: no batch API is known for {wire_format.kind}")
