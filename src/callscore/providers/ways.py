"""The ways in which one model may be asked, and which of them its API has refused."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from callscore.core.case import JsonObject, Prompt
from callscore.core.provider import ProviderRequest
from callscore.providers.http import Endpoint
from callscore.providers.http_errors import ServerError
from callscore.providers.wire_format import AnswerForm, Dialect, PerSchema, in_turns

_OTHER_FORM = frozenset((400, 422, 500, 501))
_OTHER_API = frozenset((400, 404))
_NAMES_THE_FORM = re.compile(
    r"schema|tool|function|response_?(?:format|mime)|output_?(?:config|format)|text.?format"
    r"|structured.?output|json.?(?:mode|object)|grammar",
    re.IGNORECASE,
)
_NAMES_TURNS = re.compile(
    r"alternat|prefill|(?:start|begin|end)s? with (?:a|the) (?:user|model)|last message", re.I
)
_NAMES_RESPONSES = re.compile(r"/responses\b|responses api|unsupported_api_for_model", re.I)
_LOOKED_AT = 2_000
ENOUGH_REFUSALS = 3
MOST_REMEMBERED = 1_000
"""Schemas with a form of their own; every case may bring one."""


class Wire(NamedTuple):
    """An API of a model, and where it is."""

    dialect: Dialect
    endpoint: Endpoint


class Way(NamedTuple):
    """One way to ask: over which API, how the answer is held to its schema, in which turns."""

    wire: int = 0
    form: int = 0
    alternating: bool = False
    """Whether the turns are merged for a server whose API leaves it open, but whose model does not
    (the chat templates of many local models)."""


class Ways:
    """How a model is asked: the best way that its API takes, remembered for every schema.

    A form that several schemas were refused in, and none was taken in, is one that the model does
    not know: other schemas are not tried in it.
    """

    def __init__(self, wires: Sequence[Wire]) -> None:
        self._wires = wires
        self._wire = 0
        self._alternating = False
        self._forms: dict[tuple[int, bytes], int] = {}
        self._refused: Counter[tuple[int, AnswerForm]] = Counter()
        """Schemas that were refused, by API and form."""
        self._taken: set[tuple[int, AnswerForm]] = set()
        self._digest = PerSchema(_digest)

    def wire(self, way: Way) -> Wire:
        """The API of a way."""
        return self._wires[way.wire]

    def first(self, call: ProviderRequest) -> Way:
        """The best way that was not refused yet."""
        return self._at(self._wire, call.prompt)

    def _at(self, wire: int, prompt: Prompt | None) -> Way:
        if prompt is None or prompt.schema is None:
            return Way(wire, 0, self._alternating)
        forms = self._wires[wire].dialect.forms(prompt)
        form = self._forms.get((wire, self._digest(prompt.schema)))
        if form is None:
            form = next((n for n, f in enumerate(forms) if self._is_known(wire, f)), len(forms))
        return Way(wire, min(form, len(forms) - 1), self._alternating)

    def _is_known(self, wire: int, form: AnswerForm) -> bool:
        return (wire, form) in self._taken or self._refused[wire, form] < ENOUGH_REFUSALS

    def next(self, call: ProviderRequest, way: Way, status: int, error: ServerError) -> Way | None:
        """The way to try after a refusal; None where the refusal is about something else."""
        said = " ".join((*sorted(error.codes), error.message[:_LOOKED_AT]))
        prompt = call.prompt
        if prompt is None:
            return None
        if (
            way.wire + 1 < len(self._wires)
            and status in _OTHER_API
            and _NAMES_RESPONSES.search(said)
        ):
            return self._at(way.wire + 1, prompt)
        if not way.alternating and status in _OTHER_FORM and _NAMES_TURNS.search(said):
            return way._replace(alternating=True)
        forms = self.wire(way).dialect.forms(prompt)
        if way.form + 1 < len(forms) and status in _OTHER_FORM and _NAMES_THE_FORM.search(said):
            return way._replace(form=way.form + 1)
        return None

    def body(self, call: ProviderRequest, way: Way) -> bytes:
        """The request of a call in one way."""
        if way == Way() or call.prompt is None:
            return call.body
        dialect, prompt = self.wire(way).dialect, call.prompt
        form = dialect.forms(prompt)[way.form]
        if way.alternating:
            prompt = msgspec.structs.replace(prompt, messages=in_turns(prompt.messages))
        return msgspec.json.encode(dialect.body(prompt, form))

    def taken(self, call: ProviderRequest, way: Way) -> AnswerForm | None:
        """A way has worked: it is the first from now on; told is its form, where not the best.

        Only what has worked is remembered, so that a refusal of something else degrades nothing.
        """
        self._wire = max(self._wire, way.wire)
        self._alternating |= way.alternating
        if call.prompt is None or call.prompt.schema is None:
            return None
        forms = self.wire(way).dialect.forms(call.prompt)
        self._taken.add((way.wire, forms[way.form]))
        schema = way.wire, self._digest(call.prompt.schema)
        if way.form and schema not in self._forms and len(self._forms) < MOST_REMEMBERED:
            self._refused.update((way.wire, form) for form in forms[: way.form])
            self._forms[schema] = way.form
        return forms[way.form] if way.form else None


def _digest(schema: JsonObject) -> bytes:
    return blake2b(msgspec.json.encode(schema), digest_size=16).digest()
