"""Files that a browser sends: what is read of them, and that nothing in them reaches the server."""

from __future__ import annotations

import io
import shlex
import zipfile
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
import xlsxwriter

import commands
from callscore.uploads.data_folder import (
    DataFolder,
    DataSet,
    ImportChoices,
    Role,
    TooLarge,
    own_name,
)
from callscore.uploads.inspection import Inspection, command_of
from callscore.uploads.worker import ReaderLimits, inspect_limited, write_limited

FORM = """section,id,question,options,critical,na allowed
Opening,greet,Was there a greeting?,Yes=5; No=0,,
Opening,verify,"Did the agent verify, who is calling?",Yes=5; No=0,yes,yes
Closing,solve,Was it solved?,Fully=5; Partly=2; Not=0; -,,
"""
MARKS = "call_id,greet,verify,solve\nanna,Yes,N/A,Fully\nओम्,No,,Partly\n"
CALL = "Agent: Good morning, 안녕하세요.\nCustomer: नमस्ते, my card is lost.\nAgent: =1+1 is done.\n"
FILES: Mapping[str, tuple[Role, bytes]] = {
    "anna.txt": ("calls", CALL.encode()),
    "ओम्.txt": ("calls", CALL.encode()),
    "form.csv": ("form", FORM.encode()),
    "marks.csv": ("marks", MARKS.encode()),
}


def data_set(folder: Path, files: Mapping[str, tuple[Role, bytes]], **choices: object) -> DataSet:
    kept = DataFolder(folder)
    data = kept.create()
    for name, (role, content) in files.items():
        with kept.receive(data, name, role) as arriving:
            arriving.write(content)
        data = kept.add(data, arriving)
    data = msgspec.structs.replace(data, choices=msgspec.convert(choices, ImportChoices))
    kept.save(data)
    assert kept.get(data.number) == data
    return data


def with_marks(marks: bytes, name: str = "marks.csv") -> dict[str, tuple[Role, bytes]]:
    return {**{n: f for n, f in FILES.items() if n != "marks.csv"}, name: ("marks", marks)}


def inspected(
    folder: Path, files: Mapping[str, tuple[Role, bytes]], **choices: object
) -> Inspection:
    return inspect_limited(data_set(folder, files, **choices))


def test_what_is_written_are_the_bytes_of_the_command_that_is_shown(tmp_path: Path) -> None:
    data = data_set(tmp_path, FILES)
    assert write_limited(data) == "2 cases"
    done = commands.run(*shlex.split(command_of(data))[1:], cwd=data.files_folder)
    assert done.returncode == 0, done.stderr
    assert (data.files_folder / "cases.jsonl").read_bytes() == (
        data.folder / "cases.jsonl"
    ).read_bytes()


def test_an_inspection_shows_formats_first_case_and_c139s_unmarked_cells(tmp_path: Path) -> None:
    found = inspected(tmp_path, FILES)
    assert not found.problem
    assert [file.format for file in found.files] == ["text with speaker labels"] * 2
    assert {one.id: one.marked for one in found.questions} == {"greet": 2, "verify": 1, "solve": 2}
    assert found.written == "2 cases"
    assert found.first is not None
    assert found.first["transcript"][1]["text"] == "नमस्ते, my card is lost."
    meanings = {one.heading: (one.meaning, one.question) for one in found.marks[0].columns}
    assert meanings == {
        "call_id": ("call", ""),
        "greet": ("question", "greet"),
        "verify": ("question", "verify"),
        "solve": ("question", "solve"),
    }


def test_a_renamed_critical_column_is_refused_in_one_sentence_with_the_nearest(
    tmp_path: Path,
) -> None:
    found = inspected(tmp_path, with_marks(MARKS.replace("verify", "verfy").encode()))
    assert "'verify'" in found.problem
    assert "nearest" in found.problem
    assert not found.tables  # the calls are text with commas, which has no columns
    unknown = next(one for one in found.marks[0].columns if one.meaning == "unknown")
    assert (unknown.heading, unknown.nearest) == ("verfy", "verify")
    mapped = inspected(
        tmp_path, with_marks(MARKS.replace("verify", "verfy").encode()), columns={"verfy": "verify"}
    )
    assert not mapped.problem


def test_a_formula_is_text_and_no_mark(tmp_path: Path) -> None:
    marks = MARKS.replace("Yes", "=HYPERLINK(1)").encode()
    assert "'=HYPERLINK(1)' is not an answer" in inspected(tmp_path, with_marks(marks)).problem


def test_ten_thousand_columns_are_one_sentence(tmp_path: Path) -> None:
    heading = ",".join(f"column {n}" for n in range(10_000))
    found = inspected(tmp_path, with_marks(f"call_id,greet,{heading}\nanna,Yes\n".encode()))
    assert "9,9" in found.problem
    assert len(found.problem) < 3000
    assert len(found.marks[0].headings) == 60


def workbook_that_unpacks_to(size: int) -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True}) as book:
        book.add_worksheet().write_row(0, 0, ["call_id", "greet"])
    with (
        zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("xl/media/zeros.bin", "w", force_zip64=True) as inside,
    ):
        for _ in range(size // 1_000_000):
            inside.write(bytes(1_000_000))
    return file.getvalue()


def test_a_zip_bomb_is_one_sentence(tmp_path: Path) -> None:
    bomb = workbook_that_unpacks_to(600_000_000)
    assert len(bomb) < 5_000_000
    found = inspected(tmp_path, with_marks(bomb, "marks.xlsx"))
    assert "unpacks to" in found.problem


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        (ReaderLimits(memory=150_000_000), "memory"),
        (ReaderLimits(file=10), "larger than 10 bytes"),
        (ReaderLimits(reply=10), "10 bytes to describe"),
        (ReaderLimits(wall_s=0.0), "take more than 0 s"),
    ],
)
def test_a_limit_that_is_passed_ends_the_reader_not_the_server(
    tmp_path: Path, limits: ReaderLimits, problem: str
) -> None:
    huge = (
        {**FILES, "anna.txt": ("calls", CALL.encode() * 60_000)} if limits.memory < 1e9 else FILES
    )
    assert problem in inspect_limited(data_set(tmp_path, huge), limits).problem


def test_the_time_of_the_processor_is_limited(tmp_path: Path) -> None:
    lines = "".join(f"Agent: {n}\n" for n in range(200_000)).encode()
    data = data_set(tmp_path, {"long.txt": ("calls", lines)})
    assert "take more than 1 s" in inspect_limited(data, ReaderLimits(cpu_s=1)).problem


@pytest.mark.parametrize(
    ("sent", "own"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\calls\\a b.csv", "a_b.csv"),
        (".hidden", "hidden"),
        ("--out=x.csv", "out_x.csv"),
        ("ओम्.txt", "ओम्.txt"),
        ("", "file"),
        ("<script>.csv", "_script_.csv"),
        ("통화 1.vtt", "통화_1.vtt"),
        ("taken.csv", "taken-2.csv"),
    ],
)
def test_a_name_from_a_browser_becomes_one_of_ours(sent: str, own: str) -> None:
    assert own_name(sent, {"Taken.csv"}) == own


def test_a_file_that_is_too_large_is_refused_while_it_arrives(tmp_path: Path) -> None:
    kept = DataFolder(tmp_path)
    data = kept.create()
    with (
        pytest.raises(TooLarge, match="larger than 10 bytes"),
        kept.receive(data, "a.txt", "calls", most=10) as arriving,
    ):
        for _ in range(3):
            arriving.write(b"12345")
    assert not list(data.files_folder.iterdir())
    assert kept.numbers() == [1]
