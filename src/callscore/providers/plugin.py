"""A provider of another package: its mistakes are errors of the config, or failed attempts."""

from __future__ import annotations

from typing import Any

from callscore.core.case import Prompt
from callscore.core.errors import ConfigError
from callscore.core.plugins import (
    PluginError,
    check_members,
    load_plugin,
    plugin_errors,
    wrong_result,
)
from callscore.core.provider import (
    AttemptFailed,
    FailureKind,
    Provider,
    ProviderRequest,
    ProviderResponse,
)
from callscore.core.run import ModelSpec


class PluginProvider:
    """Checks what the provider of a package returns; the engine can rely on it."""

    def __init__(self, made: Provider, spec: ModelSpec) -> None:
        self.name = spec.name
        self._made = made
        self._what = _what(spec)

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        """The request of the package; raises PluginError."""
        what = f"{self._what}: request()"
        with plugin_errors(what):
            request: Any = self._made.request(prompt, repeat)
        if not isinstance(request, ProviderRequest):
            raise wrong_result(what, request, "a callscore.extension.ProviderRequest")
        for field in ("key", "body"):
            if not isinstance(getattr(request, field), bytes):
                raise PluginError(f"{what}: the {field} is not bytes")
        return request

    async def attempt(self, request: ProviderRequest) -> ProviderResponse | AttemptFailed:
        """One attempt; what it raises is a failure, repeated if the network caused it."""
        try:
            with plugin_errors(self._what, with_message=False):
                result: Any = await self._made.attempt(request)
        except PluginError as error:
            return AttemptFailed(_failure_kind(error.__cause__), str(error))
        if not isinstance(result, ProviderResponse | AttemptFailed):
            kind = type(result).__name__
            problem = f"returned {kind}; expected ProviderResponse or AttemptFailed"
            return AttemptFailed("bad_request", f"{self._what}: attempt() {problem}")
        return result

    async def close(self) -> None:
        """Close the connections of the package."""
        with plugin_errors(f"{self._what}: close()"):
            await self._made.close()


def plugin_provider(spec: ModelSpec) -> Provider:
    """The provider of another package; it finds its own key and opens its own connections."""
    make = load_plugin("callscore.providers", spec.provider)
    try:
        with plugin_errors(_what(spec)):
            made = make(spec)
    except PluginError:
        raise
    except ConfigError as error:
        raise ConfigError(f"model {spec.name!r}: {error}") from None
    check_members(made, _what(spec), Provider)
    return PluginProvider(made, spec)


def _failure_kind(cause: BaseException | None) -> FailureKind:
    if isinstance(cause, TimeoutError):
        return "timeout"
    return "connection" if isinstance(cause, ConnectionError) else "bad_request"


def _what(spec: ModelSpec) -> str:
    return f"provider {spec.provider!r}"
