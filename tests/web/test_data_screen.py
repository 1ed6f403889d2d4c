"""Data: files are dropped, looked at, mapped and written; nothing in them harms the server."""

from __future__ import annotations

import http.client
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import pytest
from playwright.sync_api import Browser, expect

import commands
from browser import Tab
from command_server import NEVER_S
from web_server import Served, serve

FORM = """section,id,question,options,critical,na allowed
Opening,greet,Was there a greeting?,Yes=5; No=0,,
Opening,verify,"Did the agent verify, who is calling?",Yes=5; No=0,yes,yes
"""
MARKS = "call_id,greet,verfy\nanna,Yes,N/A\nओम्,No,\n"
CALL = "Agent: 안녕하세요, مرحبا.\nCustomer: नमस्ते <script>alert(1)</script>\nAgent: Done.\n"
FILES = {
    "anna.txt": CALL,
    "ओम्.txt": CALL,
    "form.csv": FORM,
    "marks.csv": MARKS,
}


@pytest.fixture(scope="module")
def importing(sample_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("data")
    with serve(sample_store, "--data", folder) as served:
        served.enter()
        served.folder = folder  # type: ignore[attr-defined]
        yield served


class Sent(NamedTuple):
    status: int
    location: str


EDGE = b"edge-of-a-part"


def send(served: Served, to: str, files: Mapping[str, tuple[str, bytes]]) -> Sent:
    """Send files as a browser does: role and content by name."""
    edge, body = EDGE, b""
    for name, (role, content) in files.items():
        head = f'Content-Disposition: form-data; name="{role}"; filename="{name}"\r\n'
        body += b"--" + edge + b"\r\n" + head.encode() + b"\r\n" + content + b"\r\n"
    return send_body(served, to, body + b"--" + edge + b"--\r\n")


def send_body(served: Served, to: str, body: bytes) -> Sent:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=NEVER_S)
    connection.request("POST", to, body, {
        "Cookie": served.cookie, "Origin": served.origin, "Host": served.host,
        "Content-Type": f"multipart/form-data; boundary={EDGE.decode()}",
    })  # fmt: skip
    response = connection.getresponse()
    response.read()
    connection.close()
    return Sent(response.status, response.headers.get("Location", ""))


def test_files_are_dropped_mapped_and_written_as_the_command_writes_them(
    browser: Browser, importing: Served, tmp_path: Path
) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    with Tab(browser, importing) as tab:
        page = tab.open("/data")
        page.set_input_files("input[name=calls]", [tmp_path / "anna.txt", tmp_path / "ओम्.txt"])
        page.set_input_files("input[name=form]", tmp_path / "form.csv")
        page.set_input_files("input[name=marks]", tmp_path / "marks.csv")
        page.get_by_role("button", name="Send and look").click()
        problem = page.locator("#outcome .why")
        expect(problem).to_contain_text("nearest: 'verify'")
        expect(page.locator("#outcome .note")).to_contain_text("--columns is “Columns of marks”")
        page.locator("select[aria-label='What verfy is']").select_option("verify")
        page.get_by_role("button", name="Look again").click()
        expect(page.locator("#outcome")).to_contain_text("2 cases")
        expect(page.get_by_role("row", name="Did the agent verify, who")).to_contain_text(
            "1 not marked"
        )
        expect(page.locator(".said")).to_contain_text("नमस्ते <script>alert(1)</script>")
        page.get_by_role("button", name="Write 2 cases").click()
        expect(page.locator(".downloads")).to_contain_text("callscore run")
        assert tab.noise == []
        number = page.url.rpartition("/")[2]
    command = ["anna.txt", "ओम्.txt", "--form", "form.csv", "--gold", "marks.csv"]
    done = commands.run(
        "import", *command, "--columns", "verfy=verify", "-o", "cases.jsonl", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    folder: Path = importing.folder / number  # type: ignore[attr-defined]
    assert (folder / "cases.jsonl").read_bytes() == (tmp_path / "cases.jsonl").read_bytes()
    ran = commands.run("run", folder / "eval.yaml", "--store", tmp_path / "runs.db")
    assert ran.returncode == 0, ran.stderr


def test_a_path_in_the_name_of_a_file_is_only_a_name(importing: Served) -> None:
    reply = send(importing, "/data", {"../../../evil.txt": ("calls", CALL.encode())})
    assert reply.status == 303
    number = reply.location.rpartition("/")[2]
    folder: Path = importing.folder / number  # type: ignore[attr-defined]
    assert [path.name for path in (folder / "files").iterdir()] == ["evil.txt"]


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"a.xlsx": ("calls", b"PK\x03\x04 not an archive")}, "not"),
        ({"a.bin": ("calls", bytes(1000))}, "no call was imported"),
        ({"a.csv": ("calls", (",".join(f"c{n}" for n in range(10_000)) + "\n1,2\n").encode())},
         "no call was imported: a.csv"),
        ({"a.txt": ("calls", CALL.encode()), "m.csv": ("marks", MARKS.encode())}, "form"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_read_are_one_sentence_and_the_server_lives(
    importing: Served, files: Mapping[str, tuple[str, bytes]], sentence: str
) -> None:
    to = send(importing, "/data", files).location
    page = importing.ask(to)
    assert page.status == 200
    problem = page.text.partition('class="why"')[2].partition("</p>")[0]
    assert sentence in problem
    assert len(problem) < 3000
    assert importing.ask("/data").status == 200


def test_a_request_without_files_or_for_an_unknown_set_is_refused(importing: Served) -> None:
    assert send(importing, "/data", {}).status == 400
    assert send_body(importing, "/data", b"no parts").status == 400
    assert importing.ask("/data/999").status == 404
    assert importing.ask("/data/999/write", "POST").status == 404


def test_files_that_break_off_leave_no_data_set(importing: Served) -> None:
    before = importing.ask("/data").text
    head = b'--%s\r\nContent-Disposition: form-data; name="calls"; filename="%s.txt"\r\n\r\n'
    whole, half = (head % (EDGE, name) + CALL.encode() for name in (b"whole", b"half"))
    assert send_body(importing, "/data", whole + b"\r\n" + half[:-5]).status == 400
    assert importing.ask("/data").text == before


def test_without_a_folder_the_page_says_how_to_get_one(served: Served) -> None:
    assert "--data DIR" in served.ask("/data").text
    assert send(served, "/data", {"a.txt": ("calls", b"Agent: Hi")}).status == 404


def test_a_wrong_file_is_removed_and_another_one_added(importing: Served) -> None:
    to = send(importing, "/data", {
        "a.txt": ("form", CALL.encode()), "form.csv": ("calls", FORM.encode()),
    }).location  # fmt: skip
    assert "is not a QA form" in importing.ask(to).text
    for name in ("a.txt", "form.csv"):
        removed = importing.ask(f"{to}/remove", "POST", form={"file": name})
        assert (removed.status, removed.headers["Location"]) == (303, to)
    assert importing.ask(f"{to}/remove", "POST", form={"file": "a.txt"}).status == 400
    assert "there are no calls yet" in importing.ask(to).text
    files = {"a.txt": ("calls", CALL.encode()), "form.csv": ("form", FORM.encode())}
    send(importing, f"{to}/files", files)
    page = importing.ask(to).text
    assert "Write 1 call" in page
    assert 'aria-label="Remove a.txt"' in page


def test_an_archive_of_calls_is_said_to_be_one_and_stays_in_the_list(importing: Served) -> None:
    packed = io.BytesIO()
    with ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", CALL)
    to = send(importing, "/data", {"calls.zip": ("calls", packed.getvalue())}).location
    page = importing.ask(to).text
    assert "calls.zip: is a ZIP archive; unpack it" in page
    assert "not read</span></td>" in page
