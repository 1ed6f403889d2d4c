"""What a screen is made of: routes, a visit, the pages and files it returns, errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import msgspec

from callscore.core.errors import UsageError
from callscore.report.markup import IN_APP, Attribute, Child, Html, tag
from callscore.results.port import Results, RunLine
from callscore.results.review_queues import QueueLeases
from callscore.store.address import StoreAddress
from callscore.web.query import NoQuery, encode_query

if TYPE_CHECKING:
    from aiohttp import web

Role = Literal["read", "label", "review", "admin"]
ROLES: Sequence[Role] = ("read", "label", "review", "admin")
"""Each one includes those before it."""
Method = Literal["GET", "POST"]
Format = Literal["csv", "xlsx"]
"""Of a table as a file: the parameter `format` of its page."""
Query = TypeVar("Query", bound=msgspec.Struct)


class NotFound(UsageError):
    """There is no such run, case or page."""


class Conflict(UsageError):
    """Someone else has written since the page was read; the message has both texts."""


class Forbidden(UsageError):
    """The role of the session does not include this."""


class WebSession(msgspec.Struct, frozen=True):
    """Who looks: the author of what is written, and what they may do."""

    author: str
    role: Role = "admin"

    def may(self, role: Role) -> bool:
        """Whether the role of the session includes another."""
        return ROLES.index(self.role) >= ROLES.index(role)


class Site(msgspec.Struct, frozen=True):
    """What all screens share: the results of a store, and where things are."""

    results: Results
    store: StoreAddress
    routes: Sequence[Route]
    data: Path | None = None
    """The folder for uploads and labels; None if there is none."""
    read_only: bool = False
    """Whether nothing may be written to the store."""
    is_sample: bool = False
    """Whether the store has the sample only."""
    command: str = "callscore"
    """The command that people type to start runs of this store."""
    leases: QueueLeases = msgspec.field(default_factory=QueueLeases)

    def has(self, path: str) -> bool:
        """Whether a screen serves a path, as written in its route."""
        return any(route.path == path for route in self.routes)


class Visit(msgspec.Struct, frozen=True):
    """One request to a screen."""

    site: Site
    session: WebSession
    path: str
    numbers: Mapping[str, int]
    """The placeholders of the route."""
    query: msgspec.Struct
    """An instance of the route's `query`."""
    form: Mapping[str, str] = {}
    """The fields of a POST; of fields given twice, the last one."""
    target: str = ""
    """The id of the element that htmx replaces; empty for a whole page."""
    format: Format | None = None
    """Of the file, if the table of the page is asked for."""
    request: web.Request | None = None
    """For handlers that are coroutines: they read the body themselves."""

    @property
    def results(self) -> Results:
        """The results of the store."""
        return self.site.results

    @property
    def run(self) -> int:
        """The id of the run in the path."""
        return self.numbers["run"]

    def query_as(self, kind: type[Query]) -> Query:
        """Return the query as the type that the route declares."""
        assert isinstance(self.query, kind)
        return self.query

    def run_line(self) -> RunLine:
        """The run in the path; raises NotFound."""
        try:
            return self.results.run(self.run)
        except UsageError as error:
            raise NotFound(str(error)) from None

    def url(self, **changes: Any) -> str:
        """The address of this page with other values of its query."""
        return self.path + encode_query(msgspec.structs.replace(self.query, **changes))


class Page(NamedTuple):
    """A page of the app, or the parts of it that htmx replaces."""

    title: str
    main: Html
    run: RunLine | None = None
    """The run that it is about: its tabs are shown."""
    tab: str = ""
    """The word of the path that its tab has; `/runs/3/matrix` has `matrix`."""
    fragments: Mapping[str, Html] = {}
    """By id, the elements that htmx may ask for; each is in `main`, too."""
    push_url: str = ""
    """The address that the browser shows after a fragment has been replaced."""
    status: int = 200
    searches: bool = False
    """Whether it has its own search; other pages of a run find a call by its id."""


class Redirect(NamedTuple):
    """Another page, after a form has been handled."""

    to: str


class Download(NamedTuple):
    """A file; its name is chosen by the server."""

    name: str
    media_type: str
    chunks: Iterable[bytes]


class PageTable(NamedTuple):
    """The table of a page, with all rows of its filter."""

    name: str
    """Of the file, without its suffix."""
    columns: Sequence[str]
    batches: Iterable[Sequence[Sequence[object]]]


Answer = Page | Redirect | Download
Handler = Callable[[Visit], Answer] | Callable[[Visit], Awaitable[Answer]]


class Route(NamedTuple):
    """One path of a screen. `{name}` in it is a whole number from 1."""

    method: Method
    path: str
    handler: Handler
    role: Role = "read"
    query: type[msgspec.Struct] = NoQuery
    version: Callable[[Visit], str] | None = None
    """Cheap; the browser has the page already while it returns the same text."""
    writes: Literal["store", "data", "log"] = "store"
    """What a POST writes to: the store, the folder given as `--data`, or only an event `export`, as
    it returns a file of calls or of work of people."""
    table: Callable[[Visit], PageTable] | None = None
    """The table of the page as a file, for `format=csv` and `format=xlsx`."""


def link(label: Child, to: str, **attributes: Attribute) -> Html:
    """Return a link to a page of the app."""
    return tag("a", label, links=IN_APP, href=to, **attributes)


def element(name: str, /, *children: Child, **attributes: Attribute) -> Html:
    """Return an element that may have links and forms to pages of the app."""
    return tag(name, *children, links=IN_APP, **attributes)
