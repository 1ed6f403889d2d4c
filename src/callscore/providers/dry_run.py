"""A provider that builds requests and sends none: for dry runs and for scoring stored replies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from callscore.core.case import Prompt
from callscore.core.provider import AttemptFailed, ProviderRequest
from callscore.core.run import ModelSpec


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
