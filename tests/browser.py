"""Chromium driven by Playwright. It is installed if possible; otherwise tests are skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from command_server import NEVER_S

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
