"""Creates the providers of model APIs from the entries of a config."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from callscore.core.errors import ConfigError
from callscore.core.provider import Provider
from callscore.core.run import ModelSpec
from callscore.providers.secrets import Secrets

if TYPE_CHECKING:
    from yarl import URL

    from callscore.providers.http import Http
    from callscore.providers.http_provider import Access, Authorise
    from callscore.providers.wire_format import Requests, WireFormat

OPENAI_APIS = ("chat", "responses")
KINDS = ("openai", "anthropic", "gemini", "bedrock")
AWS = "amazonaws.com"
KEY_DOMAINS: Mapping[str, str] = {
    "OPENAI_API_KEY": "openai.com",
    "ANTHROPIC_API_KEY": "anthropic.com",
    "GEMINI_API_KEY": "googleapis.com",
    "GOOGLE_API_KEY": "googleapis.com",
    "AWS_BEARER_TOKEN_BEDROCK": AWS,
    "AWS_SECRET_ACCESS_KEY": AWS,
    "AWS_SESSION_TOKEN": AWS,
    "CEREBRAS_API_KEY": "cerebras.ai",
    "COHERE_API_KEY": "cohere.com",
    "DEEPSEEK_API_KEY": "deepseek.com",
    "FIREWORKS_API_KEY": "fireworks.ai",
    "GH_TOKEN": "github.ai",
    "GITHUB_TOKEN": "github.ai",
    "GROQ_API_KEY": "groq.com",
    "HF_TOKEN": "huggingface.co",
    "MISTRAL_API_KEY": "mistral.ai",
    "OPENROUTER_API_KEY": "openrouter.ai",
    "TOGETHER_API_KEY": "together.xyz",
    "XAI_API_KEY": "x.ai",
}
"""The domain for the key in a well-known variable: it is sent to that domain only. A shared config
that names another host gets no key (S-14, S-15)."""

_BEDROCK_HOST = re.compile(
    r"(?:[a-z0-9-]+\.)?bedrock-runtime(?:-fips)?\.[a-z0-9-]+\.(?:vpce\.)?amazonaws\.com(?:\.cn)?"
)
_REGION_IN_HOST = re.compile(r"bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com")
_REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")
_OTHER_SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_JSON = {"content-type": "application/json"}


class _ApiChoice(NamedTuple):
    """The wire formats of a model, their base URL, and the usual variable of the key."""

    wire_formats: Sequence[WireFormat]
    """The first is used; the others if the server says that the model needs them."""
    base_url: str
    key_env: str


def make_provider(spec: ModelSpec, secrets: Secrets, http: Http) -> Provider:
    """The provider of a model; raises ConfigError.

    Nothing is sent and no connection is opened. All models of a process share one `Http`.
    """
    from callscore.providers.http import Endpoint, proxy_for
    from callscore.providers.http_provider import Access, HttpProvider
    from callscore.providers.request_variants import Api

    try:
        api = _api(spec, secrets)
        base, urls = _addresses(spec, api)
        key = _key(spec, secrets, base, api.key_env)
        authorise = _authorise(spec, secrets, urls[0], key)
    except ConfigError as error:
        raise ConfigError(f"model {spec.name!r}: {error}") from None
    proxy = proxy_for(base)
    hidden = [key, *(secrets.environment.get(name) for name in _OTHER_SECRETS)]
    hidden.append(proxy.password if proxy is not None else None)
    access = Access(Endpoint(urls[0], proxy), authorise, tuple(filter(None, hidden)))
    pairs = zip(api.wire_formats, urls, strict=True)
    apis = [Api(wire_format, Endpoint(url, proxy)) for wire_format, url in pairs]
    return HttpProvider(spec, apis, access, http)


def is_plugin(spec: ModelSpec) -> bool:
    """Whether the provider comes from another package."""
    return spec.provider not in KINDS


def check_access(spec: ModelSpec, secrets: Secrets) -> None:
    """Raise ConfigError if a model cannot be called: no key, or a key for another host."""
    if is_plugin(spec):
        return  # its own constructor checks it
    try:
        api = _api(spec, secrets)
        base, _ = _addresses(spec, api)
        _authorise(spec, secrets, base, _key(spec, secrets, base, api.key_env))
    except ConfigError as error:
        raise ConfigError(f"model {spec.name!r}: {error}") from None


def leaves_machine(spec: ModelSpec) -> bool:
    """Whether requests to a model are sent to another machine, as far as its address says."""
    from yarl import URL

    from callscore.providers.addresses import is_loopback

    return spec.base_url is None or not is_loopback(URL(spec.base_url))


def host_of(spec: ModelSpec) -> str:
    """The host that a model is reached at; empty where nothing is sent, or a package decides."""
    if spec.base_url is None and is_plugin(spec):
        return ""
    from yarl import URL

    return URL(spec.base_url or _api(spec, Secrets(os.environ)).base_url).host or ""


def make_requests(spec: ModelSpec, secrets: Secrets) -> Requests:
    """Builds the requests of a model without a key or a connection."""
    from callscore.providers.wire_format import Requests

    try:
        api = _api(spec, secrets)
        _, urls = _addresses(spec, api)
    except ConfigError as error:
        raise ConfigError(f"model {spec.name!r}: {error}") from None
    return Requests(spec.model, api.wire_formats[0], urls[0])


def _addresses(spec: ModelSpec, api: _ApiChoice) -> tuple[URL, Sequence[URL]]:
    """The base URL of a model, and the URL of its requests in each wire format."""
    from callscore.providers.addresses import check_url

    base = check_url(spec.base_url or api.base_url, allow_http=spec.allow_http)
    paths = [wire_format.path(spec.model) for wire_format in api.wire_formats]
    return base, [_join_path(base, path, paths) for path in paths]


def make_embedding_access(spec: ModelSpec, secrets: Secrets) -> Access:
    """The endpoint and the credentials for `/embeddings`."""
    from callscore.providers import openai
    from callscore.providers.addresses import check_url
    from callscore.providers.http import Endpoint, proxy_for
    from callscore.providers.http_provider import Access

    if spec.provider != "openai":
        raise ConfigError(f"embedder {spec.name!r}: provider: expected openai, or a server like it")
    try:
        base = check_url(spec.base_url or openai.BASE_URL, allow_http=spec.allow_http)
        url = _join_path(base, "embeddings")
        key = _key(spec, secrets, base, openai.KEY_ENV)
        authorise = _authorise(spec, secrets, url, key)
    except ConfigError as error:
        raise ConfigError(f"embedder {spec.name!r}: {error}") from None
    return Access(Endpoint(url, proxy_for(url)), authorise, (key,) if key else ())


def _api(spec: ModelSpec, secrets: Secrets) -> _ApiChoice:
    if spec.provider == "openai":
        from callscore.providers import openai

        return _ApiChoice(_openai_formats(spec), openai.BASE_URL, openai.KEY_ENV)
    if spec.provider == "anthropic":
        from callscore.providers import anthropic

        version = _choose_api(spec, anthropic.VERSIONS)
        messages = anthropic.Messages(spec.model, spec.params, version)
        return _ApiChoice([messages], anthropic.BASE_URL, anthropic.KEY_ENV)
    if spec.provider == "gemini":
        from callscore.providers import gemini

        _choose_api(spec, ())
        return _ApiChoice([gemini.GenerateContent(spec.params)], gemini.BASE_URL, gemini.KEY_ENV)
    if spec.provider == "bedrock":
        from callscore.providers import bedrock

        _choose_api(spec, ())
        base_url = spec.base_url or f"https://bedrock-runtime.{_region(secrets)}.amazonaws.com"
        return _ApiChoice([bedrock.Converse(spec.params)], base_url, bedrock.KEY_ENV)
    near = get_close_matches(spec.provider, KINDS, n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; expected one of {', '.join(KINDS)}"
    raise ConfigError(f"provider: {spec.provider!r} is unknown{hint}")


def _choose_api(spec: ModelSpec, offered: Sequence[str]) -> str:
    """The API, or its version, that a config names, else the default."""
    if spec.api is None:
        return offered[0] if offered else ""
    if spec.api not in offered:
        expected = f"expected {' or '.join(offered)}" if offered else "there is no choice here"
        raise ConfigError(f"api: {spec.api!r}; {expected}")
    return spec.api


def _openai_formats(spec: ModelSpec) -> Sequence[WireFormat]:
    """Chat completions, and responses if a model needs it; or what the config says."""
    from callscore.providers.openai import ChatCompletions
    from callscore.providers.responses import Responses, needs_responses

    chosen = _choose_api(spec, OPENAI_APIS)
    responses = Responses(spec.model, spec.params)
    where = (spec.base_url or "").partition("?")[0].rstrip("/")
    is_default_host = not where or where.startswith("https://api.openai.com")
    wanted = where.endswith("/responses") or (is_default_host and needs_responses(spec.model))
    if spec.api == "responses" or (spec.api is None and wanted):
        return [responses]
    chat = ChatCompletions(spec.model, spec.params)
    # An Azure deployment has a URL for chat completions only.
    alone = spec.api == chosen or "/deployments/" in where
    return [chat] if alone else [chat, responses]


def _join_path(base: URL, path: str, paths: Sequence[str] = ()) -> URL:
    """The URL of requests; a path of this or another API at the end of the base is replaced."""
    stem = base.raw_path.rstrip("/")
    for known in (path, *paths):
        stem = stem.removesuffix(f"/{known}")
    return base.build(
        scheme=base.scheme,
        authority=base.raw_authority,
        path=f"{stem}/{path}",
        query_string=base.raw_query_string,
        encoded=True,
    )


def _key(spec: ModelSpec, secrets: Secrets, base: URL, usual: str) -> str | None:
    """The key of a model, bound to its host: a config that names another host gets none."""
    is_default_host = _is_key_domain(base, usual)
    variable = spec.api_key_env
    if variable is not None and not _is_key_domain(base, variable):
        raise ConfigError(
            f"api_key_env: {variable} holds a key for {KEY_DOMAINS[variable]}, and base_url "
            f"points to {base.host}; use another variable for the key of that host"
        )
    key = secrets.key_for(spec, usual if is_default_host else None)
    if key is not None:
        _check_host(spec, secrets, base)
    elif spec.base_url is not None and spec.provider != "bedrock" and not is_default_host:
        secrets.permissions.check_host(_host(base))
    if key is None and spec.base_url is None and spec.provider != "bedrock":
        raise ConfigError(f"no key: set {usual}, or name a variable in api_key_env")
    return key


def _check_host(spec: ModelSpec, secrets: Secrets, base: URL) -> None:
    """A key that is not bound to a vendor goes only to hosts that the user has allowed, and to this
    machine.
    """
    from callscore.providers.addresses import is_loopback

    source = spec.api_key_env
    if spec.api_key_file is not None:
        source = f"the file {Path(spec.api_key_file).resolve()}"
    if source is None or source in KEY_DOMAINS or is_loopback(base):
        return
    secrets.permissions.check_key(source, _host(base), is_vendor=spec.base_url is None)


def _host(base: URL) -> str:
    return (base.host or "").rstrip(".").lower()


def _is_key_domain(base: URL, variable: str) -> bool:
    """Whether the key in a variable may be sent to a host; only well-known variables are bound."""
    from callscore.providers.addresses import is_loopback

    domain, host = KEY_DOMAINS.get(variable), _host(base)
    if domain == AWS and not is_loopback(base):
        # Anyone can have a name under this domain; only those of the service belong to AWS.
        return _BEDROCK_HOST.fullmatch(host) is not None
    return domain is None or host == domain or host.endswith(f".{domain}") or is_loopback(base)


def _authorise(spec: ModelSpec, secrets: Secrets, url: URL, key: str | None) -> Authorise:
    if spec.provider == "bedrock" and key is None:
        from callscore.providers.bedrock import signer

        if not _is_key_domain(url, "AWS_SECRET_ACCESS_KEY"):
            secrets.permissions.check_key("the AWS credentials", _host(url))
        in_host = _REGION_IN_HOST.fullmatch(url.host or "")
        region = in_host[1] if in_host else _region(secrets)
        return signer(str(url), region, secrets.environment)
    headers = _JSON | _key_header(spec, url, key)

    async def authorise(_body: bytes) -> Mapping[str, str]:
        return headers

    return authorise


def _key_header(spec: ModelSpec, url: URL, key: str | None) -> dict[str, str]:
    """The header with the key; it is never part of the URL, which is logged."""
    kind, version = spec.provider, {}
    if kind == "anthropic":
        from callscore.providers.anthropic import VERSIONS

        version = {"anthropic-version": _choose_api(spec, VERSIONS)}
    if key is None:
        return version
    if kind == "anthropic":
        return version | {"x-api-key": key}
    if kind == "gemini" and not (url.host or "").endswith("aiplatform.googleapis.com"):
        return {"x-goog-api-key": key}
    if kind == "openai" and "api-version" in url.query:
        return {"api-key": key}
    return {"authorization": f"Bearer {key}"}


def _region(secrets: Secrets) -> str:
    for variable in _REGION_VARIABLES:
        region = secrets.environment.get(variable, "").strip()
        if region.replace("-", "").isalnum() and region.isascii():
            return region
    raise ConfigError("no region: set AWS_REGION, or give base_url")
