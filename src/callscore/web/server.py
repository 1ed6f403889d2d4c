"""The server: routes of all screens behind the guard, in aiohttp.

A handler that is a plain function runs in a thread, as it reads SQL and may score a case. One that
is a coroutine reads the body of its request itself.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from typing import Literal, cast
from urllib.parse import parse_qsl

from aiohttp import web

from callscore.core.errors import (
    CallscoreError,
    MissingExtra,
    StoreError,
    UsageError,
)
from callscore.report.markup import Html, join, tag
from callscore.report.safe_text import plain
from callscore.results.access_log import log_access
from callscore.results.port import QueryError
from callscore.uploads.data_folder import TooLarge
from callscore.web.page import error_page, render_page, static_files, version_line
from callscore.web.query import encode_query, parse_query
from callscore.web.screen import (
    Answer,
    Conflict,
    Download,
    Forbidden,
    Format,
    NotFound,
    Page,
    PageTable,
    Redirect,
    Route,
    Site,
    Visit,
    WebSession,
    element,
    link,
)
from callscore.web.security import HEADERS, SAFE_METHODS, SESSION_S, Guard
from callscore.web.tables import FORMATS, as_file

MAX_FORM_BYTES = 1 << 20
NUMBER = "[1-9][0-9]{0,8}"
START, LOGIN, LOGOUT = "/start", "/login", "/logout"
STATUSES: Mapping[type[CallscoreError], int] = {
    QueryError: 400,
    NotFound: 404,
    Conflict: 409,
    Forbidden: 403,
    StoreError: 503,
    TooLarge: 413,
    UsageError: 400,
    MissingExtra: 501,
}
"""By error, the first that fits."""
AiohttpHandler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def build_app(site: Site, guard: Guard) -> web.Application:
    """Return the application with every screen."""
    door = _Door(site, guard)
    app = web.Application(middlewares=[door.admit], client_max_size=MAX_FORM_BYTES)
    app.on_response_prepare.append(_set_headers)
    app.router.add_get("/static/{name}", _static)
    app.router.add_get(START, door.start)
    app.router.add_post(LOGIN, door.log_in)
    app.router.add_post(LOGOUT, door.log_out)
    for route in site.routes:
        path = re.sub(r"\{(\w+)\}", rf"{{\1:{NUMBER}}}", route.path)
        app.router.add_route(route.method, path, door.serve(route))
        if route.method == "GET":
            app.router.add_route("HEAD", path, door.serve(route))
    return app


async def _set_headers(_: web.Request, response: web.StreamResponse) -> None:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers.popall("Server", None)


async def _static(request: web.Request) -> web.StreamResponse:
    found = static_files().get(request.match_info["name"])
    if found is None:
        raise web.HTTPNotFound
    kind, content, etag = found
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if request.headers.get("If-None-Match") == etag:
        return web.Response(status=304, headers=headers)
    return web.Response(body=content, content_type=kind, charset="utf-8", headers=headers)


class _Door:
    """Admits requests, and turns what handlers return into responses."""

    def __init__(self, site: Site, guard: Guard) -> None:
        self._site = site
        self._guard = guard

    @web.middleware
    async def admit(self, request: web.Request, handler: AiohttpHandler) -> web.StreamResponse:
        """Refuse, or handle; every error becomes a page."""
        refusal = self._guard.refuse(
            request.method,
            request.headers.getall("Host", []),
            request.headers.get("Origin"),
            request.headers.get("Sec-Fetch-Site"),
        )
        if refusal is not None:
            return self._page(error_page(*refusal), None)
        session = self._session(request)
        is_entrance = request.path in (START, LOGIN) or request.path.startswith("/static/")
        if session is None and not is_entrance:
            return self._page(self._no_session(request), None)
        try:
            return await handler(request)
        except web.HTTPException as error:
            return self._page(_http_error_page(error), session)
        except CallscoreError as error:
            status = next((code for kind, code in STATUSES.items() if isinstance(error, kind)), 500)
            remedy = link("The page without parameters", request.path)
            is_of_query = status == 400 and request.method == "GET" and request.query_string
            page = error_page(status, str(error), remedy if is_of_query else None)
            return self._page(page, session, _target(request))
        except (ConnectionError, web.RequestPayloadError):
            return self._page(error_page(400, "The request ended early."), session)
        except Exception:
            logging.getLogger(__name__).exception("%s %s", request.method, request.path)
            return self._page(_failed_page(request), session)

    def _session(self, request: web.Request) -> WebSession | None:
        return self._guard.session(request.cookies.get(self._guard.cookie))

    def serve(self, route: Route) -> AiohttpHandler:
        """Return the handler of a route."""
        is_coroutine = inspect.iscoroutinefunction(route.handler)

        async def handle(request: web.Request) -> web.StreamResponse:
            session = cast(WebSession, self._session(request))
            if not session.may(route.role):
                raise Forbidden(
                    f"Your role is {session.role}; this needs the role {route.role}. "
                    "Roles are in the file given as --reviewers."
                )
            if route.method == "POST" and route.writes == "store" and self._site.read_only:
                raise Forbidden("The store is read-only: this user may not write to its file.")
            visit = await self._visit(request, route, session, is_coroutine)
            if visit.format is not None and route.table is not None:
                return await self._send_table(request, visit, route.table)
            if request.method in SAFE_METHODS and not visit.target:
                query = encode_query(visit.query)
                if parse_qsl(query.removeprefix("?")) != list(request.query.items()):
                    return _redirect(visit.path + query)  # a form sends its empty fields, too
            etag = "" if route.version is None else await self._etag(route, visit)
            if etag and request.headers.get("If-None-Match") == etag:
                return web.Response(status=304, headers={"ETag": etag})
            if is_coroutine:
                answer = await cast(Awaitable[Answer], route.handler(visit))
            else:
                answer = cast(Answer, await asyncio.to_thread(route.handler, visit))
            if route.writes == "log":
                await self._log("export", visit.url(), visit.session)
            return await self._respond(request, visit, answer, etag)

        return handle

    async def _send_table(
        self, request: web.Request, visit: Visit, table: Callable[[Visit], PageTable]
    ) -> web.StreamResponse:
        assert visit.format is not None
        file = await asyncio.to_thread(lambda: as_file(table(visit), visit.format or "csv"))
        return await _send_file(request, file)

    async def _visit(
        self, request: web.Request, route: Route, session: WebSession, reads_body: bool
    ) -> Visit:
        form: dict[str, str] = {}
        if request.method == "POST" and not reads_body:
            fields = await _read_form(request)
            form = {name: value for name, value in fields.items() if isinstance(value, str)}
        pairs = list(request.query.items())
        format = None if route.table is None else _take_format(pairs)
        return Visit(
            site=self._site,
            session=session,
            path=request.path,
            numbers={name: int(value) for name, value in request.match_info.items()},
            query=parse_query(route.query, pairs),
            form=form,
            format=format,
            target=_target(request),
            request=request if reads_body else None,
        )

    async def _etag(self, route: Route, visit: Visit) -> str:
        assert route.version is not None
        version = await asyncio.to_thread(route.version, visit)
        parts = (version, version_line(), visit.url(), visit.target, visit.session.author)
        return f'"{sha256(repr(parts).encode()).hexdigest()[:32]}"'

    async def _respond(
        self, request: web.Request, visit: Visit, answer: Answer, etag: str
    ) -> web.StreamResponse:
        if isinstance(answer, Redirect):
            return _redirect(answer.to)
        if isinstance(answer, Download):
            return await _send_file(request, answer)
        response = self._page(answer, visit.session, visit.target)
        if etag:
            response.headers["ETag"] = etag
        if answer.push_url and visit.target:
            response.headers["HX-Push-Url"] = answer.push_url
        return response

    def _page(self, page: Page, session: WebSession | None, target: str = "") -> web.Response:
        fragment = page.fragments.get(target)
        if target and page.status >= 400:  # the controls around it stay, to be changed
            fragment = tag("div", page.main, id=target)
        text = fragment if fragment is not None else render_page(page, self._site, session)
        return web.Response(text=text, status=page.status, content_type="text/html")

    async def start(self, request: web.Request) -> web.StreamResponse:
        """Turn the token of the printed address into a session."""
        session_id = self._guard.redeem(request.query.get("token", ""))
        if session_id is None:
            if self._session(request) is not None:
                return _redirect("/")
            return self._page(self._no_session(request), None)
        return self._with_cookie(_redirect("/"), session_id)

    async def log_in(self, request: web.Request) -> web.StreamResponse:
        """Turn the token of a reviewer into a session."""
        fields = await _read_form(request)
        session_id = self._guard.log_in(str(fields.get("token", "")))
        session = self._guard.session(session_id)
        if session_id is None or session is None:
            return self._page(self._no_session(request, "This token is not known."), None)
        await self._log("login", session.role, session)
        return self._with_cookie(_redirect("/"), session_id)

    async def log_out(self, request: web.Request) -> web.StreamResponse:
        """End the session."""
        self._guard.log_out(request.cookies.get(self._guard.cookie, ""))
        response = _redirect("/")
        response.del_cookie(self._guard.cookie)
        return response

    async def _log(self, kind: Literal["login", "export"], what: str, who: WebSession) -> None:
        """Keep who saw or took what; first, so that nothing leaves without its line."""
        if not self._site.read_only:
            await asyncio.to_thread(log_access, self._site.store, kind, what, who.author)

    def _with_cookie(self, response: web.Response, session_id: str) -> web.Response:
        response.set_cookie(
            self._guard.cookie,
            session_id,
            max_age=SESSION_S,
            httponly=True,
            samesite="Strict",
            secure=self._guard.is_secure,
        )
        return response

    def _no_session(self, request: web.Request, why: str = "") -> Page:
        """Return the page without session.

        It has a link to itself: a browser does not send the cookie with a link from a mail, but
        it does with a link of this page.
        """
        here = request.path_qs if request.method in SAFE_METHODS and not why else "/"
        if request.path in (START, LOGIN) or here.startswith("//") or "\\" in here:
            here = "/"
        retry = link("open this page again", here)
        if not self._guard.reviewers:
            hint = "Open the address that callscore serve has printed; it can be opened once. "
            return error_page(401, hint, join("If you followed a link: ", retry, "."))
        return error_page(401, why or "Log in with your token.", join(_login_form(), retry))


def _take_format(pairs: list[tuple[str, str]]) -> Format | None:
    """Take the format of a table out of a query; None for the page."""
    given = [pair for pair in pairs if pair[0] == "format" and pair[1]]
    pairs[:] = [pair for pair in pairs if pair[0] != "format"]
    if not given:
        return None
    found = next((one for one in FORMATS if one == given[-1][1]), None)
    if found is None:
        expected = ", ".join(FORMATS)
        raise QueryError(f"format={plain(given[-1][1], 60)!r}: expected one of {expected}")
    return found


def _target(request: web.Request) -> str:
    """Return the id of the element that htmx replaces; empty for a whole page."""
    if request.headers.get("HX-Request-Type") != "partial":
        return ""
    return request.headers.get("HX-Target", "").partition("#")[2]


async def _read_form(request: web.Request) -> Mapping[str, object]:
    """Return the fields of a form; a body that is none is an error of its sender, not a fault."""
    try:
        return await request.post()
    except (ValueError, LookupError):  # edges of parts, text encoding
        raise web.HTTPBadRequest(reason="The body of this request is not a form.") from None


def _login_form() -> Html:
    return element(
        "form",
        tag("label", "Token ", tag("input", type="password", name="token", autocomplete="off")),
        " ",
        tag("button", "Log in"),
        method="post",
        action=LOGIN,
    )


def _http_error_page(error: web.HTTPException) -> Page:
    if error.status == 404:
        return error_page(404, "Nothing is here.", link("All runs", "/"))
    if error.status == 405:
        return error_page(405, "This address does not take such a request.", link("All runs", "/"))
    return error_page(error.status, error.reason or "")


def _failed_page(request: web.Request) -> Page:
    """Return the page of a fault in Callscore; the text of the fault stays in the terminal."""
    again = link("Try again", request.path) if request.method in SAFE_METHODS else None
    why = "This is a fault of Callscore. The terminal of the server says more."
    return error_page(500, why, join(again, " · " if again else None, link("All runs", "/")))


def _redirect(to: str) -> web.Response:
    return web.Response(status=303, headers={"Location": to})


async def _send_file(request: web.Request, file: Download) -> web.StreamResponse:
    response = web.StreamResponse(
        headers={
            "Content-Type": file.media_type,
            "Content-Disposition": f'attachment; filename="{file.name}"',
        }
    )
    await response.prepare(request)
    chunks = iter(file.chunks)
    while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
        await response.write(chunk)
    await response.write_eof()
    return response
