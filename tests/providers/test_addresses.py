"""No request is sent to an address where no model can be, however it is spelt (S-14)."""

from __future__ import annotations

import asyncio
import ipaddress
import socket

import pytest
from yarl import URL

from callscore.core.errors import ConfigError
from callscore.core.provider import AttemptFailed
from callscore.providers.addresses import RefusedAddress, check_url, open_guarded_socket, refusal_of
from callscore.providers.catalog import AWS, KEY_DOMAINS, make_provider
from callscore.providers.http import Endpoint, Http
from provider_calls import KEY, ask, expect_failure, secrets, spec
from stub_servers import chat, serving

METADATA = "169.254.169.254"


@pytest.mark.parametrize(
    "url",
    [
        f"https://{METADATA}/latest/meta-data",
        f"http://{METADATA}/",
        f"https://[::ffff:{METADATA}]/",
        "https://[::ffff:a9fe:a9fe]/",
        "https://[64:ff9b::a9fe:a9fe]/",
        "https://[2002:a9fe:a9fe::]/",
        "https://[fe80::1]/",
        "https://[fe80::1%25eth0]/",
        "https://[fd00:ec2::254]/",
        "https://100.100.100.200/",
        "https://168.63.129.16/",
        "https://192.0.0.192/",
        "https://0.0.0.0/",
        "https://[::]/",
        "https://224.0.0.1/",
        "https://metadata.google.internal/computeMetadata/v1",
        "https://METADATA.google.internal./",
        "https://user:password@api.example.com/v1",
        f"https://{KEY}@api.example.com/v1",
        "https://api.example.com/v1?key=abc",
        "https://api.example.com/v1?api_key=abc",
        "https://api.example.com/v1#fragment",
        "http://api.example.com/v1",
        "http://2130706433/v1",
        "http://127.0.0.1.example.com/v1",
        "http://localhost.example.com/v1",
        "http://10.0.0.8/v1",
        "ftp://api.example.com/",
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "javascript:alert(1)",
        "api.example.com/v1",
        "//api.example.com/v1",
        "https://",
        "https://[::1",
        "https://api.example.com:99999/",
        "",
    ],
)
def test_an_unacceptable_base_url_is_refused_before_anything_is_sent(url: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check_url(url)
    assert KEY not in str(refused.value)
    assert "password@" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "allow_http"),
    [
        ("https://api.openai.com/v1", False),
        ("https://10.0.0.8:8000/v1", False),
        ("http://localhost:11434/v1", False),
        ("http://gpu.localhost/v1", False),
        ("http://127.0.0.1:8000/v1", False),
        ("http://127.8.8.8/v1", False),
        ("http://[::1]:8000/v1", False),
        ("http://vllm.intern:8000/v1", True),
        ("http://10.0.0.8/v1", True),
        ("https://x.openai.azure.com/openai/deployments/d?api-version=2024-10-21", False),
    ],
)
def test_an_acceptable_base_url_is_used_unchanged(url: str, allow_http: bool) -> None:
    assert str(check_url(url, allow_http=allow_http)) == url


@pytest.mark.parametrize("url", [f"http://{METADATA}/v1", "http://[fe80::1]/v1"])
def test_allowing_http_allows_no_metadata(url: str) -> None:
    with pytest.raises(ConfigError, match="link-local or metadata"):
        check_url(url, allow_http=True)


@pytest.mark.parametrize(
    "address",
    [METADATA, "169.254.0.1", f"::ffff:{METADATA}", "fe80::1", "fe80::1%eth0", "fd00:ec2::254"],
)
def test_the_address_that_a_name_resolves_to_is_checked_at_the_connection(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with pytest.raises(RefusedAddress, match="refused"):
        open_guarded_socket((family, socket.SOCK_STREAM, 6, "", (address, 443)))


def test_an_ordinary_address_gets_its_socket() -> None:
    with open_guarded_socket(
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.7", 443))
    ) as guarded:
        assert guarded.family == socket.AF_INET


@pytest.mark.parametrize("address", ["10.1.2.3", "127.0.0.1", "8.8.8.8", "::1", "2001:db8::1"])
def test_private_and_public_addresses_are_not_refused(address: str) -> None:
    assert refusal_of(ipaddress.ip_address(address)) is None


@pytest.mark.parametrize("host", ["2852039166", "0xa9fea9fe", "169.254.43518", "0251.0376.43518"])
def test_odd_spellings_of_an_address_are_not_found(host: str) -> None:
    answer = expect_failure(ask(spec("openai", f"http://{host}/v1", allow_http=True)))
    assert answer.kind == "not_found"


@pytest.mark.parametrize("host", [METADATA, f"[::ffff:{METADATA}]", "[fd00:ec2::254]"])
def test_the_connection_refuses_addresses_that_no_other_check_saw(host: str) -> None:
    async def post() -> object:
        http = Http()
        http.join()
        try:
            return await http.post(Endpoint(URL(f"http://{host}/")), b"{}", {"x-api-key": KEY})
        finally:
            await http.leave()

    answer = asyncio.run(post())
    assert isinstance(answer, AttemptFailed)
    assert answer.kind == "not_found"
    assert "metadata address: refused" in answer.message


def test_a_key_is_not_sent_to_another_host() -> None:
    model = spec("openai", "https://collector.example.com/v1", api_key_env="OPENAI_API_KEY")
    with pytest.raises(ConfigError) as refused:
        make_provider(model, secrets(OPENAI_API_KEY=KEY), Http())
    assert "OPENAI_API_KEY holds a key for openai.com" in str(refused.value)
    assert "collector.example.com" in str(refused.value)
    assert KEY not in str(refused.value)


@pytest.mark.parametrize("variable", [*KEY_DOMAINS])
@pytest.mark.parametrize("host", ["collector.example.com", "{home}.example.com", "not-{home}"])
def test_s15_a_well_known_key_is_sent_to_its_own_domain_only(variable: str, host: str) -> None:
    url = f"https://{host.format(home=KEY_DOMAINS[variable])}/v1"
    with pytest.raises(ConfigError, match=f"holds a key for {KEY_DOMAINS[variable]}") as refused:
        make_provider(spec("openai", url, api_key_env=variable), secrets(**{variable: KEY}), Http())
    assert KEY not in str(refused.value)
    own = "bedrock-runtime.eu-west-1" if KEY_DOMAINS[variable] == AWS else "api"
    model = spec("openai", f"https://{own}.{KEY_DOMAINS[variable]}/v1", api_key_env=variable)
    assert make_provider(model, secrets(**{variable: KEY}), Http()).name == model.name


def test_the_usual_key_is_not_sent_to_a_host_that_a_config_names() -> None:
    model = spec("anthropic", "https://collector.example.com/v1", api_key_env=None)
    provider = make_provider(model, secrets(ANTHROPIC_API_KEY=KEY), Http())
    assert KEY not in repr(vars(provider))


def test_a_model_on_this_machine_needs_no_key() -> None:
    with serving(chat()) as stub:
        ask(spec("openai", stub.url, api_key_env=None), environment={"OTHER": KEY})
    assert "authorization" not in stub.requests[0].headers
