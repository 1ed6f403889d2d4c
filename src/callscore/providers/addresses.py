"""Which addresses requests may go to: checked in the config, and again when connecting."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

from yarl import URL

from callscore.core.errors import ConfigError

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_METADATA = frozenset(
    ipaddress.ip_address(address)
    for address in ("fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16")
)
"""Instance metadata outside the link-local range: AWS on IPv6, Alibaba, Oracle, Azure."""
_METADATA_NAMES = frozenset(("metadata", "metadata.google.internal", "instance-data"))
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_SECRET_QUERY = frozenset(
    ("key", "api_key", "api-key", "apikey", "token", "access_token", "sig", "signature", "password")
)


class RefusedAddress(PermissionError):
    """A connection to an address that is never allowed."""


def refusal_of(address: IpAddress) -> str | None:
    """Why requests to this address are refused; None if they are allowed."""
    plain = _unwrap(address)
    if plain.is_link_local or plain in _METADATA:
        return f"{address} is a link-local or metadata address"
    if plain.is_multicast or plain.is_unspecified:
        return f"{address} is no address of a host"
    return None


def _unwrap(address: IpAddress) -> IpAddress:
    """The IPv4 address inside an IPv6 one (mapped, 6to4, NAT64), or the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def open_guarded_socket(info: tuple[Any, ...]) -> socket.socket:
    """A socket for one resolved address; the last check before the connection is made."""
    family, kind, protocol, _, where = info
    refusal = refusal_of(ipaddress.ip_address(str(where[0]).partition("%")[0]))
    if refusal:
        raise RefusedAddress(f"{refusal}: refused")
    return socket.socket(family, kind, protocol)


def check_url(text: str, *, allow_http: bool = False) -> URL:
    """The validated base URL; raises ConfigError."""
    try:
        url = URL(text)
        host, port = url.host, url.port
    except ValueError:
        raise ConfigError("base_url: not a URL; expected https://host/path") from None
    if url.scheme not in ("http", "https") or not host:
        raise ConfigError(f"base_url: {_shown(url)}: expected https://host/path")
    if url.user is not None or url.password is not None:
        raise ConfigError("base_url: holds a user name or password; use api_key_env instead")
    if url.fragment or port is None:
        raise ConfigError(f"base_url: {_shown(url)}: a fragment or no port; expected https://host")
    secret = next((name for name in url.query if name.lower() in _SECRET_QUERY), None)
    if secret:
        raise ConfigError(f"base_url: the query holds {secret!r}; use api_key_env instead")
    _check_host(url, host, allow_http=allow_http)
    return url


def _check_host(url: URL, host: str, *, allow_http: bool) -> None:
    literal = literal_address(host)
    refusal = refusal_of(literal) if literal else None
    if refusal or host.rstrip(".").lower() in _METADATA_NAMES:
        raise ConfigError(f"base_url: {refusal or host + ' serves instance metadata'}: refused")
    if url.scheme == "http" and not allow_http and not is_loopback(url):
        raise ConfigError(
            f"base_url: {_shown(url)} would send the key unencrypted; "
            "use https, or set allow_http: true for this model"
        )


def is_loopback(url: URL) -> bool:
    """Whether a URL refers to this machine: localhost, 127.0.0.0/8 or ::1."""
    host = (url.host or "").rstrip(".").lower()
    literal = literal_address(host)
    if literal is not None:
        return _unwrap(literal).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def literal_address(host: str) -> IpAddress | None:
    """The address if the host is one; None if it is a name."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def _shown(url: URL) -> str:
    return str(url.with_user(None).with_query(None)) if url.host else repr(url.scheme)


_PRIVATE_NAMES = (".local", ".internal", ".lan", ".home.arpa", ".localhost")


def is_local_server(base_url: str) -> bool:
    """Whether a base URL is a loopback or private address, or a host without a public domain."""
    # imported here: it loads a URL parser, and most models are remote
    from yarl import URL

    try:
        host = (URL(base_url).host or "").rstrip(".").lower()
    except ValueError:
        return False
    literal = literal_address(host)
    if literal is not None:
        return literal.is_private
    return bool(host) and ("." not in host or host.endswith(_PRIVATE_NAMES))
