"""The page about providers says what the code does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest
import yaml

from callscore.core.provider import FailureKind
from callscore.core.run import ModelSpec
from callscore.providers.catalog import KEY_DOMAINS, KINDS, make_provider
from callscore.providers.http import ATTEMPT_SECONDS, MAX_ANSWER_BYTES, Http
from callscore.providers.secrets import Secrets
from callscore.providers.wire_format import ASSUMED_MAX_OUTPUT_TOKENS, STRUCTURED

PAGE = (Path(__file__).parents[2] / "docs" / "providers.md").read_text(encoding="utf-8")
EXAMPLE = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0])
SECRETS = Secrets(dict.fromkeys([*KEY_DOMAINS, "BEDROCK_KEY", "AZURE_OPENAI_API_KEY"], "k" * 12))


@pytest.mark.parametrize("entry", EXAMPLE, ids=[entry["name"] for entry in EXAMPLE])
def test_every_model_of_the_example_can_be_made(entry: object) -> None:
    spec = msgspec.convert(entry, ModelSpec)
    assert make_provider(spec, SECRETS, Http()).name == spec.name


@pytest.mark.parametrize(
    "word",
    [
        *KINDS,
        *KEY_DOMAINS,
        *get_args(FailureKind),
        STRUCTURED,
        f"{ASSUMED_MAX_OUTPUT_TOKENS:,}",
        f"{ATTEMPT_SECONDS:g} s",
        f"{MAX_ANSWER_BYTES // 1_000_000} MB",
    ],
)
def test_the_page_names(word: str) -> None:
    assert word in PAGE
