"""Models of a config, judges and embedders among them: validated, without secrets (S-12, S-14)."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from callscore.config.file import OFFLINE, PROVIDERS, ModelEntry, convert_entry
from callscore.config.score import BUILT_IN_JUDGES, default_embedder, known_judges
from callscore.core.batch import PROVIDERS as BATCH_PROVIDERS
from callscore.core.errors import ConfigError
from callscore.core.plugins import plugin_names
from callscore.core.run import JudgeSpec, ModelSpec
from callscore.store.strict_yaml import Document, document_from_values, read_yaml

_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_SECRET_PARAMETER = re.compile(
    r"api[-_]?key|authorization|bearer|password|secret|access[-_]?token|credential", re.IGNORECASE
)
_SECRET_VALUE = re.compile(r"sk-[\w-]{8}|AIza[\w-]{8}|Bearer\s+\S{8}|AKIA[0-9A-Z]{8}|ghp_\w{8}")
LONGEST_NAME = 200

Spec = TypeVar("Spec", bound=ModelSpec)
JudgeChoice = str | tuple[JudgeSpec, ...]
"""`none`, `offline`, or the judging models, in the order of requests."""
EmbedderChoice = str | ModelSpec
"""The name of an embedder, or a model behind `/embeddings`."""

MOST_JUDGES = 3
STYLES = ("items", "document")
JUDGE_NUMBERS = {"items_per_request": (1, 200), "seed": (0, 2**32 - 1)}
"""Keys of a judge with the range of their values."""
JUDGE_KEYS = ("style", *JUDGE_NUMBERS)
"""Keys that only a judge has."""


def read_model(document: Document, part: str, entry: ModelEntry) -> ModelSpec:
    """The model as the engine uses it; raises ConfigError without printing a secret."""
    _check_name(document, part, entry)
    _check_provider(document, part, entry)
    _check_mode(document, part, entry)
    _check_params(document, part, entry)
    _check_secrets(document, part, entry)
    if entry.base_url is not None:
        _check_url(document, f"{part}.base_url", entry.base_url, entry.allow_http)
    _check_numbers(document, part, entry)
    key_file = entry.api_key_file
    if key_file is not None:
        _check_key_file(document, f"{part}.api_key_file", key_file)
        entry = msgspec.structs.replace(entry, api_key_file=str(document.path.parent / key_file))
    return as_spec(ModelSpec, entry)


def as_spec(kind: type[Spec], spec: ModelSpec, **fields: Any) -> Spec:
    """A model as another kind of model, with fields that only that kind has."""
    common = {name: getattr(spec, name) for name in ModelSpec.__struct_fields__}
    return kind(**common, **fields)


def _check_name(document: Document, part: str, entry: ModelEntry) -> None:
    name = entry.name
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise document.error(
            f"{part}.name", f"expected a printable name of at most {LONGEST_NAME} characters"
        )


def _check_provider(document: Document, part: str, entry: ModelEntry) -> None:
    if entry.provider not in PROVIDERS:
        added = plugin_names("callscore.providers")
        known = (*PROVIDERS, *(name for name in added if name not in PROVIDERS))
        if entry.provider in known:
            return  # its package decides whether it needs a model name
        near = difflib.get_close_matches(entry.provider, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"
        raise document.error(f"{part}.provider", f"unknown provider; {hint}")
    if entry.provider not in OFFLINE and not entry.model:
        raise document.error(f"{part}.model", "missing; expected the provider's name of the model")


def _check_mode(document: Document, part: str, entry: ModelEntry) -> None:
    if entry.mode == "batch" and entry.provider not in BATCH_PROVIDERS:
        expected = ", ".join(BATCH_PROVIDERS)
        raise document.error(
            f"{part}.mode", f"batch: {entry.provider} has no batch API; expected one of {expected}"
        )
    if entry.mode == "live" and entry.then != "live":
        raise document.error(f"{part}.then", f"{entry.then}; expected it with mode: batch only")


def _check_params(document: Document, part: str, entry: ModelEntry) -> None:
    """Other providers pass their parameters on to an API, which knows more of them than we do."""
    if entry.provider == "simulated":
        from callscore.providers.simulated import SimulatedParams

        convert_entry(document, SimulatedParams, f"{part}.params", entry.params)


def _check_secrets(document: Document, part: str, entry: ModelEntry) -> None:
    if entry.api_key_env is not None and entry.api_key_file is not None:
        raise document.error(part, "expected api_key_env or api_key_file, not both")
    name = entry.api_key_env
    if name is not None and (not _ENVIRONMENT_NAME.fullmatch(name) or _SECRET_VALUE.search(name)):
        raise document.error(
            f"{part}.api_key_env",
            "this is not the name of an environment variable (its value is not shown here); "
            "expected a name such as OPENAI_API_KEY; this file never contains a key",
        )
    for place, value in (("model", entry.model), ("base_url", entry.base_url or "")):
        if _SECRET_VALUE.search(value):
            raise _secret(document, f"{part}.{place}")
    _refuse_secrets(document, f"{part}.params", entry.params)


def _check_key_file(document: Document, part: str, name: str) -> None:
    """A config from elsewhere must not send any file of the machine as a key (S-14)."""
    folder = document.path.parent
    inside = [folder.resolve(), Path.cwd()]
    with suppress(RuntimeError):  # a user without a home directory
        inside.append(Path.home())
    real = (folder / name).resolve()
    if not any(real.is_relative_to(place) for place in inside if place != Path(place.anchor)):
        raise document.error(
            part, "lies outside of the project and of your home; expected a file in one of them"
        )


def _refuse_secrets(document: Document, part: str, value: Any) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if _SECRET_PARAMETER.search(key):
                raise _secret(document, f"{part}.{key}")
            _refuse_secrets(document, f"{part}.{key}", inner)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            _refuse_secrets(document, f"{part}[{number}]", inner)
    elif isinstance(value, str) and _SECRET_VALUE.search(value):
        raise _secret(document, part)


def _secret(document: Document, part: str) -> ConfigError:
    return document.error(
        part, "looks like a secret (not shown here); expected api_key_env or api_key_file instead"
    )


def _check_url(document: Document, part: str, url: str, allow_http: bool) -> None:
    """https, or http to this machine; no metadata service; no user:password@ (S-14)."""
    from callscore.providers.addresses import check_url

    try:
        check_url(url, allow_http=allow_http)
    except ConfigError as error:
        raise document.error(part, str(error).removeprefix("base_url: ")) from None


def _check_numbers(document: Document, part: str, entry: ModelEntry) -> None:
    limits = entry.limits
    for key, value in (
        ("concurrency", limits.concurrency),
        ("rpm", limits.rpm),
        ("tpm", limits.tpm),
    ):
        if value is not None and not 1 <= value <= 10_000_000:
            raise document.error(f"{part}.limits.{key}", f"{value}; expected at least 1")
    price = entry.price
    if price is not None:
        for key, dollars in (("input", price.input), ("output", price.output)):
            if not (math.isfinite(dollars) and dollars >= 0):
                raise document.error(
                    f"{part}.price.{key}", f"{dollars}; expected dollars, at least 0"
                )


def judge_of(document: Document, part: str, value: Any) -> JudgeChoice:
    """The judges under a key: a name, one model, or up to three."""
    if value is None or value in BUILT_IN_JUDGES:
        return value or "none"
    if isinstance(value, str) and value in known_judges():
        return value
    entries = value if isinstance(value, list) else [value]
    if not all(isinstance(entry, dict) for entry in entries):
        raise document.error(
            part,
            f"{value!r}; expected {', '.join(known_judges())}, a model or a list of models",
        )
    if not 1 <= len(entries) <= MOST_JUDGES:
        raise document.error(part, f"{len(entries)} judges; expected one to {MOST_JUDGES}")
    places = [f"{part}[{i}]" if part else f"[{i}]" for i in range(len(entries))]
    judges = tuple(
        _judge(document, place if isinstance(value, list) else part, entry)
        for place, entry in zip(places, entries, strict=True)
    )
    if len({judge.style for judge in judges}) > 1:
        raise document.error(part, "judges of two styles; expected one style for all of them")
    return judges


def _judge(document: Document, part: str, entry: dict[str, Any]) -> JudgeSpec:
    """A judging model, and how it is asked."""
    model = {key: value for key, value in entry.items() if key not in JUDGE_KEYS}
    style = entry.get("style", STYLES[0])
    if style not in STYLES:
        place = f"{part}.style" if part else "style"
        raise document.error(place, f"{style!r}; expected one of {', '.join(STYLES)}")
    numbers: dict[str, int] = {}
    for key, (low, high) in JUDGE_NUMBERS.items():
        if key not in entry:
            continue
        number, place = entry[key], f"{part}.{key}" if part else key
        if style != STYLES[0]:
            raise document.error(place, f"has no effect with style {style}; expected none")
        if not isinstance(number, int) or isinstance(number, bool) or not low <= number <= high:
            raise document.error(place, f"{number!r}; expected a number from {low} to {high}")
        numbers[key] = number
    return as_spec(JudgeSpec, _model(document, part, model), style=style, **numbers)


def embedder_of(document: Document, part: str, value: Any, judge: JudgeChoice) -> EmbedderChoice:
    """The embedder under a key: a name, or a model behind `/embeddings`."""
    if value is None:
        return default_embedder(judge)
    if not isinstance(value, str):
        return _model(document, part, value)
    if value == "none":
        return value
    from callscore.embeddings.catalog import NAMES  # imported only with an embedder

    if value not in NAMES:
        raise document.error(part, f"{value!r}; expected a model, or one of {', '.join(NAMES)}")
    return value


ModelEntries = Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""One model or several, with the keys of an entry of `models`."""


def load_judge(source: Path | ModelEntries) -> JudgeChoice:
    """The judges in a file or a mapping: under its key `judge`, or the models themselves."""
    document = (
        read_yaml(source) if isinstance(source, Path) else document_from_values(source, "judge")
    )
    value = document.value
    if isinstance(value, dict) and "judge" in value:
        return judge_of(document, "judge", value["judge"])
    _refuse_nothing(document, "a judge")
    return judge_of(document, "", value)


def load_embedder(source: Path | Mapping[str, Any]) -> EmbedderChoice:
    """The embedder in a file or a mapping: under its key `embedder`, or the model itself."""
    document = (
        read_yaml(source) if isinstance(source, Path) else document_from_values(source, "embedder")
    )
    value = document.value
    if isinstance(value, dict) and "embedder" in value:
        return embedder_of(document, "embedder", value["embedder"], "none")
    _refuse_nothing(document, "an embedder")
    return embedder_of(document, "", value, "none")


def _refuse_nothing(document: Document, expected: str) -> None:
    """Raise ConfigError for an empty file: its command would go on without a judge."""
    if document.value is None:
        raise document.error("", f"is empty; expected {expected}: provider, model")


def _model(document: Document, part: str, entry: Any) -> ModelSpec:
    if not isinstance(entry, dict):
        raise document.error(part, f"{entry!r}; expected a model: name, provider, model")
    found: ModelEntry = convert_entry(document, ModelEntry, part, entry)
    if found.provider in OFFLINE:
        raise document.error(
            f"{part}.provider" if part else "provider",
            f"{found.provider} replies from cases and cannot judge; expected an API",
        )
    if found.mode != "live":
        raise document.error(
            f"{part}.mode" if part else "mode", "batch is for models under test; expected live"
        )
    return read_model(document, part, found)
