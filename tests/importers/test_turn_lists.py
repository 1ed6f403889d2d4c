"""Calls in files of no known format: found by their structure, with the mapping said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from call_files import CALL, EVERY_FORMAT
from callscore.core.errors import DataError, UsageError
from callscore.importers.conversation import Conversation, ImportContext, SkippedPart
from callscore.importers.folder import ImportOptions, ImportReport, import_files, parse_roles
from callscore.importers.formats import read_any_format
from callscore.importers.json_lines import convert_to_transcript
from callscore.importers.source_file import Source
from callscore.importers.turn_fields import parse_map

TURNS = [{"speaker": said.speaker, "text": said.text, "start": said.start} for said in CALL]
SPOKEN = [(said.speaker, said.text) for said in CALL]


def read_all(name: str, data: bytes) -> tuple[list[Conversation], list[SkippedPart]]:
    found = list(read_any_format(Source(name, data), ImportContext(name, Path(name).stem)))
    calls = [one for one in found if isinstance(one, Conversation)]
    return calls, [one for one in found if isinstance(one, SkippedPart)]


def read_value(value: Any) -> list[Conversation]:
    return read_all("x.json", json.dumps(value).encode())[0]


def spoken(call: Conversation) -> list[tuple[str, str]]:
    return [(turn.speaker, turn.text) for turn in call.turns]


NESTED: dict[str, tuple[Any, str]] = {
    "a list": (TURNS, "x"),
    "a call": ({"call_id": "c7", "transcript": TURNS}, "c7"),
    "a list of calls": ([{"id": 7, "turns": TURNS}], "7"),
    "in a wrapper": ({"status": "ok", "data": {"callId": "c7", "dialogue": TURNS}}, "c7"),
    "by id": ({"c7": {"log": TURNS}, "c8": {"log": TURNS}}, "c7"),
    "other names": (
        [{"who": said.speaker, "utterance": said.text, "at": 1} for said in CALL],
        "x",
    ),
    "objects in fields": (
        {"messages": [{"author": {"role": said.speaker}, "body": {"text": said.text}}
                      for said in CALL]},
        "x",
    ),
    "pairs": ({"convo_id": 3, "original": [[said.speaker, said.text] for said in CALL]}, "3"),
    "labelled lines": ({"dialog": [f"{said.speaker}: {said.text}" for said in CALL]}, "x"),
    "a labelled text": (
        {"id": "c7", "any name": "\n".join(f"{one.speaker}: {one.text}" for one in CALL)},
        "c7",
    ),
    "a trajectory": (
        [{"task_id": 0, "reward": 1.0, "info": {"actions": [{"name": "n", "kwargs": {}}]},
          "traj": [{"role": "system", "content": "You are an agent."},
                   *({"role": one.speaker.replace("customer", "user").replace("agent", "assistant"),
                      "content": one.text} for one in CALL)]}],
        "0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NESTED)
def test_a_list_of_turns_is_found_where_it_is(name: str) -> None:
    value, call_id = NESTED[name]
    call = read_value(value)[0]
    assert spoken(call) == SPOKEN
    assert call.call_id == call_id


def test_the_mapping_is_said_with_what_else_could_be_meant() -> None:
    """As in the Harper Valley Bank corpus: a human and an automatic transcript, milliseconds."""
    value = [
        {
            "speaker_role": said.speaker, "human_transcript": said.text, "transcript": "as heard",
            "start_ms": round(said.start * 1000), "offset_ms": 0, "duration_ms": 1500, "index": 1,
        }
        for said in CALL
    ]  # fmt: skip
    (call,) = read_value(value)
    assert spoken(call) == SPOKEN
    assert [turn.start for turn in call.turns] == [said.start for said in CALL]
    assert call.turns[0].end == CALL[0].start + 1.5
    assert call.notes[0] == (
        "turns read with text=human_transcript,speaker=speaker_role,start=start_ms,"
        "end=duration_ms (milliseconds); also has 'transcript': --map text=NAME"
    )


def test_two_lists_of_an_object_are_said() -> None:
    (call,) = read_value({"id": "c", "messages": TURNS, "summary_lines": TURNS[:2]})
    assert len(call.turns) == 4
    assert "also has turns in $.summary_lines; --map turns=NAME reads those" in call.notes


def test_an_object_without_turns_among_others_is_named() -> None:
    calls, skipped = read_all("x.json", json.dumps([{"id": 1}, {"id": 2, "turns": TURNS}]).encode())
    assert [call.call_id for call in calls] == ["2"]
    assert [(one.where, one.why) for one in skipped] == [("x.json: $[0]", "has no list of turns")]


def test_lines_of_turns_are_grouped_by_call() -> None:
    lines = [{"conversation_id": call, **turn} for call in ("a", "b") for turn in TURNS]
    data = "\n".join(map(json.dumps, lines)).encode()
    calls, _ = read_all("x.jsonl", data)
    assert [(call.call_id, len(call.turns)) for call in calls] == [("a", 4), ("b", 4)]


def test_a_turn_with_an_id_of_its_own_is_not_a_call() -> None:
    for data in (
        json.dumps([{"id": at, **turn} for at, turn in enumerate(TURNS)]).encode(),
        b"id,speaker,text\n1,agent,Hello\n2,customer,Hi\n",
    ):
        (call,), _ = read_all("x", data)
        assert len(call.turns) > 1


def test_yaml_is_read_and_aliases_are_not() -> None:
    text = "call_id: c7\nturns:\n" + "".join(
        f"  - speaker: {said.speaker}\n    text: {json.dumps(said.text)}\n" for said in CALL
    )
    (call,), _ = read_all("x.yaml", text.encode())
    assert (call.call_id, spoken(call)) == ("c7", SPOKEN)
    with pytest.raises(DataError, match="unknown format"):
        read_all("x.yaml", b"a: &a [x]\nturns:\n  - speaker: agent\n    text: *a\n")


def test_whole_numbers_that_no_one_could_speak_to_in_seconds_are_milliseconds() -> None:
    data = b"start\tend\ttext\n0\t3200\tHello, my router is broken.\n3200\t61000\tIt blinks red.\n"
    (call,), _ = read_all("whisper.tsv", data)
    assert [(turn.start, turn.end) for turn in call.turns] == [(0.0, 3.2), (3.2, 61.0)]
    assert "the file names no speakers; its turns have no role" in call.notes
    assert any("(milliseconds)" in note for note in call.notes)


def test_quotes_in_a_table_with_tabs_are_what_was_said() -> None:
    rows = '0\t2000\t"Hello," she said.\n2000\t61000\tA 5" screen.\n'
    (call,), _ = read_all("whisper.tsv", f"start\tend\ttext\n{rows}".encode())
    assert [turn.text for turn in call.turns] == ['"Hello," she said.', 'A 5" screen.']
    quoted = b'speaker\ttext\nagent\t"Hi, ""Tom"""\ncustomer\tYes\n'
    (call,), _ = read_all("a.tsv", quoted)
    assert call.turns[0].text == 'Hi, "Tom"'


def test_map_names_the_fields_of_json_and_tables(tmp_path: Path) -> None:
    rows = [{"said by": one.speaker, "source": one.text, "n": at} for at, one in enumerate(CALL)]
    (tmp_path / "a.json").write_text(json.dumps({"x": {"rows": rows}, "turns": TURNS[:1]}))
    (tmp_path / "b.csv").write_text(
        "said by,source\n" + "".join(f'{one.speaker},"{one.text}"\n' for one in CALL)
    )
    fields = parse_map(["text=source,speaker=said by", "turns=x.rows"])
    report = ImportReport()
    calls = list(import_files([tmp_path], ImportOptions(fields=fields), report))
    assert [spoken(call) for call in calls] == [SPOKEN, SPOKEN]
    assert not report.problems


@pytest.mark.parametrize("text", ["text", "words=a", "text="])
def test_a_map_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected FIELD=NAME"):
        parse_map([text])


def test_the_fields_of_a_file_of_no_known_format_are_listed() -> None:
    with pytest.raises(DataError, match=r"its fields: 'doc', 'direction', 'segment'; --map text="):
        read_all("x.csv", b"doc,direction,segment\n1,customer,Hello\n")


@pytest.mark.parametrize(
    "value",
    [
        {"openapi": "3.1", "paths": {"/x": {"examples": {"a": {"utterances": TURNS}}}}},
        {"questionGroups": [{"questions": [{"text": "Was there a greeting?", "id": "q"}]}]},
        {"words": [{"text": "hello", "start": 0.1, "end": 0.2}]},
        [{"Text": "Ford", "Type": "MAKE"}, {"Text": "brake", "Type": "PART"}],
    ],
)
def test_what_has_no_turns_is_not_read_as_a_call(value: Any) -> None:
    if isinstance(value, list):
        value = {"entities": value}
    with pytest.raises(DataError, match="unknown format"):
        read_value(value)


def test_callscores_own_transcripts_are_read_again_as_they_are() -> None:
    calls, _ = read_all("x.json", EVERY_FORMAT["whisperx.json"][1]())
    line = {**convert_to_transcript(calls[0]), "lang": "en"}
    line["transcript"][1]["text"] = "My name is [NAME_1]."
    (again,), _ = read_all("transcripts.jsonl", json.dumps(line).encode())
    assert convert_to_transcript(again) == line
    assert again.turns[0].role_guessed
    roles = parse_roles(["SPEAKER_00=customer"])
    (other,) = read_any_format(
        Source("t.jsonl", json.dumps(line).encode()), ImportContext("t.jsonl", "t", roles)
    )
    assert isinstance(other, Conversation)
    assert (other.turns[0].speaker, other.turns[0].role_guessed) == ("customer", False)


def test_the_cases_of_one_call_are_one_call() -> None:
    case = {"id": "c7/qa", "task": "qa", "transcript": "Agent: Hi\nCustomer: Hello\n",
            "config": {}, "expected_outcome": {}}  # fmt: skip
    data = "\n".join(json.dumps({**case, "id": f"c7/{task}", "task": task})
                     for task in ("qa", "text"))  # fmt: skip
    (call,), skipped = read_all("cases.jsonl", data.encode())
    assert (call.call_id, spoken(call)) == ("c7", [("agent", "Hi"), ("customer", "Hello")])
    assert [one.why for one in skipped] == ["another case of a call that was read"]


def test_facts_in_a_list_are_no_speakers_of_a_call_with_roles() -> None:
    text = "user: Which flights?\nassistant: Two:\n- Departure: 9:00\n- Price: 40\n" \
           "- Departure: 11:00\n- Price: 30\nuser: The first.\n"  # fmt: skip
    (call,), _ = read_all("x.txt", text.encode())
    assert [turn.speaker for turn in call.turns] == ["customer", "agent", "customer"]


@pytest.mark.parametrize(
    "transcript",
    [
        [{"role": "agent", "content": "Hi"}, {"role": "customer", "content": "Hello"}],
        [{"speaker": "agent", "text": "Hi"}, {"speaker": "customer", "text": "Hello"}],
        ["Agent: Hi", "Customer: Hello"],
        "Agent: Hi\nCustomer: Hello",
    ],
    ids=["chat", "turns", "lines", "text"],
)
def test_several_calls_with_a_transcript_each_keep_their_turns(transcript: Any) -> None:
    lines = [json.dumps({"call_id": name, "transcript": transcript}) for name in ("a", "b")]
    calls, _ = read_all("calls.jsonl", "\n".join(lines).encode())
    assert [call.call_id for call in calls] == ["a", "b"]
    for call in calls:
        assert spoken(call) == [("agent", "Hi"), ("customer", "Hello")]
