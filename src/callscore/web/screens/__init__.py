"""The screens, one module each. To add one, write `web/screens/NAME.py` with `ROUTES`; it is found
by its place. The smallest example is `home.py`.

    class Choice(msgspec.Struct, frozen=True):            # ?show=open&model=a
        show: Literal["open", "all"] = "open"
        model: str = ""

    def show_items(visit: Visit) -> Answer:               # a thread runs it: it may read SQL
        run = visit.run_line()                            # of {run}; NotFound if there is none
        choice = visit.query_as(Choice)                   # parsed; unknown names or values: 400
        items = visit.results.verdict_items(run.id, ...)  # of the port `Results`
        rows = tag("div", ..., id="items")                # escaped; links: `element` and `link`
        return Page("Items", join(..., rows), run=run, tab="review", fragments={"items": rows})

    ROUTES = (Route("GET", "/runs/{run}/items", show_items, "review", query=Choice),)

`visit.site` has the store's address, `--data` and whether it is read-only; `visit.session.author`
and `.role` say who writes; `visit.form` has the fields of a POST, which returns `Redirect(to)` or a
Page. Raise NotFound, Conflict or QueryError for 404, 409 and 400. A fragment is sent alone if an
element with `hx-get` has its id as `hx-target`. `version=` of a route gives an ETag, for polling. A
handler that is a coroutine reads `visit.request` itself, for uploads. Tabs: `RUN_TABS` of
`web/page.py`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence

from callscore.web.screen import Route


def all_routes() -> Sequence[Route]:
    """Return the routes of every screen."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return [route for module in modules for route in module.ROUTES]
