"""Custom prompts: instructions, and optionally the message that contains the call.

The task defines the variables: `Task.prompt_variables` and `Task.prompt_values`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from callscore.core.case import Case, JsonObject, Message, Prompt, turn_fields, turns
from callscore.core.errors import ConfigError
from callscore.core.lazy import lazy_regex

USER_PART = "=== user ==="
"""The line that separates the instructions from the user message."""
VARIABLES: Mapping[str, bool] = {
    "data": True,
    "config": False,
    "transcript": True,
    "transcript_text": True,
    "language": False,
    "question": False,
    "schema": False,
    "instructions": False,
}
"""The variables of every task, and whether each of them contains the call."""
_VARIABLE = lazy_regex(r"\{\{\s*([^{}]*?)\s*\}\}")


class PromptTemplate(msgspec.Struct, frozen=True):
    """A prompt file in which every variable is known."""

    system: str
    user: str | None = None
    """None: the message of the built-in prompt is used."""

    @property
    def digest(self) -> str:
        """Hash of the template: part of what identifies a run."""
        import hashlib  # only a run with custom prompts needs it

        raw = msgspec.json.encode([self.system, self.user])
        return hashlib.blake2b(raw, digest_size=8).hexdigest()

    def apply(self, prompt: Prompt, values: Mapping[str, str]) -> Prompt:
        """The built-in prompt with custom messages; schema and tools stay the same."""
        others = [message for message in prompt.messages if message.role != "system"]
        if self.user is not None:
            others = [Message("user", _fill(self.user, values))]
        messages = (Message("system", _fill(self.system, values)), *others)
        return msgspec.structs.replace(prompt, messages=messages)


def parse_template(text: str, place: str, variables: Mapping[str, bool]) -> PromptTemplate:
    """Parse a prompt file; raises ConfigError for unknown variables or a missing call."""
    lines = text.split("\n")
    marks = [number for number, line in enumerate(lines) if line.strip() == USER_PART]
    if len(marks) > 1:
        raise ConfigError(f"{place}:{marks[1] + 1}: a second line {USER_PART!r}; expected one")
    for number, line in enumerate(lines, start=1):
        for found in _VARIABLE.finditer(line):
            if found[1] not in variables:
                known = ", ".join(variables)
                raise ConfigError(
                    f"{place}:{number}: unknown variable {found[1]!r}; expected one of {known}"
                )
    system = "\n".join(lines[: marks[0]] if marks else lines).strip()
    user = "\n".join(lines[marks[0] + 1 :]).strip() if marks else None
    if not system:
        raise ConfigError(f"{place}: contains no instructions; expected some before {USER_PART!r}")
    if user is not None and not any(variables.values()):
        raise ConfigError(
            f"{place}: a user message would replace the conversation; expected no {USER_PART!r}"
        )
    if user is not None and not any(map(variables.get, _VARIABLE.findall(user))):
        wanted = ", ".join(f"{{{{{name}}}}}" for name in variables if variables[name])
        raise ConfigError(
            f"{place}: the user message does not contain the call; expected one of {wanted}"
        )
    return PromptTemplate(system, user)


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Replace the variables of a template; replaced text is not searched for variables."""
    return _VARIABLE.sub(lambda found: values[found[1]], template)


def case_values(case: Case, prompt: Prompt) -> dict[str, str]:
    """The variables of a case of any task; `prompt` is the built-in one."""
    spoken = list(map(turn_fields, turns(case.transcript)))
    return {
        "data": prompt.messages[-1].content,
        "config": as_json(case.config),
        "transcript": as_json(spoken),
        "transcript_text": "\n".join(map(_line, spoken)),
        "language": case.lang or "",
        "question": case.question or "",
        "schema": as_json(prompt.schema or {}),
        "instructions": next((m.content for m in prompt.messages if m.role == "system"), ""),
    }


def _line(turn: JsonObject) -> str:
    time = f"[{turn['start']}] " if "start" in turn else ""
    speaker = f"{turn['speaker']}: " if turn.get("speaker") else ""
    return f"{turn.get('id', '')}. {time}{speaker}{turn['text']}"


def as_json(value: Any) -> str:
    """A value of a variable that is not text."""
    return msgspec.json.encode(value).decode()
