"""Custom prompts: instructions, and optionally the message that contains the call."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from callscore.core.case import Message, Prompt, clock
from callscore.core.errors import ConfigError

USER_PART = "=== user ==="
"""The line that separates the instructions from the user message."""
VARIABLES: Mapping[str, str] = {
    "data": "config, transcript, language, question and form as one JSON document",
    "config": "the configuration of the task, as JSON",
    "transcript": "the turns of the call, as JSON",
    "transcript_text": "the turns of the call, one per line: `1. [mm:ss] Agent: …`",
    "language": "the language of the call, if the case names it",
    "question": "the question of the case, if it has one",
    "form": "the keys of the answer, if they are not the documented ones, as JSON",
    "schema": "the JSON schema of the answer",
}
CALL_VARIABLES = frozenset({"data", "transcript", "transcript_text"})
_VARIABLE = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")


class PromptTemplate(msgspec.Struct, frozen=True):
    """A prompt file in which every variable is known."""

    system: str
    user: str | None = None
    """None: the message of the built-in prompt is used."""

    @property
    def digest(self) -> str:
        """Hash of the template: part of what identifies a run."""
        raw = msgspec.json.encode([self.system, self.user])
        return hashlib.blake2b(raw, digest_size=8).hexdigest()

    def apply(self, prompt: Prompt) -> Prompt:
        """The built-in prompt with custom messages; schema and tools stay the same."""
        data = prompt.messages[-1].content
        values = _values(data, prompt)
        user = data if self.user is None else _fill(self.user, values)
        messages = (Message("system", _fill(self.system, values)), Message("user", user))
        return msgspec.structs.replace(prompt, messages=messages)


def parse_template(text: str, place: str) -> PromptTemplate:
    """Parse a prompt file; raises ConfigError for unknown variables or a missing call."""
    lines = text.split("\n")
    marks = [number for number, line in enumerate(lines) if line.strip() == USER_PART]
    if len(marks) > 1:
        raise ConfigError(f"{place}:{marks[1] + 1}: a second line {USER_PART!r}; expected one")
    for number, line in enumerate(lines, start=1):
        for found in _VARIABLE.finditer(line):
            if found[1] not in VARIABLES:
                known = ", ".join(VARIABLES)
                raise ConfigError(
                    f"{place}:{number}: unknown variable {found[1]!r}; expected one of {known}"
                )
    system = "\n".join(lines[: marks[0]] if marks else lines).strip()
    user = "\n".join(lines[marks[0] + 1 :]).strip() if marks else None
    if not system:
        raise ConfigError(f"{place}: contains no instructions; expected some before {USER_PART!r}")
    if user is not None and not CALL_VARIABLES & set(_VARIABLE.findall(user)):
        wanted = ", ".join(f"{{{{{name}}}}}" for name in sorted(CALL_VARIABLES))
        raise ConfigError(
            f"{place}: the user message does not contain the call; expected one of {wanted}"
        )
    return PromptTemplate(system, user)


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Replace the variables of a template; replaced text is not searched for variables."""
    return _VARIABLE.sub(lambda found: values[found[1]], template)


def _values(data: str, prompt: Prompt) -> dict[str, str]:
    document: dict[str, Any] = msgspec.json.decode(data)
    turns = document.get("transcript") or []
    return {
        "data": data,
        "config": _json(document.get("config") or {}),
        "transcript": _json(turns),
        "transcript_text": "\n".join(map(_line, turns)),
        "language": str(document.get("language") or ""),
        "question": str(document.get("question") or ""),
        "form": _json(document["form"]) if "form" in document else "",
        "schema": _json(prompt.schema or {}),
    }


def _line(turn: Mapping[str, Any]) -> str:
    start = turn.get("start")
    time = "" if start is None else f"[{start if isinstance(start, str) else clock(start)}] "
    speaker = f"{turn['speaker']}: " if turn.get("speaker") else ""
    return f"{turn.get('id', '')}. {time}{speaker}{turn.get('text', '')}"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
