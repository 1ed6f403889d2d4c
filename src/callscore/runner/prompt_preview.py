"""Shows the prompt of one case, without sending it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import msgspec

from callscore.app import read_other_files
from callscore.config.config import EvalConfig, load_eval
from callscore.config.score import ScoreConfig
from callscore.core.case import Message, Prompt, Tool
from callscore.core.errors import UsageError
from callscore.runner.cases import CaseFiles, CasePrompt, CaseSource, request_of
from callscore.runner.prepare import ModelHandle, RunOptions, open_models, open_sources


class PromptPreview(msgspec.Struct, frozen=True):
    """The messages, tools and schema of a case; the request to a model if one is named."""

    case_id: str
    task: str
    messages: Sequence[Message]
    schema: msgspec.Raw
    tools: Sequence[Tool] = ()
    model: str | None = None
    request: msgspec.Raw | None = None
    """The request body."""


def prompt_of_case(cases: Sequence[Path], case_id: str | None) -> PromptPreview:
    """The built-in prompt of a case; the first case if none is named."""
    config = read_other_files(ScoreConfig(cases=cases), need_output=False)
    return _make_preview(_find_case([CaseFiles(config)], case_id), None)


def prompt_of_run(path: Path, case_id: str | None, model: str | None) -> PromptPreview:
    """The prompt of a case of an eval file, for one of its models."""
    config = load_eval(path)
    return _make_preview(
        _find_case(open_sources(config, RunOptions()), case_id), _model(config, model)
    )


def _model(config: EvalConfig, name: str | None) -> ModelHandle:
    handles = open_models(config, sending=False)
    for handle in handles:
        if name in (None, handle.spec.name):
            return handle
    known = ", ".join(handle.spec.name for handle in handles)
    raise UsageError(f"{name!r} is not a model of the file; expected one of {known}")


def _find_case(sources: Sequence[CaseSource], case_id: str | None) -> CasePrompt:
    ids = [case for source in sources for case in source.survey().ids]
    if not ids:
        raise UsageError("the files contain no case")
    wanted = case_id if case_id is not None else ids[0]
    streamed = chain.from_iterable(source.stream() for source in sources)
    found = next((asked for asked in streamed if asked.case.id == wanted), None)
    if found is None:
        some = ", ".join(ids[:3])
        raise UsageError(f"no case has the id {wanted!r}; expected one such as {some}")
    return found


def _make_preview(asked: CasePrompt, model: ModelHandle | None) -> PromptPreview:
    prompt: Prompt = asked.prompt
    request = request_of(model.provider, asked, 1) if model is not None else None
    if request is not None and request.prompt is not None:
        prompt = request.prompt
    return PromptPreview(
        asked.case.id,
        asked.case.task,
        prompt.messages,
        msgspec.Raw(msgspec.json.encode(prompt.schema)),
        prompt.tools,
        model.spec.name if model is not None else None,
        msgspec.Raw(request.body) if request is not None and _is_json(request.body) else None,
    )


def _is_json(body: bytes) -> bool:
    try:
        msgspec.json.decode(body)
    except msgspec.DecodeError:
        return False
    return True
