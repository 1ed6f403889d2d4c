"""Who may ask the server, and what every answer says        WEB: loopback, one Host, one Origin"""

from __future__ import annotations

import re
import select
import socket
import struct
from pathlib import Path

import pytest

from callscore.web.screen import WebSession
from callscore.web.screens import all_routes
from callscore.web.security import POLICY, START_S, Guard
from web_server import Served, serve

PATHS = sorted({route.path.replace("{run}", "1") for route in all_routes()})
EVERYWHERE = [*PATHS, "/static/app.js", "/no/such/page"]


def test_the_printed_address_opens_once(sample_store: Path) -> None:
    with serve(sample_store) as server:
        first = server.enter()
        assert (first.status, first.headers["Location"]) == (303, "/")
        cookie = first.headers["Set-Cookie"]
        assert cookie.startswith(f"callscore-{server.port}=")
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        path = server.address.removeprefix(server.origin)
        assert server.ask(path, session=False).status == 401
        assert server.ask("/").status == 200


def test_a_start_token_ends_after_ten_minutes() -> None:
    now = [0.0]
    guard = Guard(["http://127.0.0.1:1"], "callscore-1", clock=lambda: now[0])
    early, late = (guard.issue_start_token(WebSession("ana")) for _ in range(2))
    now[0] = START_S - 1
    opened = guard.redeem(early)
    assert opened is not None
    assert guard.session(opened) == WebSession("ana")
    now[0] = START_S + 1
    assert guard.redeem(late) is None
    assert guard.session(early) is None


@pytest.mark.parametrize("path", EVERYWHERE)
def test_every_path_needs_one_known_host_and_a_session(served: Served, path: str) -> None:
    foreign = ("evil.example", f"evil.example:{served.port}", "127.0.0.1", "127.0.0.1:1", "")
    for host in foreign:
        assert served.ask(path, hosts=(host,)).status == 403
    for hosts in ((), (served.host, served.host), (served.host, "evil.example")):
        assert served.ask(path, hosts=hosts).status in (400, 403)
    if not path.startswith("/static/"):
        assert served.ask(path, session=False).status == 401
        cookie = {"Cookie": f"callscore-{served.port}=guess"}
        assert served.ask(path, headers=cookie, session=False).status == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "none"},
    ],
)
def test_a_write_needs_the_origin_of_the_server(served: Served, headers: dict[str, str]) -> None:
    for path in ("/", "/logout", "/login", "/no/such/page"):
        assert served.ask(path, "POST", headers).status == 403
    assert served.ask("/").status == 200


def test_every_answer_has_the_policy_and_none_names_the_server(served: Served) -> None:
    for path in EVERYWHERE:
        for reply in (served.ask(path), served.ask(path, session=False)):
            assert reply.headers["Content-Security-Policy"] == POLICY
            assert reply.headers["X-Content-Type-Options"] == "nosniff"
            assert reply.headers["Referrer-Policy"] == "same-origin"
            assert reply.headers["Cross-Origin-Opener-Policy"] == "same-origin"
            assert reply.headers["Cross-Origin-Resource-Policy"] == "same-origin"
            assert "Server" not in reply.headers


def test_only_named_static_files_are_served(served: Served) -> None:
    for name in ("..%2fpage.py", "htmx.LICENSE", "app.js/", "%2e%2e", "__init__.py"):
        assert served.ask(f"/static/{name}").status == 404


def test_without_session_a_page_has_a_link_to_itself(served: Served) -> None:
    assert 'href="/runs/1?q=%3Cb%3E"' in served.ask("/runs/1?q=%3Cb%3E", session=False).text
    for path in ("//evil.example/", "/\\evil.example"):
        assert "evil" not in served.ask(path, session=False).text


def test_a_store_that_does_not_exist_ends_the_command(tmp_path: Path) -> None:
    import commands

    done = commands.run("serve", tmp_path / "none.db", "--no-open")
    assert done.returncode == 2
    assert "no such store" in done.stderr
    assert "callscore demo --serve" in done.stderr


def test_a_folder_for_files_is_made_unless_that_is_impossible(
    sample_store: Path, tmp_path: Path
) -> None:
    import commands

    (tmp_path / "file").touch()
    for wrong in ("file", "none/data"):
        done = commands.run("serve", sample_store, "--data", tmp_path / wrong, "--no-open")
        assert done.returncode == 2
        assert "expected a folder, or the name of a new one" in done.stderr
    with serve(sample_store, "--data", tmp_path / "new") as served:
        served.enter()
        assert "Drop files" in served.ask("/data").text


def is_quiet(served: Served) -> bool:
    """Whether the server has written no line of errors."""
    assert served.process.stderr is not None
    return not select.select([served.process.stderr], [], [], 0)[0]


def test_requests_that_are_not_http_leave_no_line_and_no_stuck_server(served: Served) -> None:
    for _ in range(100):
        assert served.ask("/", hosts=()).status == 400
    assert is_quiet(served)


FORM = "Content-Type: application/x-www-form-urlencoded"
PARTS = "Content-Type: multipart/form-data"
BROKEN = {
    "half a form": (f"{FORM}\r\nContent-Length: 99", b"token="),
    "half a file": (f"{PARTS}; boundary=x\r\nContent-Length: 99", b"--x\r\nContent-Disp"),
    "no edge": (f"{PARTS}; boundary=x\r\nContent-Length: 9", b"nonsense!"),
    "no name of the edge": (f"{PARTS}\r\nContent-Length: 9", b"nonsense!"),
    "no gzip": (f"{FORM}\r\nContent-Encoding: gzip\r\nContent-Length: 9", b"nonsense!"),
    "no such encoding": (f"{FORM}; charset=nope\r\nContent-Length: 7", b"token=a"),
    "not UTF-8": (f"{FORM}\r\nContent-Length: 8", b"token=\xff\xfe"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_body_without_session_leaves_no_line_and_no_stuck_server(
    served: Served, name: str
) -> None:
    headers, body = BROKEN[name]
    head = (
        f"POST /login HTTP/1.1\r\nHost: {served.host}\r\nOrigin: {served.origin}\r\n"
        f"{headers}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", served.port)) as sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # reset
        sender.sendall(head.encode() + body)
        if "half" not in name:
            assert re.match(rb"HTTP/1.1 4\d\d ", sender.recv(100))
    assert served.ask("/").status == 200
    assert is_quiet(served)
