"""Every format gives the same turns, is distinguished from all others, and never crashes."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from call_files import CALL, EVERY_FORMAT, EXPECTED, WITH_TIMES, contact_lens, dumps
from callscore.core.errors import CallscoreError, DataError
from callscore.importers.conversation import Conversation, ImportContext, SkippedPart
from callscore.importers.folder import ImportOptions, ImportReport, import_files, parse_roles
from callscore.importers.formats import FORMATS, detect_format, read_any_format
from callscore.importers.source_file import Source


def read_all(name: str, data: bytes) -> tuple[list[Conversation], list[SkippedPart]]:
    found = list(read_any_format(Source(name, data), ImportContext(name, Path(name).stem)))
    calls = [one for one in found if isinstance(one, Conversation)]
    return calls, [one for one in found if isinstance(one, SkippedPart)]


def only_call(name: str, data: bytes) -> Conversation:
    (call,), _ = read_all(name, data)
    return call


@pytest.mark.parametrize("name", EVERY_FORMAT)
def test_every_format_gives_the_same_words_of_the_same_speakers(name: str) -> None:
    format_name, write = EVERY_FORMAT[name]

    call = only_call(name, write())

    assert call.format == format_name
    assert [(turn.speaker, turn.text) for turn in call.turns] == [
        (expected.speaker, expected.text) for expected in CALL
    ]
    assert [turn.id for turn in call.turns] == [1, 2, 3, 4]
    assert all(turn.source for turn in call.turns)


@pytest.mark.parametrize("name", WITH_TIMES)
def test_times_are_seconds_from_the_start_of_the_call(name: str) -> None:
    call = only_call(name, WITH_TIMES[name][1]())

    assert [turn.start for turn in call.turns] == pytest.approx(
        [expected.start for expected in CALL]
    )
    ends = [turn.end for turn in call.turns]
    if None not in ends:
        assert ends == pytest.approx([expected.end for expected in CALL], abs=0.002)


@pytest.mark.parametrize("name", EVERY_FORMAT)
def test_the_first_format_that_matches_is_detected(name: str) -> None:
    source = Source(name, EVERY_FORMAT[name][1]())
    matching = [one.name for one in FORMATS if one.matches(source)]
    assert detect_format(source).name == matching[0]


def test_a_format_that_names_no_roles_marks_them_as_guessed() -> None:
    call = only_call("x.json", EVERY_FORMAT["whisperx.json"][1]())
    assert all(turn.role_guessed for turn in call.turns)
    assert any("role guessed" in note for note in call.notes)
    assert call.turns[0].label == "SPEAKER_00"


def test_roles_that_the_user_names_are_not_guesses() -> None:
    data = EVERY_FORMAT["whisperx.json"][1]()
    roles = parse_roles(["SPEAKER_00=customer, SPEAKER_01=agent"])
    (call,) = read_any_format(Source("x.json", data), ImportContext("x.json", "x", roles))
    assert isinstance(call, Conversation)
    assert [turn.speaker for turn in call.turns] == ["customer", "agent", "customer", "agent"]
    assert not any(turn.role_guessed for turn in call.turns)


def test_speakers_without_a_cue_keep_their_label_and_are_named_as_unknown() -> None:
    data = dumps(
        {"segments": [{"start": 0, "end": 1, "text": "a", "speaker": "SPEAKER_00"},
                      {"start": 1, "end": 2, "text": "b", "speaker": "SPEAKER_01"}]}
    )  # fmt: skip
    call = only_call("x.json", data)
    assert [turn.speaker for turn in call.turns] == ["SPEAKER_00", "SPEAKER_01"]
    assert any("role unknown" in note for note in call.notes)


def test_what_contact_lens_found_is_kept_with_the_turns() -> None:
    call = only_call("x.json", contact_lens())
    assert call.metadata["issues"] == ["My bill went up by 40 €"]
    assert call.metadata["categories"] == ["billing"]
    assert call.turns[1].sentiment == "negative"
    assert call.lang == "en-GB"


def test_segments_without_words_are_skipped_and_named() -> None:
    _, skipped = read_all("x.json", EVERY_FORMAT["contact-lens-real-time.json"][1]())
    assert [one.where for one in skipped] == ["x.json: $.Segments[2]"]


def test_a_turn_without_text_is_skipped_and_named() -> None:
    value = json.loads(contact_lens())
    value["Transcript"][2]["Content"] = "  "
    calls, skipped = read_all("x.json", dumps(value))
    assert len(calls[0].turns) == 3
    assert skipped == [SkippedPart("$.Transcript[2]", "a turn without text")]


def test_a_wrong_type_is_named_with_file_and_path() -> None:
    value = json.loads(contact_lens())
    value["Transcript"][1]["BeginOffsetMillis"] = "soon"
    with pytest.raises(DataError, match=r"x\.json: field Transcript\[1\]\.BeginOffsetMillis"):
        read_all("x.json", dumps(value))


def test_turns_out_of_order_are_sorted_with_a_note() -> None:
    value = json.loads(contact_lens())
    value["Transcript"].reverse()
    call = only_call("x.json", dumps(value))
    assert [turn.text for turn in call.turns] == [expected.text for expected in CALL]
    assert "turns were not in chronological order; sorted by start" in call.notes


def test_a_clock_time_of_zero_in_a_table_is_a_time() -> None:
    call = only_call("t.csv", b"speaker,text,start\nagent,Hello,00:00\ncustomer,Hi,00:02\n")
    assert [turn.start for turn in call.turns] == [0.0, 2.0]


def test_data_sets_have_expected_outcomes_and_outputs_of_models() -> None:
    call = only_call("x.jsonl", EVERY_FORMAT["openai-evals.jsonl"][1]())
    assert call.expected == EXPECTED
    assert [(one.model, one.output) for one in call.outputs] == [
        ("m-1", '{"detected_keywords": []}')
    ]
    results = only_call("x.json", EVERY_FORMAT["promptfoo-results.json"][1]())
    assert [one.model for one in results.outputs] == ["a", "b"]
    assert results.outputs[0].usage == {"input_tokens": 10, "output_tokens": 5}
    assert only_call("x.eval", EVERY_FORMAT["log.eval"][1]()).expected == EXPECTED


def test_tool_calls_of_voice_agents_are_kept() -> None:
    data = dumps(
        {
            "call_id": "c",
            "transcript_with_tool_calls": [
                {"role": "user", "content": "Where is my parcel?"},
                {"role": "tool_call_invocation", "name": "track", "arguments": '{"id": 7}'},
                {"role": "tool_call_result", "content": "{}"},
                {"role": "agent", "content": "It arrives today."},
            ],
        }
    )
    calls, skipped = read_all("x.json", data)
    assert calls[0].turns[1].tool_calls == [{"name": "track", "arguments": {"id": 7}}]
    assert calls[0].turns[1].speaker == "agent"
    assert len(skipped) == 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "cp1252"])
def test_text_in_other_encodings_is_read(encoding: str) -> None:
    text = "Agent: Guten Tag, wie kann ich Ihnen helfen?\nKunde: Über die Gebühr für Süßes.\n" * 3
    call = only_call("x.txt", text.encode(encoding))
    assert call.turns[1].text == "Über die Gebühr für Süßes."
    assert [turn.speaker for turn in call.turns[:2]] == ["agent", "customer"]


@pytest.mark.parametrize(
    "data", [b"", b"   \n", b"\x00\x01\x02", b"just some prose, nothing else", b"{}", b"[]", b"[1]"]
)
def test_a_file_of_an_unknown_format_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(DataError, match=r"x\.bin"):
        read_all("x.bin", data)


def test_a_mixed_folder_is_imported_with_a_full_report(tmp_path: Path) -> None:
    for name, (_, write) in EVERY_FORMAT.items():
        (tmp_path / name).write_bytes(write())
    (tmp_path / "notes.bin").write_bytes(b"\x00\x00")
    (tmp_path / ".hidden").write_bytes(b"\x00\x00")
    report = ImportReport()

    calls = list(import_files([tmp_path], ImportOptions(), report))

    assert len(calls) == len(EVERY_FORMAT) == report.calls
    assert len({call.call_id for call in calls}) == len(calls)
    assert [Path(file.path).name for file in report.problems] == ["notes.bin"]


def test_a_file_that_the_system_cannot_read_is_reported_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = next(iter(EVERY_FORMAT))
    for file in ("a", "b"):
        (tmp_path / f"{file}-{name}").write_bytes(EVERY_FORMAT[name][1]())
    read_bytes = Path.read_bytes

    def refuse_first(path: Path) -> bytes:
        if path.name.startswith("a-"):
            raise PermissionError(13, "Permission denied")
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", refuse_first)
    report = ImportReport()

    calls = list(import_files([tmp_path], ImportOptions(), report))

    assert len(calls) == 1
    assert [file.problem for file in report.problems] == ["cannot be read: Permission denied"]


@pytest.mark.parametrize("cell", ["nan", "inf", "-inf"])
def test_a_cell_that_is_not_a_finite_number_is_not_a_time(cell: str) -> None:
    table = f"call_id,speaker,text,start\nc1,agent,hello,{cell}\n"
    with pytest.raises(DataError, match="is not a time"):
        read_all("turns.csv", table.encode())


def test_an_archive_with_one_damaged_byte_is_read_or_refused() -> None:
    data = EVERY_FORMAT["log.eval"][1]()
    for index in range(len(data)):
        damaged = bytes([*data[:index], data[index] ^ 4, *data[index + 1 :]])
        with suppress(CallscoreError):
            read_all("log.eval", damaged)


_FILES = {name: write() for name, (_, write) in sorted(EVERY_FORMAT.items())}
"""Written once: a spreadsheet has the time at which it is written."""
_NAMES = list(_FILES)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(_NAMES), st.data())
def test_a_damaged_file_is_read_or_refused_and_never_crashes(
    name: str, data: st.DataObject
) -> None:
    raw = bytearray(_FILES[name])
    for _ in range(data.draw(st.integers(1, 4))):
        index = data.draw(st.integers(0, len(raw) - 1))
        kind = data.draw(st.sampled_from(["flip", "cut", "insert"]))
        if kind == "flip":
            raw[index] = data.draw(st.integers(0, 255))
        elif kind == "cut":
            del raw[index : index + data.draw(st.integers(1, 40))]
        else:
            raw[index:index] = data.draw(st.binary(max_size=8))
        if not raw:
            break
    with suppress(CallscoreError):
        read_all(name, bytes(raw))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([n for n in _NAMES if n.endswith("json")]), st.data())
def test_values_of_any_type_are_read_or_refused(name: str, data: st.DataObject) -> None:
    value = json.loads(_FILES[name])
    node = value
    for _ in range(data.draw(st.integers(0, 5))):
        items = list(node.items()) if isinstance(node, dict) else list(enumerate(node))
        if not items:
            break
        key, inner = data.draw(st.sampled_from(items))
        if not isinstance(inner, dict | list) or data.draw(st.booleans()):
            node[key] = data.draw(_JSON)
            break
        node = inner
    with suppress(CallscoreError):
        read_all(name, msgspec.json.encode(value))
