"""Providers around another one: with prompts of the user's own, and with redacted replies.

Replies are redacted before they are stored or scored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from callscore.core.batch import BatchApi, BatchLine, batch_provider
from callscore.core.case import Case, Prompt, Reply, ToolCall
from callscore.core.prompt_template import PromptTemplate
from callscore.core.provider import (
    AttemptFailed,
    CaseProvider,
    Provider,
    ProviderRequest,
    ProviderResponse,
)
from callscore.core.task import Task
from callscore.privacy.redactor import Placeholders, Redactor

IN_REPLIES = "REPLY_"
"""The prefix of placeholders in replies: the others are those of the call, which the model saw."""


class WrappedProvider:
    """Forwards everything to a real provider; derive from it and override what differs."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self.name = provider.name

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        """The request for a prompt that belongs to no case."""
        return self._provider.request(prompt, repeat)

    def request_for(self, case: Case, prompt: Prompt, repeat: int) -> ProviderRequest | None:
        """The request for a case."""
        if isinstance(self._provider, CaseProvider):
            return self._provider.request_for(case, prompt, repeat)
        return self._provider.request(prompt, repeat)

    async def attempt(self, request: ProviderRequest) -> ProviderResponse | AttemptFailed:
        """Send the request once."""
        return await self._provider.attempt(request)

    @property
    def batch_api(self) -> BatchApi:
        """The batch API of the real provider."""
        return batch_provider(self._provider).batch_api

    def batch_body(self, request: ProviderRequest) -> bytes:
        """The body of a request in a batch."""
        return batch_provider(self._provider).batch_body(request)

    def read_line(self, line: BatchLine) -> ProviderResponse | AttemptFailed:
        """The reply in a result of a batch."""
        return batch_provider(self._provider).read_line(line)

    async def close(self) -> None:
        """Close connections."""
        await self._provider.close()


class PromptedProvider(WrappedProvider):
    """Rewrites the prompt of every task that has a template, then asks the real provider."""

    def __init__(
        self,
        provider: Provider,
        templates: Mapping[str, PromptTemplate],
        tasks: Mapping[str, Task[Any, Any]],
    ) -> None:
        super().__init__(provider)
        self._templates = templates
        self._tasks = tasks

    def request_for(self, case: Case, prompt: Prompt, repeat: int) -> ProviderRequest | None:
        """The request for a case, in the words of its task's template."""
        template = self._templates.get(case.task)
        if template is not None:
            values = self._tasks[case.task].prompt_values(case, prompt)
            prompt = template.apply(prompt, values)
        return super().request_for(case, prompt, repeat)


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
