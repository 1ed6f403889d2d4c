"""A model that is asked with prompts of the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callscore.core.batch import BatchApi, BatchLine, batch_provider
from callscore.core.case import Case, Prompt
from callscore.core.prompt_template import PromptTemplate
from callscore.core.provider import (
    AttemptFailed,
    CaseProvider,
    Provider,
    ProviderRequest,
    ProviderResponse,
)
from callscore.core.task import Task


class PromptedProvider:
    """Rewrites the prompt of every task that has a template, then asks the real provider."""

    def __init__(
        self,
        provider: Provider,
        templates: Mapping[str, PromptTemplate],
        tasks: Mapping[str, Task[Any, Any]],
    ) -> None:
        self._provider = provider
        self._templates = templates
        self._tasks = tasks
        self.name = provider.name

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        """The request for a prompt that belongs to no case: it stays as it is."""
        return self._provider.request(prompt, repeat)

    def request_for(self, case: Case, prompt: Prompt, repeat: int) -> ProviderRequest | None:
        """The request for a case, in the words of its task's template."""
        template = self._templates.get(case.task)
        if template is not None:
            values = self._tasks[case.task].prompt_values(case, prompt)
            prompt = template.apply(prompt, values)
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
