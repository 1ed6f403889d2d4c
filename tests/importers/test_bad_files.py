"""Files that are small or endless and would take all memory are refused; the others are read."""

from __future__ import annotations

import io
import os
import socket
import zipfile
from pathlib import Path

import pytest

from callscore.importers.conversation import MAX_TURNS
from callscore.importers.labelled_text import MAX_LINES
from commands import run

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
GOOD = "Agent: Good morning.\nCustomer: My bill is wrong.\nAgent: I will look.\n"


def workbook(last_column: str, last_row: int) -> bytes:
    """A spreadsheet with two headings and one cell far away."""
    cells = "".join(
        f'<c r="{at}" t="inlineStr"><is><t>{text}</t></is></c>'
        for at, text in (("A1", "call_id"), ("B1", "text"))
    )
    far = f'<row r="{last_row}"><c r="{last_column}{last_row}"><v>1</v></c></row>'
    relations = f'<Relationships xmlns="{PACKAGE}/relationships">'
    files = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="xml" '
        'ContentType="application/xml"/></Types>',
        "_rels/.rels": f'{relations}<Relationship Id="r" Type="{OFFICE}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
        '<sheet name="S" sheetId="1" r:id="r"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'{relations}<Relationship Id="r" Type="{OFFICE}/worksheet" '
        'Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{MAIN}"><sheetData><row r="1">{cells}'
        f"</row>{far}</sheetData></worksheet>",
    }
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, f'<?xml version="1.0"?>{text}')
    return raw.getvalue()


@pytest.mark.parametrize(
    ("column", "row", "said"),
    [("XFD", 1_048_576, "has too many cells"), ("ZZ", 10_000, "has 7,0")],
    ids=["more than any memory", "more than a table"],
)
def test_a_far_cell_is_refused_and_the_other_files_are_read(
    tmp_path: Path, column: str, row: int, said: str
) -> None:
    calls = tmp_path / "calls"
    calls.mkdir()
    bad = calls / "a.xlsx"
    bad.write_bytes(workbook(column, row))
    assert bad.stat().st_size < 2_000
    (calls / "b.txt").write_text(GOOD)
    done = run("import", calls, "-o", tmp_path / "cases.jsonl")
    assert (done.returncode, "1 call" in done.stdout) == (2, True), done.stderr
    assert said in done.stdout + done.stderr
    assert "a.xlsx" in done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["device", "pipe", "socket"])
def test_what_has_no_end_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "endless"
    if kind == "device":
        path = Path("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))
    done = run("import", path, "-o", tmp_path / "cases.jsonl")
    assert done.returncode == 2
    assert "is a device, a pipe or a socket; expected a file" in done.stderr


def test_a_call_of_too_many_turns_is_refused_before_it_is_built(tmp_path: Path) -> None:
    path = tmp_path / "turns.json"
    turn = b'{"speaker":"agent","text":"ok"}'
    path.write_bytes(b'{"transcript":[' + b",".join([turn] * (MAX_TURNS + 1)) + b"]}")
    done = run("import", path, "-o", tmp_path / "cases.jsonl")
    assert done.returncode == 2
    assert f"has more than {MAX_TURNS:,} turns" in done.stderr
    path = tmp_path / "turns.txt"
    path.write_text("Agent: ok\n" * (MAX_LINES + 1))
    done = run("import", path, "-o", tmp_path / "cases.jsonl")
    assert done.returncode == 2
    assert f"expected one call of at most {MAX_LINES:,}" in done.stderr


def zipped(name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, "<w:document/>")
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (zipped("word/document.xml"), "is a Word document; save it as plain text (.txt)"),
        (zipped("calls/a.txt"), "is a ZIP archive; unpack it"),
        (b"%PDF-1.4\n%\xe2\xe3", "is a PDF; save it as plain text (.txt)"),
        (b"RIFF\x24\x00\x00\x00WAVEfmt \xff", "is a recording; expected its transcript"),
        (b"ID3\x03\x00\xff\xfe", "is a recording; expected its transcript"),
    ],
)
def test_documents_and_recordings_are_refused_with_what_to_do(
    data: bytes, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "call.bin"
    file.write_bytes(data)
    done = run("import", file, "-o", tmp_path / "t.jsonl")
    assert done.returncode == 2
    assert f"call.bin: {words}" in done.stderr
    assert not (tmp_path / "t.jsonl").exists()
