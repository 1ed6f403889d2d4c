"""One call in every format that can be imported, by the published schemas of the vendors."""

from __future__ import annotations

import base64
import csv
import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import xlsxwriter


class Said(NamedTuple):
    speaker: str
    text: str
    start: float
    end: float


CALL: Sequence[Said] = (
    Said("agent", "Thank you for calling Lakeside Energy, how can I help?", 0.0, 3.2),
    Said("customer", "My bill went up by 40 € — that's twice as much.", 3.9, 7.5),
    Said("agent", "I see a meter reading of 5,120; shall I correct it?", 8.0, 11.25),
    Said("customer", "Yes please, 감사합니다.", 11.8, 13.0),
)
"""Punctuation, digits and another script: every format must preserve them."""


def dumps(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def contact_lens() -> bytes:
    ids = {"agent": "7f1", "customer": "c02"}
    return dumps(
        {
            "Version": "1.1.0",
            "Channel": "VOICE",
            "LanguageCode": "en-GB",
            "CustomerMetadata": {"ContactId": "call-1", "InstanceId": "i"},
            "Participants": [
                {"ParticipantId": "7f1", "ParticipantRole": "AGENT"},
                {"ParticipantId": "c02", "ParticipantRole": "CUSTOMER"},
            ],
            "Categories": {"MatchedCategories": ["billing"], "MatchedDetails": {}},
            "ConversationCharacteristics": {
                "TotalConversationDurationMillis": 13000,
                "Sentiment": {"OverallSentiment": {"AGENT": 1.2, "CUSTOMER": -2.5}},
            },
            "Transcript": [
                {
                    "Id": f"t{number}",
                    "ParticipantId": ids[said.speaker],
                    "Content": said.text,
                    "BeginOffsetMillis": int(said.start * 1000),
                    "EndOffsetMillis": int(said.end * 1000),
                    "Sentiment": "NEGATIVE" if number == 1 else "NEUTRAL",
                    "LoudnessScore": [70.1, 71.0],
                    **(
                        {
                            "IssuesDetected": [
                                {"CharacterOffsets": {"BeginOffsetChar": 0, "EndOffsetChar": 23}}
                            ]
                        }
                        if number == 1
                        else {}
                    ),
                }
                for number, said in enumerate(CALL)
            ],
        }
    )


def contact_lens_real_time() -> bytes:
    segments: list[Any] = [
        {
            "Transcript": {
                "Id": f"t{number}",
                "ParticipantId": said.speaker.upper(),
                "ParticipantRole": said.speaker.upper(),
                "Content": said.text,
                "BeginOffsetMillis": int(said.start * 1000),
                "EndOffsetMillis": int(said.end * 1000),
            }
        }
        for number, said in enumerate(CALL)
    ]
    segments.insert(2, {"Categories": {"MatchedCategories": ["billing"]}})
    return dumps({"Channel": "VOICE", "ContactId": "call-1", "Segments": segments})


def call_analytics() -> bytes:
    return dumps(
        {
            "JobStatus": "COMPLETED",
            "LanguageCode": "en-US",
            "JobName": "call-1",
            "AccountId": "0",
            "Channel": "VOICE",
            "Transcript": [
                {
                    "Id": str(number),
                    "Content": said.text,
                    "ParticipantRole": said.speaker.upper(),
                    "BeginOffsetMillis": said.start * 1000,
                    "EndOffsetMillis": said.end * 1000,
                    "LoudnessScores": [60],
                    "Items": [],
                }
                for number, said in enumerate(CALL)
            ],
        }
    )


def _transcribe_items(said: Said, label: Mapping[str, str]) -> list[dict[str, Any]]:
    """Words and punctuation marks of a turn as Transcribe writes them, with times as strings."""
    items: list[dict[str, Any]] = []
    words = said.text.split(" ")
    step = (said.end - said.start) / len(words)
    for at, word in enumerate(words):
        bare = word.rstrip(",.?;")
        if not bare:
            bare, word = word, word
        items.append(
            {
                "start_time": f"{said.start + at * step:.3f}",
                "end_time": f"{said.start + (at + 1) * step:.3f}",
                "alternatives": [{"confidence": "0.98", "content": bare}],
                "type": "pronunciation",
                **label,
            }
        )
        if word != bare:
            mark = {"confidence": "0.0", "content": word[len(bare) :]}
            items.append({"alternatives": [mark], "type": "punctuation", **label})
    return items


def transcribe() -> bytes:
    labels = {"agent": "spk_0", "customer": "spk_1"}
    items = [
        item
        for said in CALL
        for item in _transcribe_items(said, {"speaker_label": labels[said.speaker]})
    ]
    return dumps(
        {
            "jobName": "call-1",
            "accountId": "0",
            "results": {
                "transcripts": [{"transcript": " ".join(said.text for said in CALL)}],
                "speaker_labels": {"speakers": 2, "segments": []},
                "items": items,
            },
            "status": "COMPLETED",
        }
    )


def transcribe_channels() -> bytes:
    channels = [
        {
            "channel_label": label,
            "items": [
                item for said in CALL if said.speaker == who for item in _transcribe_items(said, {})
            ],
        }
        for label, who in (("ch_0", "agent"), ("ch_1", "customer"))
    ]
    results = {"transcripts": [{"transcript": "…"}], "channel_labels": {"channels": channels}}
    return dumps({"jobName": "call-1", "accountId": "0", "results": results})


def google() -> bytes:
    roles = {"agent": "AGENT", "customer": "END_USER"}
    return dumps(
        {
            "conversation_info": {"categories": [{"display_name": "billing"}]},
            "entries": [
                {
                    "text": said.text,
                    "user_id": 1,
                    "role": roles[said.speaker],
                    "start_timestamp_usec": int(1_700_000_000_000_000 + said.start * 1e6),
                }
                for said in CALL
            ],
        }
    )


def google_api() -> bytes:
    return dumps(
        {
            "name": "projects/p/locations/l/conversations/call-1",
            "startTime": "2026-03-01T09:00:00Z",
            "languageCode": "en-GB",
            "transcript": {
                "transcriptSegments": [
                    {
                        "text": said.text,
                        "confidence": 0.9,
                        "channelTag": 1,
                        "messageTime": f"2026-03-01T09:00:{said.start:06.3f}Z",
                        "segmentParticipant": {
                            "role": "HUMAN_AGENT" if said.speaker == "agent" else "END_USER"
                        },
                    }
                    for said in CALL
                ]
            },
        }
    )


def genesys(origin_ms: int = 0) -> bytes:
    purposes = {"agent": "internal", "customer": "external"}
    return dumps(
        {
            "organizationId": "o",
            "conversationId": "call-1",
            "communicationId": "m",
            "transcripts": [
                {
                    "transcriptId": "t",
                    "language": "en-us",
                    "startTime": origin_ms or 1_700_000_000_000,
                    "duration": {"milliseconds": 13000},
                    "phrases": [
                        {
                            "phraseIndex": number,
                            "participantPurpose": purposes[said.speaker],
                            "text": said.text.lower(),
                            "decoratedText": said.text,
                            "confidence": 0.91,
                            "startTimeMs": origin_ms + int(said.start * 1000),
                            "duration": {"milliseconds": round((said.end - said.start) * 1000)},
                            "words": [],
                        }
                        for number, said in enumerate(CALL)
                    ],
                }
            ],
        }
    )


def genesys_epoch() -> bytes:
    return genesys(1_700_000_000_000)


def deepgram() -> bytes:
    return dumps(
        {
            "metadata": {"request_id": "call-1", "channels": 1, "duration": 13.0},
            "results": {
                "channels": [{"alternatives": [{"transcript": "…", "words": []}]}],
                "utterances": [
                    {
                        "start": said.start,
                        "end": said.end,
                        "confidence": 0.99,
                        "channel": 0,
                        "transcript": said.text,
                        "speaker": int(said.speaker == "customer"),
                        "id": str(number),
                        "words": [],
                    }
                    for number, said in enumerate(CALL)
                ],
            },
        }
    )


def _deepgram_words(said: Said) -> list[dict[str, Any]]:
    words = said.text.split(" ")
    step = (said.end - said.start) / len(words)
    return [
        {
            "word": word.strip(",.?").lower(),
            "punctuated_word": word,
            "start": round(said.start + at * step, 3),
            "end": round(said.start + (at + 1) * step, 3),
            "confidence": 0.9,
            "speaker": int(said.speaker == "customer"),
        }
        for at, word in enumerate(words)
    ]


def deepgram_words() -> bytes:
    words = [word for said in CALL for word in _deepgram_words(said)]
    alternatives = [{"transcript": "…", "confidence": 0.9, "words": words}]
    results = {"channels": [{"alternatives": alternatives}]}
    return dumps({"metadata": {"request_id": "call-1"}, "results": results})


def deepgram_channels() -> bytes:
    channels = []
    for who in ("agent", "customer"):
        words = [word for said in CALL if said.speaker == who for word in _deepgram_words(said)]
        for word in words:
            del word["speaker"]
        channels.append({"alternatives": [{"transcript": "…", "words": words}]})
    return dumps({"metadata": {"request_id": "call-1"}, "results": {"channels": channels}})


def assemblyai() -> bytes:
    return dumps(
        {
            "id": "call-1",
            "language_code": "en_us",
            "text": "…",
            "utterances": [
                {
                    "speaker": "A" if said.speaker == "agent" else "B",
                    "text": said.text,
                    "start": int(said.start * 1000),
                    "end": int(said.end * 1000),
                    "confidence": 0.97,
                    "words": [],
                }
                for said in CALL
            ],
            "sentiment_analysis_results": [
                {"text": "…", "sentiment": "NEGATIVE", "start": 3900, "end": 7500, "speaker": "B"}
            ],
        }
    )


def whisperx() -> bytes:
    speakers = {"agent": "SPEAKER_00", "customer": "SPEAKER_01"}
    return dumps(
        {
            "language": "en",
            "segments": [
                {
                    "start": said.start,
                    "end": said.end,
                    "text": f" {said.text}",
                    "speaker": speakers[said.speaker],
                    "words": [{"word": "x", "start": 0.1, "end": 0.2, "score": 0.9}],
                }
                for said in CALL
            ],
        }
    )


def azure_fast() -> bytes:
    return dumps(
        {
            "durationMilliseconds": 13000,
            "combinedPhrases": [{"channel": 0, "text": "…"}],
            "phrases": [
                {
                    "channel": 0,
                    "speaker": 1 + (said.speaker == "customer"),
                    "offsetMilliseconds": int(said.start * 1000),
                    "durationMilliseconds": round((said.end - said.start) * 1000),
                    "text": said.text,
                    "locale": "en-US",
                    "confidence": 0.9,
                    "words": [],
                }
                for said in CALL
            ],
        }
    )


def azure_batch() -> bytes:
    return dumps(
        {
            "source": "https://example.invalid/call-1.wav",
            "combinedRecognizedPhrases": [],
            "recognizedPhrases": [
                {
                    "recognitionStatus": "Success",
                    "channel": int(said.speaker == "customer"),
                    "offset": "PT1S",
                    "offsetInTicks": said.start * 1e7,
                    "durationInTicks": (said.end - said.start) * 1e7,
                    "nBest": [{"confidence": 0.9, "lexical": "…", "display": said.text}],
                }
                for said in CALL
            ],
        }
    )


def twilio() -> bytes:
    return dumps(
        {
            "transcript_sid": "call-1",
            "sentences": [
                {
                    "media_channel": 1 if said.speaker == "agent" else 2,
                    "sentence_index": number,
                    "start_time": f"{said.start:.2f}",
                    "end_time": f"{said.end:.2f}",
                    "transcript": said.text,
                    "confidence": "0.91",
                    "sid": "GX0",
                }
                for number, said in enumerate(CALL)
            ],
        }
    )


_PARTIES = [
    {"tel": "+15550100", "name": "Sam", "role": "agent"},
    {"tel": "+15550101", "name": "Ola", "role": "customer"},
]


def vcon_texts() -> bytes:
    return dumps(
        {
            "vcon": "0.4.0",
            "uuid": "call-1",
            "subject": "billing",
            "parties": _PARTIES,
            "dialog": [
                {
                    "type": "text",
                    "start": f"2026-03-01T09:00:{said.start:06.3f}Z",
                    "parties": [0, 1],
                    "originator": int(said.speaker == "customer"),
                    "body": said.text,
                    "encoding": "none",
                }
                for said in CALL
            ],
        }
    )


def vcon_transcript() -> bytes:
    lines = [
        {
            "party": int(said.speaker == "customer"),
            "message": said.text,
            "start": said.start,
            "end": said.end,
        }
        for said in CALL
    ]
    return dumps(
        {
            "vcon": "0.4.0",
            "uuid": "call-1",
            "parties": _PARTIES,
            "dialog": [{"type": "recording", "start": "2026-03-01T09:00:00Z", "url": "https://x"}],
            "analysis": [{"type": "transcript", "vendor": "v", "body": lines, "encoding": "json"}],
        }
    )


def vcon_with_vendor() -> bytes:
    return dumps(
        {
            "vcon": "0.4.0",
            "uuid": "call-1",
            "parties": _PARTIES,
            "dialog": [],
            "analysis": [
                {
                    "type": "transcript",
                    "vendor": "deepgram",
                    "body": base64.urlsafe_b64encode(deepgram()).decode().rstrip("="),
                    "encoding": "base64url",
                }
            ],
        }
    )


def _clock(seconds: float, mark: str = ".") -> str:
    whole, millis = divmod(round(seconds * 1000), 1000)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}{mark}{millis:03}"


def webvtt_voices() -> bytes:
    names = {"agent": "Agent", "customer": "Customer"}
    cues = [
        f"{_clock(said.start)} --> {_clock(said.end)}\n<v {names[said.speaker]}>{said.text}</v>"
        for said in CALL
    ]
    return "\n\n".join(["WEBVTT", "NOTE by hand", *cues, ""]).encode()


def webvtt_labels() -> bytes:
    cues = [
        f"{number}\n{_clock(said.start)} --> {_clock(said.end)} align:start\n"
        f"{said.speaker.title()}: {said.text}"
        for number, said in enumerate(CALL, start=1)
    ]
    return "\n\n".join(["WEBVTT - call", *cues, ""]).encode()


def srt() -> bytes:
    cues = [
        f"{number}\n{_clock(said.start, ',')} --> {_clock(said.end, ',')}\n"
        f"{said.speaker.title()}: {said.text}"
        for number, said in enumerate(CALL, start=1)
    ]
    return "\r\n\r\n".join(cues).replace("\n", "\r\n").replace("\r\r", "\r").encode()


def labelled_text() -> bytes:
    lines = [f"[00:{int(said.start):02}] {said.speaker.title()}: {said.text}" for said in CALL]
    return "\n".join(["Call of 1 March", "", *lines]).encode()


def labelled_text_plain() -> bytes:
    return "\n\n".join(f"{said.speaker.upper()}: {said.text}" for said in CALL).encode()


def _table_rows() -> list[list[Any]]:
    rows: list[list[Any]] = [["Call ID", "Turn", "Speaker", "Text", "Start", "End"]]
    for number, said in enumerate(CALL, start=1):
        rows.append(["call-1", number, said.speaker, said.text, said.start, said.end])
    return rows


def csv_turns(delimiter: str = ",") -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter).writerows(_table_rows())
    return file.getvalue().encode()


def csv_semicolons() -> bytes:
    return b"\xef\xbb\xbf" + csv_turns(";")


def csv_calls() -> bytes:
    file = io.StringIO(newline="")
    rows = csv.writer(file)
    rows.writerow(["conversation_id", "queue", "transcript"])
    text = "\n".join(f"[00:{said.start:06.3f}] {said.speaker}: {said.text}" for said in CALL)
    rows.writerow(["call-1", "billing", text])
    return file.getvalue().encode()


def xlsx_turns() -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True}) as book:
        about = book.add_worksheet("About")
        about.write_row(0, 0, ["made", "for"])
        about.write_row(1, 0, ["a", "test"])
        sheet = book.add_worksheet("Turns")
        for at, row in enumerate(_table_rows()):
            sheet.write_row(at, 0, row)
    return file.getvalue()


def chat_jsonl() -> bytes:
    roles = {"agent": "assistant", "customer": "user"}
    messages = [{"role": "system", "content": "You are helpful."}]
    messages += [{"role": roles[said.speaker], "content": said.text} for said in CALL]
    return dumps({"id": "call-1", "messages": messages}) + b"\n"


def elevenlabs() -> bytes:
    roles = {"agent": "agent", "customer": "user"}
    return dumps(
        {
            "conversation_id": "call-1",
            "agent_id": "a",
            "status": "done",
            "transcript": [
                {
                    "role": roles[said.speaker],
                    "message": said.text,
                    "time_in_call_secs": said.start,
                    "tool_calls": [],
                    "tool_results": [],
                    "interrupted": False,
                }
                for said in CALL
            ],
        }
    )


def retell() -> bytes:
    roles = {"agent": "agent", "customer": "user"}
    return dumps(
        {
            "call_id": "call-1",
            "transcript": "…",
            "duration_ms": 13000,
            "transcript_object": [
                {
                    "role": roles[said.speaker],
                    "content": said.text,
                    "words": [{"word": "x", "start": said.start, "end": said.end}],
                }
                for said in CALL
            ],
        }
    )


def _messages() -> list[dict[str, str]]:
    roles = {"agent": "assistant", "customer": "user"}
    return [{"role": roles[said.speaker], "content": said.text} for said in CALL]


def _labelled() -> str:
    return "\n".join(f"{said.speaker.title()}: {said.text}" for said in CALL)


EXPECTED = {"detected_keywords": ["bill"], "detected_topics": [], "valid_entity_set": ["bill"]}


def openai_evals() -> bytes:
    row = {
        "item": {"id": "call-1", "input": _messages(), "expected": EXPECTED},
        "sample": {"output_text": '{"detected_keywords": []}', "model": "m-1"},
    }
    return dumps(row) + b"\n"


def promptfoo_yaml() -> bytes:
    text = "\n".join(f"          {line}" for line in _labelled().split("\n"))
    return (
        "prompts: ['{{transcript}}']\ntests:\n"
        "  - description: call-1\n    vars:\n      transcript: |\n"
        f"{text}\n    assert:\n      - type: equals\n        value: billing\n"
    ).encode()


def promptfoo_csv() -> bytes:
    file = io.StringIO(newline="")
    rows = csv.writer(file)
    rows.writerow(["transcript", "__description", "__expected"])
    rows.writerow([_labelled(), "call-1", "equals: billing"])
    return file.getvalue().encode()


def promptfoo_results() -> bytes:
    def result(model: str) -> dict[str, Any]:
        usage = {"prompt": 10, "completion": 5, "total": 15}
        return {
            "testIdx": 0,
            "vars": {"transcript": _labelled()},
            "provider": {"id": model},
            "response": {"output": "billing", "tokenUsage": usage},
            "cost": 0.002,
            "success": True,
        }

    return dumps({"evalId": "e", "results": {"version": 3, "results": [result("a"), result("b")]}})


def deepeval_goldens() -> bytes:
    golden = {
        "input": _labelled(),
        "expected_output": json.dumps(EXPECTED),
        "actual_output": "{}",
        "name": "call-1",
    }
    return dumps([golden])


def deepeval_csv() -> bytes:
    file = io.StringIO(newline="")
    rows = csv.writer(file)
    rows.writerow(["input", "actual_output", "expected_output"])
    rows.writerow([_labelled(), "{}", "billing"])
    return file.getvalue().encode()


_SAMPLE = {
    "id": "call-1",
    "epoch": 1,
    "input": _messages(),
    "target": json.dumps(EXPECTED),
    "output": {
        "model": "m-1",
        "completion": "{}",
        "usage": {"input_tokens": 9, "output_tokens": 2},
    },
}


def inspect_json() -> bytes:
    return dumps({"version": 2, "status": "success", "eval": {"task": "t"}, "samples": [_SAMPLE]})


def inspect_archive() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"version": 2, "eval": {}}))
        archive.writestr("samples/call-1_epoch_1.json", json.dumps(_SAMPLE))
    return file.getvalue()


def _millis(seconds: float) -> int:
    return round(seconds * 1000)


def post_call_analytics() -> bytes:
    labels = [
        {"Speaker": "spk_0", "DisplayText": "Agent"},
        {"Speaker": "spk_1", "DisplayText": "Customer"},
    ]
    segments = [
        {
            "SegmentStartTime": said.start,
            "SegmentEndTime": said.end,
            "SegmentSpeaker": f"spk_{int(said.speaker == 'customer')}",
            "OriginalText": said.text.upper(),
            "DisplayText": said.text,
            "SentimentIsPositive": 0,
            "SentimentIsNegative": 1,
        }
        for said in CALL
    ]
    analytics = {"GUID": "call-1", "LanguageCode": "en-US", "SpeakerLabels": labels}
    return dumps({"ConversationAnalytics": analytics, "SpeechSegments": segments})


def bedrock_automation() -> bytes:
    segments = [
        {
            "start_timestamp_millis": _millis(said.start),
            "end_timestamp_millis": _millis(said.end),
            "segment_index": number,
            "type": "TRANSCRIPT",
            "text": said.text,
            "speaker": {"speaker_label": f"spk_{int(said.speaker == 'customer')}"},
            "channel": {"channel_label": "ch_0"},
        }
        for number, said in enumerate(CALL)
    ]
    metadata = {"s3_key": "calls/call-1.wav", "dominant_asset_language": "EN"}
    items = [{"content": "word", "start_timestamp_millis": 1, "end_timestamp_millis": 2}]
    return dumps({"metadata": metadata, "audio_items": items, "audio_segments": segments})


def gong() -> bytes:
    monologues = [
        {
            "speakerId": said.speaker,
            "topic": None,
            "sentences": [
                {"start": _millis(said.start), "end": _millis(said.end), "text": said.text}
            ],
        }
        for said in CALL
    ]
    return dumps(
        {
            "requestId": "r",
            "records": {"totalRecords": 1},
            "callTranscripts": [{"callId": "call-1", "transcript": monologues}],
        }
    )


def speechmatics() -> bytes:
    results: list[dict[str, Any]] = []
    for said in CALL:
        words = said.text.split()
        for at, word in enumerate(words):
            part = (said.end - said.start) / len(words)
            results.append(
                {
                    "type": "word",
                    "start_time": round(said.start + at * part, 3),
                    "end_time": round(said.start + (at + 1) * part, 3),
                    "alternatives": [
                        {
                            "content": word,
                            "confidence": 0.9,
                            "speaker": "S1" if said.speaker == "agent" else "S2",
                        }
                    ],
                }
            )
    config = {"language": "en", "diarization": "speaker"}
    return dumps(
        {
            "format": "2.9",
            "job": {"id": "call-1"},
            "metadata": {"transcription_config": config},
            "results": results,
        }
    )


def vapi() -> bytes:
    roles = {"agent": "bot", "customer": "user"}
    messages: list[dict[str, Any]] = [{"role": "system", "message": "Be kind.", "time": 1}]
    messages += [
        {
            "role": roles[said.speaker],
            "message": said.text,
            "time": 1_700_000_000_000 + _millis(said.start),
            "endTime": 1_700_000_000_000 + _millis(said.end),
            "secondsFromStart": said.start,
            "duration": _millis(said.end - said.start),
        }
        for said in CALL
    ]
    report = {
        "type": "end-of-call-report",
        "call": {"id": "call-1"},
        "artifact": {"messages": messages, "transcript": "AI: …"},
    }
    return dumps({"message": report})


def livekit() -> bytes:
    roles = {"agent": "assistant", "customer": "user"}
    items: list[dict[str, Any]] = [
        {"id": "0", "type": "agent_config_update", "created_at": 1_700_000_000.0}
    ]
    items += [
        {
            "id": str(number),
            "type": "message",
            "role": roles[said.speaker],
            "content": [said.text],
            "interrupted": False,
            "created_at": 1_700_000_009.0 + said.end,
            "metrics": {
                "started_speaking_at": 1_700_000_000.0 + said.start,
                "stopped_speaking_at": 1_700_000_000.0 + said.end,
            },
        }
        for number, said in enumerate(CALL, start=1)
    ]
    return dumps(
        {
            "job_id": "call-1",
            "room": "room",
            "events": [],
            "chat_history": {"items": items},
            "audio_recording_started_at": 1_700_000_000.0,
        }
    )


def realtime_events() -> bytes:
    events: list[dict[str, Any]] = [{"type": "session.created", "session": {}}]
    for number, said in enumerate(CALL):
        item = f"item_{number}"
        if said.speaker == "customer":
            content = [{"type": "input_audio", "transcript": None}]
            events.append(
                {
                    "type": "conversation.item.created",
                    "item": {"id": item, "type": "message", "role": "user", "content": content},
                }
            )
            kind = "conversation.item.input_audio_transcription.completed"
        else:
            kind = "response.output_audio_transcript.done"
        events.append({"type": kind, "item_id": item, "transcript": said.text})
    return b"\n".join(map(dumps, events))


def turn_list() -> bytes:
    turns = [
        {"who": said.speaker, "utterance": said.text, "startMs": _millis(said.start),
         "endMs": _millis(said.end)}
        for said in CALL
    ]  # fmt: skip
    return dumps({"status": "ok", "data": {"call_id": "call-1", "dialogue": turns}})


def whisper_cpp() -> bytes:
    segments = [
        {"offsets": {"from": _millis(said.start), "to": _millis(said.end)},
         "text": f" {said.text}", "speaker": said.speaker}
        for said in CALL
    ]  # fmt: skip
    return dumps({"result": {"language": "en"}, "transcription": segments})


def assemblyai_sentences() -> bytes:
    sentences: list[dict[str, Any]] = [
        {"text": said.text, "start": _millis(said.start), "end": _millis(said.end),
         "confidence": 0.9, "words": [], "speaker": "A" if said.speaker == "agent" else "B"}
        for said in CALL
    ]  # fmt: skip
    return dumps({"id": "call-1", "confidence": 0.9, "sentences": sentences})


def sbv() -> bytes:
    return "\n\n".join(
        f"{_clock(said.start)[1:]},{_clock(said.end)[1:]}\n{said.speaker.title()}: {said.text}"
        for said in CALL
    ).encode()


def ass() -> bytes:
    head = "[Script Info]\nTitle: call\n\n[Events]\nFormat: Layer, Start, End, Style, Name, Text\n"
    return (head + "\n".join(
        f"Dialogue: 0,{_clock(said.start)[1:]},{_clock(said.end)[1:]},Default,"
        f"{said.speaker.title()},0,0,0,,{{\\i1}}{said.text}" for said in CALL
    )).encode()  # fmt: skip


def elevenlabs_webhook() -> bytes:
    data = json.loads(elevenlabs())
    return dumps({"type": "post_call_transcription", "event_timestamp": 1, "data": data})


def retell_webhook() -> bytes:
    return dumps({"event": "call_analyzed", "call": json.loads(retell())})


def deepeval_turns_csv() -> bytes:
    file = io.StringIO(newline="")
    rows = csv.writer(file)
    rows.writerow(["scenario", "turns", "expected_outcome", "name"])
    rows.writerow(["A high bill", json.dumps(_messages()), "It is explained", "call-1"])
    return file.getvalue().encode()


def promptfoo_chat() -> bytes:
    raw = json.dumps([{"role": "system", "content": "Be kind."}, *_messages()])
    result = {
        "testIdx": 0,
        "vars": {"language": "English"},
        "prompt": {"raw": raw, "label": "chat"},
        "provider": {"id": "a"},
        "response": {"output": "billing"},
    }
    return dumps({"results": {"version": 3, "results": [result]}})


WITH_TIMES: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "contact-lens.json": ("contact-lens", contact_lens),
    "contact-lens-real-time.json": ("contact-lens", contact_lens_real_time),
    "call-analytics.json": ("contact-lens", call_analytics),
    "transcribe.json": ("transcribe", transcribe),
    "transcribe-channels.json": ("transcribe", transcribe_channels),
    "google.json": ("google-cx-insights", google),
    "google-api.json": ("google-cx-insights", google_api),
    "genesys.json": ("genesys", genesys),
    "genesys-epoch.json": ("genesys", genesys_epoch),
    "deepgram.json": ("deepgram", deepgram),
    "deepgram-words.json": ("deepgram", deepgram_words),
    "deepgram-channels.json": ("deepgram", deepgram_channels),
    "assemblyai.json": ("assemblyai", assemblyai),
    "whisperx.json": ("whisper", whisperx),
    "azure-fast.json": ("azure", azure_fast),
    "azure-batch.json": ("azure", azure_batch),
    "twilio.json": ("twilio", twilio),
    "vcon-texts.json": ("vcon", vcon_texts),
    "vcon-transcript.json": ("vcon", vcon_transcript),
    "vcon-vendor.json": ("deepgram", vcon_with_vendor),
    "voices.vtt": ("webvtt", webvtt_voices),
    "labels.vtt": ("webvtt", webvtt_labels),
    "call.srt": ("srt", srt),
    "turns.csv": ("csv", csv_turns),
    "semicolons.csv": ("csv", csv_semicolons),
    "calls.csv": ("csv", csv_calls),
    "turns.xlsx": ("xlsx", xlsx_turns),
    "elevenlabs.json": ("elevenlabs", elevenlabs),
    "retell.json": ("retell", retell),
    "retell-webhook.json": ("retell", retell_webhook),
    "elevenlabs-webhook.json": ("elevenlabs", elevenlabs_webhook),
    "vapi.json": ("vapi", vapi),
    "livekit.json": ("livekit", livekit),
    "gong.json": ("gong", gong),
    "speechmatics.json": ("speechmatics", speechmatics),
    "post-call-analytics.json": ("post-call-analytics", post_call_analytics),
    "bedrock.json": ("bedrock-data-automation", bedrock_automation),
    "assemblyai-sentences.json": ("assemblyai", assemblyai_sentences),
    "whisper-cpp.json": ("whisper", whisper_cpp),
    "turns.json": ("turns", turn_list),
    "call.sbv": ("sbv", sbv),
    "call.ass": ("ass", ass),
}
WITHOUT_TIMES: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "plain.txt": ("text", labelled_text_plain),
    "stamped.txt": ("text", labelled_text),
    "chat.jsonl": ("chat", chat_jsonl),
    "openai-evals.jsonl": ("openai-evals", openai_evals),
    "promptfooconfig.yaml": ("promptfoo", promptfoo_yaml),
    "promptfoo.csv": ("promptfoo", promptfoo_csv),
    "promptfoo-results.json": ("promptfoo", promptfoo_results),
    "goldens.json": ("deepeval", deepeval_goldens),
    "goldens.csv": ("deepeval", deepeval_csv),
    "conversational-goldens.csv": ("deepeval", deepeval_turns_csv),
    "promptfoo-chat.json": ("promptfoo", promptfoo_chat),
    "realtime.jsonl": ("openai-realtime", realtime_events),
    "inspect.json": ("inspect", inspect_json),
    "log.eval": ("inspect", inspect_archive),
}
EVERY_FORMAT = {**WITH_TIMES, **WITHOUT_TIMES}
