"""Opens the APIs of a run: models, judges, embedders; for a dry run, without sending."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from callscore.core.case import Prompt
from callscore.core.provider import AttemptFailed, Provider, ProviderRequest
from callscore.core.run import ModelSpec
from callscore.providers.secrets import Secrets

if TYPE_CHECKING:
    from callscore.providers.http import Http
    from callscore.providers.http_provider import EmbeddingServer
    from callscore.providers.wire_format import Requests


class ClientPool:
    """Opens providers that share one connection pool, which is created for the first of them."""

    def __init__(
        self, environment: Mapping[str, str] = os.environ, *, attempt_seconds: float | None = None
    ) -> None:
        self._secrets = Secrets(environment)
        self._seconds = attempt_seconds
        self._pool: Http | None = None
        self._closing: list[Callable[[], Awaitable[None]]] = []

    def provider(self, spec: ModelSpec, *, sending: bool = True) -> Provider:
        """The provider of a model; without `sending`, it needs no key and sends nothing."""
        from callscore.providers import catalog
        from callscore.providers.plugin import plugin_provider

        plugin = catalog.is_plugin(spec)
        if not sending:
            make = plugin_provider if plugin else self._requests
            return DryRunProvider(spec, make)
        if plugin:
            provider = plugin_provider(spec)
        else:
            provider = catalog.make_provider(spec, self._secrets, self._http())
        self._closing.append(provider.close)
        return provider

    def embedding_server(self, spec: ModelSpec) -> EmbeddingServer:
        """The `/embeddings` of a model."""
        from callscore.providers.catalog import make_embedding_access
        from callscore.providers.http_provider import EmbeddingServer

        server = EmbeddingServer(make_embedding_access(spec, self._secrets), self._http())
        self._closing.append(server.close)
        return server

    async def close(self) -> None:
        """Close everything that was opened."""
        for close in self._closing:
            await close()

    def _requests(self, spec: ModelSpec) -> Requests:
        from callscore.providers.catalog import make_requests

        return make_requests(spec, self._secrets)

    def _http(self) -> Http:
        from callscore.providers.http import ATTEMPT_SECONDS, Http

        if self._pool is None:
            self._pool = Http(attempt_seconds=self._seconds or ATTEMPT_SECONDS)
        return self._pool


class RequestBuilder(Protocol):
    """The half of a provider that needs no network."""

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        """The request for a prompt."""
        ...


class DryRunProvider:
    """A Provider without a key or a connection; its requests can be built and counted."""

    def __init__(self, spec: ModelSpec, make: Callable[[ModelSpec], RequestBuilder]) -> None:
        self.name = spec.name
        self._spec = spec
        self._make = make
        self._requests: RequestBuilder | None = None

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        """The request as it would be sent; raises ConfigError if the config has no address."""
        if self._requests is None:
            self._requests = self._make(self._spec)
        return self._requests.request(prompt, repeat)

    async def attempt(self, request: ProviderRequest) -> AttemptFailed:
        """Always a failure: nothing is sent."""
        return AttemptFailed("unauthorised", "this model is not to be asked")

    async def close(self) -> None:
        """Nothing was opened."""
