"""A model that is not to be asked: its requests can be built and counted, nothing can be sent."""

from __future__ import annotations

from callscore.core.case import Prompt
from callscore.core.provider import AttemptFailed, ProviderRequest
from callscore.core.run import ModelSpec
from callscore.providers.cache_key import Requests
from callscore.providers.catalog import make_requests
from callscore.providers.secrets import Secrets


class UnsentModel:
    """A Provider for dry runs and for scoring again; needs no key, and has no connection."""

    def __init__(self, spec: ModelSpec, secrets: Secrets) -> None:
        self.name = spec.name
        self._spec = spec
        self._secrets = secrets
        self._requests: Requests | None = None

    def call(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        """The request as it would be sent; ConfigError where the config names no address."""
        if self._requests is None:
            self._requests = make_requests(self._spec, self._secrets)
        return self._requests.call(prompt, repeat)

    async def attempt(self, call: ProviderRequest) -> AttemptFailed:
        """Nothing."""
        return AttemptFailed("unauthorised", "this model is not to be asked")

    async def close(self) -> None:
        """Nothing was opened."""
