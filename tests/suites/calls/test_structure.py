"""The quick look at an answer's structure must never accept what the careful one refuses."""

from collections import Counter
from collections.abc import Collection
from typing import Any

from hypothesis import assume, given, target
from hypothesis import strategies as st

from callscore.suites.calls.reply_parser import StructureSources
from callscore.suites.calls.structure import compile_shape, fault, is_like

keys = st.sampled_from(["a", "b", "c"])
scalars = st.sampled_from([None, True, 0, 1.5, "x"])
flat = st.dictionaries(keys, scalars, max_size=3)
parts = scalars | flat | st.lists(scalars, max_size=3) | st.lists(flat, max_size=3)
outcomes = st.dictionaries(keys, parts | st.lists(parts, max_size=2), max_size=3)
sources = st.builds(
    StructureSources,
    st.sampled_from([{}, {"a": {"a", "b"}, "b": {"c"}}]),
    st.sampled_from(["", "a"]),
    st.sampled_from([(), ("a",), ("a.b",)]),
)


def _altered(draw: st.DrawFn, value: Any) -> Any:
    """The same value, with some of its parts replaced, left out or repeated."""
    if draw(st.integers(0, 9)) == 0:
        return draw(parts)
    if isinstance(value, dict):
        return {k: _altered(draw, v) for k, v in value.items() if draw(st.integers(0, 9))}
    if isinstance(value, list):
        return [_altered(draw, v) for v in value for _ in range(draw(st.integers(0, 2)))]
    return draw(scalars)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    expected = draw(outcomes)
    return expected, _altered(draw, expected)


@given(pair=pairs(), given_with=sources)
def test_what_is_like_the_expected_outcome_complies(
    pair: tuple[dict[str, Any], Any], given_with: StructureSources
) -> None:
    expected, answer = pair
    found = is_like(expected, answer)
    target(float(found))
    assume(found)
    assert fault(answer, compile_shape(expected, given_with)) is None


def test_the_quick_look_knows_the_usual_answer() -> None:
    expected = {"list": [{"id": 1, "text": "a"}], "map": {"x": 1, "y": []}, "one": "1"}
    answer = {"list": [{"id": 2, "text": None}] * 3, "map": {"x": "b", "y": []}, "one": 0}
    assert is_like(expected, answer)
    assert is_like(expected, {**answer, "list": []})
    assert not is_like(expected, {**answer, "list": [{"id": 1}]})
    assert not is_like(expected, {**answer, "one": []})
    assert not is_like(expected, {**answer, "more": 1})


class _Looks(dict[str, Collection[str]]):
    """No samples; counts how often each was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.counted = Counter[str]()

    def get(self, path: str, default: Any = None) -> Any:
        self.counted[path] += 1
        return default


def test_arrays_in_arrays_are_compiled_once_each() -> None:
    nested: list[Any] = []
    for _ in range(12):
        nested = [nested]
    looks = _Looks()
    compile_shape({"a": nested}, StructureSources(looks))
    assert looks.counted == {"a" + 12 * "[]": 1}
