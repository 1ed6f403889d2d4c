"""Lists in temporary files are those in memory."""

from __future__ import annotations

import random
from array import array
from pathlib import Path

import pytest

from callscore.store.disk_list import IN_BLOCK, MANY, DiskNumbers, DiskTexts, sort_numbers
from callscore.store.files import LinesByKey, blocks_of


@pytest.mark.parametrize("size", [0, 1, IN_BLOCK, 3 * IN_BLOCK - 1])
def test_texts_on_disk_are_the_texts_that_were_added(size: int) -> None:
    expected = [f'"{number}" é\n' for number in range(size)]
    found = DiskTexts()
    for text in expected:
        found.append(text)
    assert list(found) == expected
    assert len(found) == size
    assert found[-1:] == expected[-1:]
    assert found[IN_BLOCK - 2 : IN_BLOCK + 2] == expected[IN_BLOCK - 2 : IN_BLOCK + 2]
    for at in (0, size // 2, -1) if size else ():
        assert found[at] == expected[at]
    with pytest.raises(IndexError):
        found[size]


@pytest.mark.parametrize("most", [10, MANY])
def test_numbers_on_disk_are_the_numbers_that_were_added(most: int) -> None:
    dice, found = random.Random(1), DiskNumbers(most=most)
    expected = array("q")
    for _ in range(40):
        more = [dice.randrange(1 << 60) for _ in range(dice.randrange(500))]
        found.extend(more)
        expected.extend(more)
        assert len(found) == len(expected)
    for at in dice.sample(range(len(expected)), 50):
        assert found[at] == expected[at]
        assert found[at : at + 9] == expected[at : at + 9]
    assert found[:] == expected


@pytest.mark.parametrize("is_sorted", [True, False])
def test_lines_of_many_keys_are_found_in_any_order(tmp_path: Path, *, is_sorted: bool) -> None:
    """More than are in memory: most keys have one line, some none, some as many as a block."""
    dice = random.Random(2)
    keys = [key for key in range(0, 2 * MANY, 2) for _ in range(dice.choice((1, 1, 1, 2)))]
    keys += [2 * MANY] * IN_BLOCK + [2 * MANY + 1]
    if not is_sorted:
        dice.shuffle(keys)
    path = tmp_path / "lines"
    path.write_text("".join(f"{at}\n" for at in range(len(keys))), encoding="utf-8")
    index, given = LinesByKey([path]), iter(keys)
    for block in blocks_of([path]):
        index.add_block([next(given) for _ in block.lines], block)
    expected: dict[int, list[int]] = {}
    for at, key in enumerate(keys):
        expected.setdefault(key, []).append(at)
    wanted = [*range(2 * MANY - 9_000, 2 * MANY + 4), *range(9_000), *dice.sample(range(MANY), 99)]
    for key in wanted:
        assert [int(line.raw) for line in index.lines(key)] == expected.get(key, [])
    part = index.between(70_001, 70_011)
    for key in range(70_000, 70_012):
        inside = expected.get(key, []) if 70_001 <= key < 70_011 else []
        assert [int(line.raw) for line in part.lines(key)] == inside
    index.close()
    part.close()


@pytest.mark.parametrize("highest", [0, 9, (1 << 63) - 1])
def test_numbers_are_sorted_in_ranges_and_equal_ones_keep_their_order(highest: int) -> None:
    dice = random.Random(highest)
    keys = [dice.randint(-highest - 1 if highest > 9 else 0, highest) for _ in range(500)]
    found, values = sort_numbers(DiskNumbers(keys, most=40), range(500), at_once=32)
    order = sorted(range(500), key=keys.__getitem__)
    assert list(found) == [keys[at] for at in order]
    assert list(values) == order


def test_lines_of_many_keys_in_any_order_are_found_like_few(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    number = MANY + 100
    path.write_bytes(b"".join(b"%d\n" % n for n in range(number)))
    keys = random.Random(3).choices(range(number // 2), k=number)
    lines, first = LinesByKey([path]), 0
    for block in blocks_of([path]):
        lines.add_block(keys[first : first + len(block.lines)], block)
        first += len(block.lines)
    for key in (keys[-1], keys[0], keys[number // 2]):
        assert [int(line.raw) for line in lines.lines(key)] == [
            at for at, of_line in enumerate(keys) if of_line == key
        ]
    lines.close()
