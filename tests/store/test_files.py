"""Files that are read line by line, and files that appear whole or not at all (R-04, R-25)."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from callscore.core.errors import DataError, StoreError
from callscore.store import files
from callscore.store.files import (
    LinesByKey,
    atomic_write,
    blocks_of,
    check_targets,
    lines_in,
    lines_of,
)
from commands import run_python


def full_disk(_path: Path) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def broken_disk(_path: Path) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def vanished_folder(path: Path) -> None:
    for file in path.parent.iterdir():
        file.unlink()
    path.parent.rmdir()


@pytest.mark.parametrize(
    ("fault", "words"), [(full_disk, "No space left"), (broken_disk, "Input/output error")]
)
def test_r25_a_report_that_cannot_be_finished_leaves_the_old_one(
    tmp_path: Path, fault: Callable[[Path], None], words: str
) -> None:
    path = tmp_path / "card.json"
    path.write_bytes(b"old")
    with pytest.raises(StoreError, match=words), atomic_write(path) as file:
        file.write(b"new, but only in ha")
        fault(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_r04_a_disk_that_is_full_leaves_no_part_of_a_report(tmp_path: Path) -> None:
    """The limit of the operating system: what is flushed beyond it fails as on a full disk."""
    code = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from callscore.store.files import atomic_write\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "with atomic_write(Path(sys.argv[1])) as file:\n"
        "    file.write(b'x' * 100_000)\n"
    )
    path = tmp_path / "card.json"
    done = run_python(code, path)
    assert "StoreError" in done.stderr and "cannot be written" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_r04_a_folder_that_vanishes_is_said_plainly(tmp_path: Path) -> None:
    path = tmp_path / "out" / "card.json"
    path.parent.mkdir()
    with pytest.raises(StoreError, match="No such file"), atomic_write(path) as file:
        file.write(b"new")
        vanished_folder(path)


def test_s05_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "card.json"
    victim.write_bytes(b"precious")
    link.symlink_to(victim)
    with atomic_write(link) as file:
        file.write(b"new")
    assert (victim.read_bytes(), link.read_bytes(), link.is_symlink()) == (
        b"precious",
        b"new",
        False,
    )


@pytest.mark.parametrize("name", ["", "none/card.json", "x" * 300])
def test_r05_where_nothing_can_be_written_is_seen_beforehand(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        check_targets((tmp_path / name,), ())
    assert list(tmp_path.iterdir()) == []


def test_looking_whether_a_file_can_be_written_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    check_targets((path,), ())
    assert not path.exists()
    path.write_bytes(b"old")
    check_targets((path,), ())
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"old", [path])


def test_s10_a_line_that_never_ends_is_refused_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    with path.open("wb") as file:
        file.write(b'{"id": "c1"}\n')
        file.truncate(10 * files.MAX_LINE_BYTES)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match=r"cases\.jsonl:2: .*expected fewer") as caught:
        list(lines_of([path]))
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert str(files.MAX_LINE_BYTES) in str(caught.value)
    assert grown_kb * 1024 < 4 * files.MAX_LINE_BYTES


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", files.BYTE_ORDER_MARK])
def test_r22_line_ends_marks_and_empty_lines_do_not_matter(
    tmp_path: Path, end: bytes, mark: bytes
) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(mark + end.join([b'{"a": 1}', b"", b"  ", b'{"a": 2}']))
    assert [(line.number, line.raw.strip()) for line in lines_of([path])] == [
        (1, b'{"a": 1}'),
        (4, b'{"a": 2}'),
    ]


def test_lines_longer_than_a_block_are_whole_and_found_again(tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl"
    lengths = [1, files.BLOCK_BYTES - 3, 1, 3 * files.BLOCK_BYTES, 0, 20, files.BLOCK_BYTES, 7]
    texts = [b'"' + b"x" * length + b'"\n' if length else b"\n" for length in lengths]
    path.write_bytes(b"".join(texts).rstrip(b"\n"))
    lines = list(lines_of([path]))
    assert [line.number for line in lines] == [1, 2, 3, 4, 6, 7, 8]
    assert b"\n".join(line.raw.strip() for line in lines) + b"\n" == b"".join(texts).replace(
        b"\n\n", b"\n"
    )
    assert all(files.with_line_number(line) == line for line in lines)


@pytest.mark.parametrize("keys", [[0, 1, 2, 3, 3, 5], [5, 3, 3, 2, 1, 0], [0, 3, 1, 3, 2, 5]])
def test_lines_are_found_by_key_however_they_were_noted(tmp_path: Path, keys: list[int]) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path in paths:
        path.write_text("".join(f"{path.stem}{at}\n" for at in range(len(keys))))
    by_line, by_block = LinesByKey(paths), LinesByKey(paths)
    for block in blocks_of(paths):
        by_block.add_block(keys, block)
        for key, line in zip(keys, lines_in(block), strict=True):
            by_line.add(key, line)
    for key in (*range(7), 3, 3, 0, 5):
        expected = [f"{path.stem}{at}\n" for path in paths for at in range(6) if keys[at] == key]
        for lines in (by_line, by_block):
            assert [line.raw.decode() for line in lines.lines(key)] == expected
    by_line.close()
    by_block.close()


def test_r22_a_file_of_a_byte_order_mark_alone_has_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(files.BYTE_ORDER_MARK)
    assert list(lines_of([path])) == []
