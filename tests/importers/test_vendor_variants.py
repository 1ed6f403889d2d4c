"""What vendors really send: webhooks, lists, fragments, deleted and failed records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from call_files import (
    CALL,
    assemblyai,
    contact_lens,
    deepgram_words,
    dumps,
    elevenlabs,
    gong,
    retell,
    vapi,
    vcon_texts,
)
from callscore.core.errors import DataError
from callscore.importers.conversation import Conversation, ImportContext, SkippedPart
from callscore.importers.formats import detect_format, read_any_format
from callscore.importers.source_file import Source

SPOKEN = [(said.speaker, said.text) for said in CALL]


def read_all(value: Any, name: str = "x.json") -> tuple[list[Conversation], list[SkippedPart]]:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    found = list(read_any_format(Source(name, data), ImportContext(name, Path(name).stem)))
    calls = [one for one in found if isinstance(one, Conversation)]
    return calls, [one for one in found if isinstance(one, SkippedPart)]


def only_call(value: Any) -> Conversation:
    (call,), _ = read_all(value)
    return call


def spoken(call: Conversation) -> list[tuple[str, str]]:
    return [(turn.speaker, turn.text) for turn in call.turns]


def test_call_analytics_has_roles_without_participant_ids() -> None:
    value = json.loads(contact_lens())
    value["Participants"] = [{"ParticipantRole": "AGENT"}, {"ParticipantRole": "CUSTOMER"}]
    for turn, said in zip(value["Transcript"], CALL, strict=True):
        del turn["ParticipantId"]
        turn["ParticipantRole"] = said.speaker.upper()
    value["Transcript"][1]["IssuesDetected"] = [{"CharacterOffsets": {"Begin": 0, "End": 7}}]
    call = only_call(value)
    assert spoken(call) == SPOKEN
    assert call.metadata["issues"] == [CALL[1].text[:7]]


def test_lists_of_calls_of_voice_agents_are_several_calls() -> None:
    for name, write in (("elevenlabs", elevenlabs), ("retell", retell), ("vapi", vapi)):
        one = json.loads(write())
        calls, _ = read_all([one, one])
        assert [call.format for call in calls] == [name, name]
        assert spoken(calls[1]) == SPOKEN


def test_a_retell_call_with_only_a_text_is_read() -> None:
    text = "\n".join(f"{'Agent' if s.speaker == 'agent' else 'User'}: {s.text}" for s in CALL)
    value = {"call_id": "c", "call_status": "ended", "transcript": text}
    assert spoken(only_call({"event": "call_ended", "call": value})) == SPOKEN


def test_a_vapi_call_keeps_tool_calls_and_says_what_it_skips() -> None:
    value = json.loads(vapi())["message"]
    call = {"id": "v", "type": "token", "function": {"name": "find", "arguments": '{"id": 7}'}}
    value["artifact"]["messages"][2:2] = [
        {"role": "tool_calls", "toolCalls": [call], "secondsFromStart": 3.5, "time": 1},
        {"role": "tool_call_result", "name": "find", "result": "{}", "secondsFromStart": 3.6},
    ]
    (found,), skipped = read_all(value)
    assert found.turns[1].tool_calls == [{"name": "find", "arguments": {"id": 7}}]
    assert [one.why for one in skipped] == ["a system message", "a tool result"]
    in_list = only_call([{"id": "v7", "messages": value["artifact"]["messages"][3:]}])
    assert in_list.call_id == "v7"


def test_livekit_tool_calls_are_turns_of_the_agent() -> None:
    items = [
        {"type": "message", "role": "user", "content": ["Hello", {"type": "image_content"}]},
        {"type": "function_call", "name": "find", "arguments": "{}", "call_id": "1"},
        {"type": "function_call_output", "name": "find", "output": "x", "call_id": "1"},
        {"type": "message", "role": "assistant", "content": ["Found."]},
    ]
    (call,), skipped = read_all({"room": "r7", "chat_history": {"items": items}})
    assert [turn.speaker for turn in call.turns] == ["customer", "agent", "agent"]
    assert call.turns[1].tool_calls == [{"name": "find", "arguments": {}}]
    assert [one.why for one in skipped] == ["an item 'function_call_output'"]
    assert call.call_id == "r7"


def test_realtime_items_are_read_as_their_transcripts() -> None:
    items = [
        {"object": "realtime.item", "id": "a", "type": "message", "role": "user",
         "content": [{"type": "input_audio", "transcript": "Hello."}]},
        {"object": "realtime.item", "id": "b", "type": "message", "role": "assistant",
         "content": [{"type": "output_audio", "transcript": "Hi."}]},
    ]  # fmt: skip
    assert spoken(only_call(items)) == [("customer", "Hello."), ("agent", "Hi.")]


def test_gong_parties_give_the_roles() -> None:
    value = json.loads(gong())["callTranscripts"][0]
    value["parties"] = [
        {"speakerId": "agent", "name": "Ann", "affiliation": "Internal"},
        {"speakerId": "customer", "name": "Bob", "affiliation": "External"},
    ]
    call = only_call({"calls": [value]})
    assert spoken(call) == SPOKEN
    assert not any(turn.role_guessed for turn in call.turns)


def test_assemblyai_words_are_joined_by_speaker_and_deleted_records_are_named() -> None:
    value = json.loads(assemblyai())
    words = []
    for said in CALL:
        speaker = "A" if said.speaker == "agent" else "B"
        words += [
            {"text": word, "start": round(said.start * 1000), "end": round(said.end * 1000),
             "confidence": 0.9, "speaker": speaker}
            for word in said.text.split()
        ]  # fmt: skip
    value |= {"utterances": None, "words": words, "audio_url": "https://x"}
    assert spoken(only_call(value)) == SPOKEN
    deleted = {**value, "text": "Deleted by user.", "words": [], "audio_url": "deleted_by_user"}
    failed = {**value, "status": "error", "error": "no speech", "text": None, "words": None}
    calls, skipped = read_all([value, deleted, failed])
    assert len(calls) == 1
    assert [one.why for one in skipped] == [
        "a transcript that was deleted by its user",
        "a transcript with the status 'error': no speech",
    ]


def test_utterances_of_an_unknown_system_are_not_taken_for_milliseconds() -> None:
    turns = [{"speaker": s.speaker, "text": s.text, "start": s.start, "end": s.end} for s in CALL]
    call = only_call({"utterances": turns})
    assert [turn.start for turn in call.turns] == [said.start for said in CALL]


def test_whisper_text_without_segments_is_one_turn_with_a_note() -> None:
    call = only_call({"text": "Hello there.", "usage": {"type": "duration", "seconds": 3}})
    assert spoken(call) == [("unknown", "Hello there.")]
    assert "the file names no speakers; its turns have no role" in call.notes


def test_a_vcon_with_one_of_deepgrams_alternatives_is_one_call() -> None:
    value = json.loads(vcon_texts())
    alternative = json.loads(deepgram_words())["results"]["channels"][0]["alternatives"][0]
    for body in (alternative, {"alternatives": [alternative]}):
        value |= {"dialog": [], "analysis": [{"type": "transcript", "body": body}]}
        call = only_call(value)
        assert (call.call_id, call.format) == ("call-1", "deepgram")
        assert spoken(call) == SPOKEN


def test_roles_in_the_meta_of_a_vcon_count_and_external_texts_are_named() -> None:
    value = json.loads(vcon_texts())
    for party in value["parties"]:
        party["meta"] = {"role": party.pop("role")}
    value["dialog"].append({"type": "text", "url": "https://example.invalid/x", "parties": [0]})
    (call,), skipped = read_all(value)
    assert spoken(call) == SPOKEN
    assert [one.why for one in skipped] == ["a dialog whose text is at a URL, which is not fetched"]


def test_subtitles_inside_a_vcon_are_read() -> None:
    value = json.loads(vcon_texts())
    text = "WEBVTT\n\n" + "\n\n".join(
        f"00:00:{s.start:06.3f} --> 00:00:{s.end:06.3f}\n<v {s.speaker}>{s.text}" for s in CALL
    )
    value["dialog"] = [{"type": "text", "mediatype": "text/vtt", "body": text, "encoding": "none"}]
    assert spoken(only_call(value)) == SPOKEN


def test_a_turn_list_in_another_analysis_of_a_vcon_is_read_if_there_is_no_transcript() -> None:
    value = json.loads(vcon_texts())
    lines = [{"speaker": said.speaker, "message": said.text} for said in CALL]
    value |= {"dialog": [], "analysis": [{"type": "analysis_info", "body": lines}]}
    assert spoken(only_call(value)) == SPOKEN


def test_sentences_of_a_speaker_are_one_turn_of_one_call() -> None:
    value = {
        "id": "c",
        "monologues": [
            {"speakerId": s.speaker, "sentences": [{"text": s.text, "start": s.start}]}
            for s in CALL
        ],
    }
    assert spoken(only_call(value)) == SPOKEN


def test_a_broken_table_can_be_text() -> None:
    text = 'Agent: Hello, "dear" one, "x" y\nCustomer: "Hi", he said.\n,"a"b\n'
    assert detect_format(Source("a.txt", text.encode())).name == "text"


def test_a_deepgram_response_without_speakers_begins_a_turn_after_a_pause() -> None:
    words = [
        {"word": "hello", "punctuated_word": "Hello.", "start": 0.1, "end": 0.5},
        {"word": "hi", "punctuated_word": "Hi.", "start": 4.0, "end": 4.2},
    ]
    value = {"results": {"channels": [{"alternatives": [{"transcript": "…", "words": words}]}]}}
    assert [turn.text for turn in only_call(value).turns] == ["Hello.", "Hi."]


def test_names_after_a_role_keep_the_role() -> None:
    turns = [{"speaker": "Agent Mike Rivera", "text": "Hello"}, {"speaker": "Sarah", "text": "Hi"}]
    call = only_call(turns)
    assert [turn.speaker for turn in call.turns] == ["agent", "customer"]
    assert call.turns[0].label == "Agent Mike Rivera"


def test_a_record_of_several_that_cannot_be_read_is_named_and_the_others_are_read() -> None:
    one, other = json.loads(retell()), json.loads(retell())
    other["duration_ms"] = "soon"
    calls, skipped = read_all(dumps([other, one]))
    assert len(calls) == 1
    assert skipped[0].where == "x.json: $[0]"
    assert skipped[0].why.startswith("cannot be read: field [0].duration_ms: Expected")
    with pytest.raises(DataError, match=r"field duration_ms: Expected"):
        read_all(dumps(other))
