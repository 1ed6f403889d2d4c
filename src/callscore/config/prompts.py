"""`prompts` of an eval file: templates that replace a task's prompt, and variants of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.errors import ConfigError
from callscore.core.prompt_template import PromptTemplate, parse_template
from callscore.core.run import ModelSpec
from callscore.core.task import SCENARIO
from callscore.store.strict_yaml import Document
from callscore.suites import registry

VARIANTS = "variants"
FIXED = frozenset({"replay", "baseline"})
"""Providers that ignore the prompt: they have no variants."""
Templates = Mapping[str, PromptTemplate]
"""By task."""


def own_prompts(
    document: Document, entry: Any, models: Sequence[ModelSpec]
) -> tuple[Sequence[ModelSpec], Mapping[str, Templates]]:
    """The models, and the templates of those with the user's own prompts, by the model's name.

    A variant is a model named after model and prompt.
    """
    if not isinstance(entry, dict):
        raise document.error("prompts", "expected files by task, or `variants`")
    common = {key: value for key, value in entry.items() if key != VARIANTS}
    replaced = _templates(document, "prompts", common)
    variants = entry.get(VARIANTS) or {}
    if not isinstance(variants, dict):
        raise document.error(f"prompts.{VARIANTS}", "expected files by variant and task")
    listed: list[ModelSpec] = []
    templates: dict[str, Templates] = {}
    by_variant = {
        str(name): _templates(document, f"prompts.{VARIANTS}.{name}", files)
        for name, files in variants.items()
    }
    for model in models:
        listed.append(model)
        if model.provider in FIXED:
            continue
        if replaced:
            templates[model.name] = replaced
        for name, found in by_variant.items():
            varied = msgspec.structs.replace(model, name=f"{model.name} / prompt {name}")
            listed.append(varied)
            templates[varied.name] = {**replaced, **found}
    return listed, templates


def _templates(document: Document, part: str, files: Any) -> dict[str, PromptTemplate]:
    if not isinstance(files, dict) or not all(isinstance(name, str) for name in files.values()):
        raise document.error(part, "expected a file for each task, such as `qa: prompts/qa.md`")
    return {task: _template(document, part, task, name) for task, name in files.items()}


def _template(document: Document, part: str, task: str, name: str) -> PromptTemplate:
    place = f"{part}.{task}"
    known = (*registry.task_names(), SCENARIO)
    if task not in known:
        raise document.error(place, f"{task!r} is not a task; expected one of {', '.join(known)}")
    path = document.path.parent / name
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise document.error(place, f"{name!r} cannot be read: {why}") from None
    variables = registry.Catalog().tasks()[task].prompt_variables
    try:
        return parse_template(text, str(path), variables)
    except ConfigError as error:
        raise document.error(place, str(error)) from None
