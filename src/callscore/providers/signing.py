"""Signed requests for AWS: botocore finds the credentials and signs."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Mapping
from typing import Any

from callscore.core.errors import ConfigError, MissingExtra
from callscore.core.provider import AttemptFailed
from callscore.providers.http_provider import Authorise
from callscore.providers.redaction import excerpt

SERVICE = "bedrock"
_CONTENT = {"content-type": "application/json"}


def signer(url: str, region: str, environment: Mapping[str, str]) -> Authorise:
    """Headers that sign a body for a URL, with credentials from the environment or the AWS
    chain.
    """
    credentials = _credentials(environment)
    auth, requests, exceptions = (_botocore(n) for n in ("auth", "awsrequest", "exceptions"))

    def sign(body: bytes) -> Mapping[str, str] | AttemptFailed:
        request = requests.AWSRequest("POST", url, data=body, headers=_CONTENT)
        try:
            frozen = credentials.get_frozen_credentials()
        except exceptions.BotoCoreError as error:
            return AttemptFailed("unauthorised", f"AWS credentials: {excerpt(str(error))}")
        auth.SigV4Auth(frozen, SERVICE, region).add_auth(request)
        return dict(request.headers.items())

    async def authorise(body: bytes) -> Mapping[str, str] | AttemptFailed:
        # temporary credentials are renewed over the network, which must not block the loop
        return await asyncio.to_thread(sign, body)

    return authorise


def _credentials(environment: Mapping[str, str]) -> Any:
    access = environment.get("AWS_ACCESS_KEY_ID")
    secret, token = environment.get("AWS_SECRET_ACCESS_KEY"), environment.get("AWS_SESSION_TOKEN")
    if access and secret:
        return _botocore("credentials").Credentials(access, secret, token)
    try:
        found = _botocore("session").Session().get_credentials()
    except _botocore("exceptions").BotoCoreError as error:
        raise ConfigError(f"AWS credentials: {excerpt(str(error))}") from None
    if found is None:
        raise ConfigError("no AWS credentials found: environment, ~/.aws or instance role")
    return found


def _botocore(module: str) -> Any:
    try:
        return importlib.import_module(f"botocore.{module}")
    except ImportError:
        raise MissingExtra(
            "signing requests for Bedrock needs botocore: pip install 'callscore[bedrock]' "
            "(or give a Bedrock API key in AWS_BEARER_TOKEN_BEDROCK)"
        ) from None
