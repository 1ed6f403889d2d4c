"""The forms in which a model can be asked, and which of them its API has refused."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from callscore.core.case import JsonObject, Prompt
from callscore.core.provider import ProviderRequest
from callscore.providers.http import Endpoint, ServerError
from callscore.providers.wire_format import AnswerForm, SchemaCache, WireFormat, in_turns

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
_MAX_SEARCHED = 2_000
REFUSALS_TO_GIVE_UP = 3
"""A form that an API never took is not tried after this many refusals: one may be chance."""
MAX_REMEMBERED = 1_000
"""Schemas with their own form; every case may have one."""


class Api(NamedTuple):
    """An API of a model, and its endpoint."""

    wire_format: WireFormat
    endpoint: Endpoint


class Variant(NamedTuple):
    """One form of a request: which API, how the schema is enforced, which turns."""

    api: int = 0
    form: int = 0
    alternating: bool = False
    """Whether turns are merged for a server whose API accepts any order, but whose model does not
    (the chat templates of many local models)."""


class RequestVariants:
    """The best form that the API accepts, remembered per schema.

    A form in which several schemas were refused and none was accepted is unsupported: other schemas
    are not tried in it.
    """

    def __init__(self, apis: Sequence[Api]) -> None:
        self.apis = apis
        self._api = 0
        self._alternating = False
        self._forms: dict[tuple[int, bytes], int] = {}
        self._refused: Counter[tuple[int, AnswerForm]] = Counter()
        """Schemas that were refused, by API and form."""
        self._accepted: set[tuple[int, AnswerForm]] = set()
        self._digest = SchemaCache(_digest)

    def api(self, variant: Variant) -> Api:
        """The API of a form."""
        return self.apis[variant.api]

    @property
    def newest(self) -> Variant:
        """The API that has worked, whatever the form."""
        return Variant(self._api)

    def first(self, request: ProviderRequest) -> Variant:
        """The best form that was not refused yet."""
        return self._at(self._api, request.prompt)

    def _at(self, api: int, prompt: Prompt | None) -> Variant:
        if prompt is None or prompt.schema is None:
            return Variant(api, 0, self._alternating)
        forms = self.apis[api].wire_format.forms(prompt)
        # Most APIs refuse nothing, and then no schema needs to be hashed.
        form = self._forms.get((api, self._digest(prompt.schema))) if self._forms else None
        if form is None:
            form = next((n for n, f in enumerate(forms) if self._is_known(api, f)), len(forms))
        return Variant(api, min(form, len(forms) - 1), self._alternating)

    def _is_known(self, api: int, form: AnswerForm) -> bool:
        return (api, form) in self._accepted or self._refused[api, form] < REFUSALS_TO_GIVE_UP

    def next(
        self, request: ProviderRequest, variant: Variant, status: int, error: ServerError
    ) -> Variant | None:
        """The form to try after a refusal; None if the refusal has another reason."""
        said = " ".join((*sorted(error.codes), error.message[:_MAX_SEARCHED]))
        prompt = request.prompt
        if prompt is None:
            return None
        if (
            variant.api + 1 < len(self.apis)
            and status in _OTHER_API
            and _NAMES_RESPONSES.search(said)
        ):
            return self._at(variant.api + 1, prompt)
        if not variant.alternating and status in _OTHER_FORM and _NAMES_TURNS.search(said):
            return variant._replace(alternating=True)
        forms = self.api(variant).wire_format.forms(prompt)
        if variant.form + 1 < len(forms) and status in _OTHER_FORM and _NAMES_THE_FORM.search(said):
            return variant._replace(form=variant.form + 1)
        return None

    def body(self, request: ProviderRequest, variant: Variant) -> bytes:
        """The body of a request in one form."""
        if variant == Variant() or request.prompt is None:
            return request.body
        wire_format, prompt = self.api(variant).wire_format, request.prompt
        form = wire_format.forms(prompt)[variant.form]
        if variant.alternating:
            prompt = msgspec.structs.replace(prompt, messages=in_turns(prompt.messages))
        return msgspec.json.encode(wire_format.body(prompt, form))

    def accept(self, request: ProviderRequest, variant: Variant) -> AnswerForm | None:
        """Remember a form that has worked; returns how it enforces the schema, if not in the best
        way.

        Only what has worked is remembered, so that a refusal for another reason degrades nothing.
        """
        self._api = max(self._api, variant.api)
        self._alternating |= variant.alternating
        if request.prompt is None or request.prompt.schema is None:
            return None
        forms = self.api(variant).wire_format.forms(request.prompt)
        self._accepted.add((variant.api, forms[variant.form]))
        if not variant.form:
            return None
        schema = variant.api, self._digest(request.prompt.schema)
        if schema not in self._forms and len(self._forms) < MAX_REMEMBERED:
            self._refused.update((variant.api, form) for form in forms[: variant.form])
            self._forms[schema] = variant.form
        return forms[variant.form]


def _digest(schema: JsonObject) -> bytes:
    return blake2b(msgspec.json.encode(schema), digest_size=16).digest()
