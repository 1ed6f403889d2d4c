"""Who logged in, and who took what out of the store: events of the same log as verdicts."""

from __future__ import annotations

from typing import Literal

import msgspec

from callscore.store.address import StoreAddress, open_store


class AccessNote(msgspec.Struct, frozen=True):
    """The body of an event `login` or `export`."""

    what: str
    """The role of the session, or the address of the file."""


def log_access(
    store: StoreAddress, kind: Literal["login", "export"], what: str, author: str
) -> None:
    """Append an event; no score depends on events of these kinds."""
    with open_store(store) as opened, opened.events() as events:
        events.append(kind, b"", AccessNote(what), author)
