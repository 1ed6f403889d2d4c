"""Signed requests for AWS: botocore finds the credentials and signs; nothing else of it is used."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Mapping
from typing import Any

from callscore.core.errors import ConfigError, MissingExtra
from callscore.providers.remote import Authorise

SERVICE = "bedrock"
_CONTENT = {"content-type": "application/json"}


def signer(url: str, region: str, profile: str | None = None) -> Authorise:
    """Headers that sign a body for a URL, from the usual chain of AWS credentials."""
    try:
        auth = importlib.import_module("botocore.auth")
        requests = importlib.import_module("botocore.awsrequest")
        sessions = importlib.import_module("botocore.session")
    except ImportError:
        raise MissingExtra(
            "signing requests for Bedrock needs botocore: pip install 'callscore[bedrock]' "
            "(or give a Bedrock API key in AWS_BEARER_TOKEN_BEDROCK)"
        ) from None
    credentials = sessions.Session(profile=profile).get_credentials()
    if credentials is None:
        raise ConfigError("no AWS credentials found: environment, ~/.aws or instance role")

    def sign(body: bytes) -> Mapping[str, str]:
        request: Any = requests.AWSRequest("POST", url, data=body, headers=_CONTENT)
        auth.SigV4Auth(credentials.get_frozen_credentials(), SERVICE, region).add_auth(request)
        return dict(request.headers.items())

    async def authorise(body: bytes) -> Mapping[str, str]:
        # temporary credentials are renewed over the network, which must not stop the loop
        return await asyncio.to_thread(sign, body)

    return authorise
