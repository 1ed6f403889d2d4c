"""A model that is asked with prompts of the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callscore.core.batch import WrappedProvider
from callscore.core.case import Case, Prompt
from callscore.core.prompt_template import PromptTemplate
from callscore.core.provider import Provider, ProviderRequest
from callscore.core.task import Task


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
