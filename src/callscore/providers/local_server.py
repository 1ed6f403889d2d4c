"""Whether a model server is local: on this machine or in a private network."""

from __future__ import annotations

_PRIVATE_NAMES = (".local", ".internal", ".lan", ".home.arpa", ".localhost")


def is_local_server(base_url: str) -> bool:
    """Whether a base URL is a loopback or private address, or a host without a public domain."""
    # imported here: it loads a URL parser, and most models are remote
    from yarl import URL

    from callscore.providers.addresses import literal_address

    try:
        host = (URL(base_url).host or "").rstrip(".").lower()
    except ValueError:
        return False
    literal = literal_address(host)
    if literal is not None:
        return literal.is_private
    return bool(host) and ("." not in host or host.endswith(_PRIVATE_NAMES))
