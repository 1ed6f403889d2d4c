"""Replies without personal data: redacted before they are stored or scored."""

from __future__ import annotations

import msgspec

from callscore.core.batch import BatchLine, WrappedProvider
from callscore.core.case import Reply, ToolCall
from callscore.core.provider import (
    AttemptFailed,
    Provider,
    ProviderRequest,
    ProviderResponse,
)
from callscore.privacy.redactor import Placeholders, Redactor

IN_REPLIES = "REPLY_"
"""The prefix of placeholders in replies: the others are those of the call, which the model saw."""


class RedactedReplies(WrappedProvider):
    """Sends requests by the real provider, and redacts what comes back."""

    def __init__(self, provider: Provider, redactor: Redactor) -> None:
        super().__init__(provider)
        self._redactor = redactor

    async def attempt(self, request: ProviderRequest) -> ProviderResponse | AttemptFailed:
        """Send the request once; a reply, or the message of an error, is redacted."""
        return self._redact(await self._provider.attempt(request))

    def _redact(self, done: ProviderResponse | AttemptFailed) -> ProviderResponse | AttemptFailed:
        placeholders = Placeholders(IN_REPLIES)
        if isinstance(done, AttemptFailed):
            message = self._redactor.redact_text(done.message, placeholders)
            return msgspec.structs.replace(done, message=message)
        return msgspec.structs.replace(done, reply=self._redacted(done.reply, placeholders))

    def _redacted(self, reply: Reply, placeholders: Placeholders) -> Reply:
        text: str | bytes = reply.text
        if isinstance(text, bytes):
            whole = self._redactor.redact_record(
                {"output": msgspec.json.decode(text)}, placeholders
            )
            text = msgspec.json.encode(whole["output"])
        else:
            text = self._redactor.redact_text(text, placeholders)
        calls = [
            ToolCall(call.name, self._redactor.redact_text(call.arguments, placeholders))
            for call in reply.tool_calls
        ]
        return msgspec.structs.replace(reply, text=text, tool_calls=calls)

    def read_line(self, line: BatchLine) -> ProviderResponse | AttemptFailed:
        """The reply in a result of a batch, redacted."""
        return self._redact(super().read_line(line))
