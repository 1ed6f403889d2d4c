"""From the words of a config to a model that can be asked, or to a clear refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from callscore.core.errors import ConfigError, MissingExtra
from callscore.core.run import ModelSpec, Price
from callscore.providers.catalog import KINDS, make_provider
from callscore.providers.http import Http, proxy_for
from callscore.providers.prices import find_price, price_for, snapshot
from callscore.providers.secrets import Secrets
from commands import run_python
from provider_calls import KEY, PROMPT, ask, secrets, spec
from stub_servers import chat, serving


def test_an_unknown_provider_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match="'m': provider: 'opnai' is unknown; did you mean ope"):
        make_provider(spec("opnai", None), secrets(), Http())


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_own_address_and_key(kind: str) -> None:
    everything = Secrets(
        {
            "OPENAI_API_KEY": KEY,
            "ANTHROPIC_API_KEY": KEY,
            "GEMINI_API_KEY": KEY,
            "AWS_BEARER_TOKEN_BEDROCK": KEY,
            "AWS_REGION": "us-east-1",
        }
    )
    provider = make_provider(spec(kind, None, api_key_env=None), everything, Http())
    call = provider.request(PROMPT, 1)
    assert provider.name == "m"
    assert KEY.encode() not in call.body + call.key
    assert len(call.key) == 32


@pytest.mark.parametrize(
    ("kind", "variable"),
    [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC"), ("gemini", "GEMINI_API_KEY")],
)
def test_a_missing_key_is_reported_before_anything_is_sent(kind: str, variable: str) -> None:
    with pytest.raises(ConfigError, match=f"no key: set {variable}"):
        make_provider(spec(kind, None, api_key_env=None), secrets(), Http())


def test_a_named_variable_that_is_empty_is_reported() -> None:
    with pytest.raises(ConfigError, match="model 'm': api_key_env: STUB_KEY is not set or empty"):
        make_provider(spec("openai", None), Secrets({"STUB_KEY": "  "}), Http())


@pytest.mark.parametrize("key", ["two words", "with\nnewline\r\nx: y", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigError, match="contains no usable key") as refused:
        make_provider(spec("openai", None), Secrets({"STUB_KEY": key}), Http())
    assert key not in str(refused.value)


def test_a_key_may_be_in_a_private_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    file.chmod(0o600)
    with serving(chat()) as stub:
        ask(spec("openai", stub.url, api_key_env=None, api_key_file=str(file)))
    assert stub.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_key_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(KEY)
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="others may read it .mode 644.; chmod 600"):
        make_provider(
            spec("openai", None, api_key_env=None, api_key_file=str(file)), secrets(), Http()
        )


@pytest.mark.parametrize("name", ["missing", "."])
def test_a_key_file_that_cannot_be_read_is_reported(tmp_path: Path, name: str) -> None:
    tmp_path.chmod(0o700)
    model = spec("openai", None, api_key_env=None, api_key_file=str(tmp_path / name))
    with pytest.raises(ConfigError, match="api_key_file"):
        make_provider(model, secrets(), Http())


def test_secrets_do_not_show_themselves() -> None:
    assert KEY not in repr(secrets())
    assert KEY not in f"{secrets()}"


def test_the_network_is_imported_only_for_models_on_a_network() -> None:
    code = (
        "import sys, callscore.providers.catalog, callscore.providers.prices; "
        "sys.exit(any(name in sys.modules for name in ('aiohttp', 'botocore', 'yarl')))"
    )
    assert run_python(code).returncode == 0


def test_signing_without_botocore_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['botocore'] = None\n"
        "from callscore.providers.bedrock import signer\n"
        "signer('https://x', 'eu-west-1', {})"
    )
    done = run_python(code)
    assert "pip install 'callscore[bedrock]'" in done.stderr
    assert MissingExtra.__name__ in done.stderr


def test_this_machine_is_never_asked_through_a_proxy() -> None:
    from yarl import URL

    assert proxy_for(URL("http://127.0.0.1:8000/v1")) is None
    assert proxy_for(URL("http://localhost:8000/v1")) is None


OPENAI = "https://api.openai.com/v1"


@pytest.mark.parametrize(
    ("base_url", "model", "expected"),
    [
        (OPENAI, "gpt-4o-mini", Price(0.15, 0.6)),
        (OPENAI, "gpt-4o-mini-2024-07-18", Price(0.15, 0.6)),
        (OPENAI, "gpt-4o", Price(2.5, 10.0)),
        (OPENAI, "GPT-4o", Price(2.5, 10.0)),
        ("https://house.openai.azure.com/openai/v1", "gpt-4o", Price(2.5, 10.0)),
        ("https://api.anthropic.com/v1", "claude-3-haiku-20240307", Price(0.25, 1.25)),
        (
            "https://generativelanguage.googleapis.com/v1beta",
            "models/gemini-2.5-pro",
            Price(1.25, 10.0),
        ),
        (OPENAI, "nonesuch", None),
        ("http://127.0.0.1:8000/v1", "gpt-4o", None),
        ("https://api.openai.com.example.com/v1", "gpt-4o", None),
    ],
)
def test_prices_are_those_of_the_closest_name_at_that_vendor(
    base_url: str, model: str, expected: Price | None
) -> None:
    assert find_price(base_url, model) == expected


def test_the_users_price_wins_and_unknown_stays_unknown() -> None:
    mine = Price(1.0, 2.0)
    assert price_for(ModelSpec("m", "openai", "gpt-4o", price=mine)) == mine
    assert price_for(ModelSpec("m", "openai", "gpt-4o")) == Price(2.5, 10.0)
    assert price_for(ModelSpec("m", "openai", "my-own-model")) is None
    assert price_for(ModelSpec("m", "simulated", "gpt-4o")) is None


def test_no_listed_price_is_negative_and_the_list_says_its_day() -> None:
    prices = snapshot()
    rows = [row for vendor in prices.vendors.values() for row in vendor.models]
    assert len(rows) > 1_500
    assert all(row[1] >= 0 and row[2] >= 0 for row in rows)
    assert len(prices.date) == len("2026-01-01")
    assert "genai-prices" in prices.source
