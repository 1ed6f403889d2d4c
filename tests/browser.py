"""Chromium driven by Playwright. It is installed if possible; otherwise tests are skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from command_server import NEVER_S
from web_server import Served

MOST_STOPS = 200
"""Elements that the Tab key passes before a link is sought in vain."""
NAMES = ("chromium", "chromium-browser", "google-chrome")


@cache
def chromium() -> str | None:
    """Return the path of the browser; install it if it is missing and this is root on Debian."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "install", "-qy", "chromium"], check=False, capture_output=True)
        found = shutil.which("chromium")
    return found


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start a browser; skip the test if there is none."""
    path = chromium()
    if path is None:
        pytest.skip("no Chromium is installed, and it cannot be installed here")
    expect.set_options(timeout=NEVER_S * 1000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Tab:
    """A tab with the session of a server; it remembers messages and requests to elsewhere."""

    def __init__(self, browser: Browser, served: Served, **options: object) -> None:
        self.served = served
        self.context = browser.new_context(**options)  # type: ignore[arg-type]
        self.context.set_default_timeout(NEVER_S * 1000)
        name, _, value = served.cookie.partition("=")
        self.context.add_cookies([{"name": name, "value": value, "url": served.origin}])
        self.page: Page = self.context.new_page()
        self.noise: list[str] = []
        self.page.on("console", lambda message: self.noise.append(message.text))
        self.page.on("pageerror", lambda error: self.noise.append(str(error)))
        self.page.on("dialog", lambda dialog: self.noise.append(dialog.message))
        self.page.on("request", self._note)

    def _note(self, request: object) -> None:
        url = str(getattr(request, "url", ""))
        if not url.startswith(self.served.origin):
            self.noise.append(url)

    def open(self, path: str) -> Page:
        """Go to a page of the server."""
        self.page.goto(self.served.origin + path)
        return self.page

    def __enter__(self) -> Tab:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()


def focus(page: Page, wanted: Locator) -> None:
    """Go to an element with the Tab key, as who has no mouse."""
    expect(wanted).to_be_visible()
    for _ in range(MOST_STOPS):
        if wanted.evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError("the Tab key does not reach the element")


def reach(page: Page, link: Locator) -> None:
    """Go to a link with the Tab key, and open it."""
    focus(page, link)
    page.keyboard.press("Enter")


def serious_findings(page: Page, *rules: str) -> list[tuple[str, str]]:
    """What axe finds on a page with every `details` open: rule and markup; all rules by default."""
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    options = {"runOnly": list(rules)} if rules else {"resultTypes": ["violations"]}
    return [
        (one["id"], one["nodes"][0]["html"][:200])
        for one in Axe().run(page, options=options).response["violations"]
        if one["impact"] in ("serious", "critical")
    ]
