"""Reading JSON that nobody vouches for: what the quick check must not let through."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.core.strict_json import MAX_DEPTH, JsonFault, decode, keys_preserved, may_be_deep

DUPLICATES = [
    b'{"a":1,"a":2}',
    b'{"a":1, "a" :2}',
    b'{"a" : 1, "a"\t:\n2}',
    b'{"a:b":1,"a\\u003ab":2}',
    b'{"a\\u003Ab":":","a:b":2}',
    b'[{"x":{"k":"v:w","k":"\\u003a"}}]',
    b'{"\\u0061":1,"a":"::"}',
    b'{"a":{"\\ud800":1,"\\udfff":2}}',
    b'{"\\ud800":1,"\\ufffd":2}',
]
HARMLESS = [b'{"a\\u003ab":1}', b'{"a" : "x:y", "b":"\\u003A"}', b'{"q\\"":":","\\\\":"\\\\:"}']


@pytest.mark.parametrize("raw", DUPLICATES)
def test_a_duplicate_key_is_found_however_it_is_written(raw: bytes) -> None:
    with pytest.raises(JsonFault, match="duplicate_key"):
        decode(raw)


@pytest.mark.parametrize("raw", HARMLESS)
def test_an_odd_spelling_is_no_duplicate(raw: bytes) -> None:
    assert decode(raw).value == json.loads(raw)


texts = st.text(st.sampled_from('b:"\\/u03<é '), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(value=values, ascii_only=st.booleans(), key=texts, extra=values)
def test_a_member_that_a_later_one_replaces_always_shows(
    value: object, ascii_only: bool, key: str, extra: object
) -> None:
    once = json.dumps({key: value}, ensure_ascii=ascii_only)
    twice = f"{{{json.dumps(key)} : {json.dumps(extra)}, {once[1:]}"
    assert keys_preserved(once.encode(), json.dumps({key: value}).encode())
    assert not keys_preserved(twice.encode(), json.dumps({key: value}).encode())


def nested(levels: int, siblings: int) -> Any:
    """A value of so many levels, objects and lists in turn, with shallow ones beside each."""
    value: Any = []
    for level in range(1, levels):
        beside: list[Any] = [{"text": "},{ ],[ [{"}, []] * siblings
        value = [*beside[:siblings], value, *beside] if level % 2 else {"a": {}, "b": value}
    return value


@pytest.mark.parametrize("siblings", [0, 1, 40])
def test_levels_are_counted_and_not_brackets(siblings: int) -> None:
    deepest = nested(MAX_DEPTH, siblings)
    assert decode(json.dumps(deepest).encode()).value == deepest
    with pytest.raises(JsonFault, match="too_deep"):
        decode(json.dumps({"a": deepest}).encode())
    many = [{"items": [[1], {"a": [2]}]} for _ in range(100)]
    assert not may_be_deep(msgspec.json.encode(many[:20]))
    assert decode(json.dumps(many).encode()).value == many
