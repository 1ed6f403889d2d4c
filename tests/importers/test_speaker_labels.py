"""Speaker labels in text and subtitles: what counts as one, and what is a sentence with a colon."""

from __future__ import annotations

from pathlib import Path

import pytest

from callscore.core.errors import DataError
from callscore.importers.conversation import Conversation, ImportContext
from callscore.importers.folder import parse_roles
from callscore.importers.formats import detect_format, read_any_format
from callscore.importers.source_file import Source


def read_call(name: str, text: str, roles: str = "") -> Conversation:
    context = ImportContext(name, Path(name).stem, parse_roles([roles] if roles else []))
    found = [*read_any_format(Source(name, text.encode()), context)]
    (call,) = (one for one in found if isinstance(one, Conversation))
    return call


def spoken(call: Conversation) -> list[tuple[str, str]]:
    return [(turn.speaker, turn.text) for turn in call.turns]


def srt(*cues: tuple[float, float, str]) -> str:
    def clock(seconds: float) -> str:
        return f"00:00:{seconds:06.3f}".replace(".", ",")

    return "\n\n".join(
        f"{number}\n{clock(start)} --> {clock(end)}\n{text}"
        for number, (start, end, text) in enumerate(cues, start=1)
    )


def test_a_role_that_the_words_spoken_contradict_is_named() -> None:
    text = "Speaker 1: Thank you for calling, how can I help?\nSpeaker 2: My bill is wrong.\n"
    call = read_call("a.txt", text, "speaker 1=customer")
    assert [turn.speaker for turn in call.turns] == ["customer", "agent"]
    assert call.notes[:2] == [
        "role guessed from the other role: 'Speaker 2' is the agent",
        "'Speaker 1' is the customer by --roles, but speaks as an agent",
    ]
    right = read_call("a.txt", text, "speaker 1=agent,speaker 2=customer")
    assert not any("role" in note for note in right.notes)


UNLABELLED = (
    (0, 2, "Hello, my router is broken."),
    (2, 4, "One thing: it blinks red."),
    (4, 6, "I will send a technician."),
    (6, 8, "Thank you."),
)


def test_a_colon_in_unlabelled_subtitles_swallows_nothing() -> None:
    for text in (srt(*UNLABELLED), "WEBVTT\n\n" + srt(*UNLABELLED).replace(",", ".")):
        call = read_call("a.srt", text)
        assert len(call.turns) == 4
        assert call.turns[1].text.startswith("One thing")
        assert {turn.speaker for turn in call.turns} == {"unknown"}


def test_a_label_that_occurs_once_counts_if_it_is_the_word_of_a_role() -> None:
    call = read_call(
        "a.srt", srt((0, 1, "Agent: Hello."), (1, 2, "Customer: Hi."), (2, 3, "Note: no."))
    )
    assert spoken(call) == [("agent", "Hello."), ("customer", "Hi. Note: no.")]


def test_a_name_counts_if_it_recurs_and_then_another_name_that_occurs_once() -> None:
    cues = ((0, 1, "Maria: Hello."), (1, 2, "John: I lost my card."), (2, 3, "Maria: I see."))
    assert [turn.label for turn in read_call("a.srt", srt(*cues)).turns] == [
        "Maria",
        "John",
        "Maria",
    ]
    once = read_call("a.srt", srt(*cues[:2]))
    assert [turn.label for turn in once.turns] == [None, None]
    assert once.turns[1].text == "John: I lost my card."


def test_a_label_that_the_user_names_counts() -> None:
    cues = ((0, 1, "Maria: Hello."), (1, 2, "the other one: Hi."))
    call = read_call("a.srt", srt(*cues), "Maria=agent,the other one=customer")
    assert spoken(call) == [("agent", "Hello."), ("customer", "Hi.")]


def test_cues_without_a_speaker_join_the_turn_before_only_without_a_pause() -> None:
    cues = (
        (0, 1, "Agent: Please hold"), (1.2, 2, "the line."), (9, 10, "Are you there?"),
        (10, 11, "Customer: Yes."), (11, 12, "- I am.\n- Good."),
    )  # fmt: skip
    call = read_call("a.srt", srt(*cues))
    assert spoken(call) == [
        ("agent", "Please hold the line."),
        ("unknown", "Are you there?"),
        ("customer", "Yes."),
        ("unknown", "I am."),
        ("unknown", "Good."),
    ]
    assert (call.turns[0].start, call.turns[0].end) == (0.0, 2.0)


def test_a_sound_in_brackets_is_no_speaker_and_a_name_in_brackets_is_one() -> None:
    cues = (
        (0, 1, "(Priya) Hello."), (1, 2, "[Music] [Music]"), (2, 3, "(Tom) Hi."),
        (3, 4, "(Priya) Yes?"), (4, 5, "(Tom) It is broken."),
    )  # fmt: skip
    call = read_call("a.vtt", "WEBVTT\n\n" + srt(*cues).replace(",", "."))
    assert [turn.label for turn in call.turns] == ["Priya", "Tom", "Priya", "Tom"]
    assert call.turns[0].text == "Hello. [Music] [Music]"


def test_a_name_in_brackets_on_a_line_of_its_own_begins_a_turn() -> None:
    cues = (
        (0, 4, "(Danyel Fisher)\nWhat is your uh"),
        (4, 8, "(Danyel Fisher)\nbackground?\n-\n \n(Dana Bett)\nLife. or work?"),
        (8, 12, "(Dana Bett)\nBoth."),
    )
    call = read_call("a.vtt", "WEBVTT\n\n" + srt(*cues).replace(",", "."))
    assert [(turn.label, turn.text) for turn in call.turns] == [
        ("Danyel Fisher", "What is your uh"),
        ("Danyel Fisher", "background?"),
        ("Dana Bett", "Life. or work?"),
        ("Dana Bett", "Both."),
    ]


def test_lines_that_rolling_captions_repeat_are_read_once() -> None:
    words = ["hello my router", "is broken it", "blinks red", "can you help"]
    pairs = zip([" ", *words], words, strict=False)
    cues = [(at, at + 1.5, f"{before}\n{now}") for at, (before, now) in enumerate(pairs)]
    call = read_call("a.srt", srt(*cues))
    assert [turn.text for turn in call.turns] == words
    assert "rolling captions: repeated lines were removed" in call.notes


def test_notes_styles_ids_and_damaged_cues_do_not_lose_the_others() -> None:
    text = (
        "\ufeffWEBVTT Kind: captions\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000\n\n"
        "STYLE\n::cue { color: red }\n\n"
        "NOTE\na remark: here\n\nid-1\n00:01.000 --> 00:02.000 align:start\n<v Agent>Hello\n\n"
        "00:03.000 -> 00:04.000\nlost\n\n"
        "00:05.000 --> 00:06.000\n<v.loud Customer>Hi &amp; <b>bye</b></v>\n"
    )
    assert spoken(read_call("a.vtt", text)) == [("agent", "Hello"), ("customer", "Hi & bye")]


def test_srt_without_empty_lines_and_with_empty_cues_is_read() -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\nAgent: Hi\n2\n00:00:02,000 --> 00:00:03,000\n\n3\n" \
           "00:00:03,000 --> 00:00:04,000\nCustomer: 42\n"  # fmt: skip
    assert spoken(read_call("a.srt", text)) == [("agent", "Hi"), ("customer", "42")]


def test_sbv_is_read() -> None:
    text = "0:00:01.000,0:00:02.500\nAgent: Hello.\n\n0:00:03.000,0:00:04.000\nCustomer: Hi.\n"
    call = read_call("a.sbv", text)
    assert call.format == "sbv"
    assert spoken(call) == [("agent", "Hello."), ("customer", "Hi.")]
    assert call.turns[1].start == 3.0


@pytest.mark.parametrize(
    "text",
    [
        "**Agent:** Hello there.\n\n**Customer:** Hi: there.\n",
        "**Agent**: Hello there.\n**Customer**: Hi: there.\n",
        "AGENT - Hello there.\nCUSTOMER - Hi: there.\n",
        "(Agent) Hello there.\n(Customer) Hi: there.\n",
        "[Agent]: Hello there.\n[Customer]: Hi: there.\n",
        "- Agent: Hello there.\n- Customer: Hi: there.\n",
        "Agent：Hello there.\nCustomer：Hi: there.\n",
        "[2026-03-01 09:00:00] Agent: Hello there.\n[2026-03-01 09:00:05] Customer: Hi: there.\n",
        "[10:32:05 AM] Agent: Hello there.\n[10:32:09 AM] Customer: Hi: there.\n",
        "Agent  0:03\nHello there.\n\nCustomer  0:07\nHi: there.\n",
        "00:03 Agent\nHello there.\n\n00:07 Customer\nHi: there.\n",
    ],
)
def test_labels_are_found_in_every_form(text: str) -> None:
    call = read_call("a.txt", text)
    assert spoken(call) == [("agent", "Hello there."), ("customer", "Hi: there.")]


def test_a_line_with_a_name_and_a_time_begins_a_turn() -> None:
    text = "Priya Shah  0:03\nThank you for calling, how can I help?\nI am here.\n\n" \
           "Tom Wu  0:09\nMy bill: it is too high.\n\nPriya Shah  1:00:12\nI see.\n"  # fmt: skip
    call = read_call("otter.txt", text)
    assert [(turn.label, turn.start) for turn in call.turns] == [
        ("Priya Shah", 3.0), ("Tom Wu", 9.0), ("Priya Shah", 3612.0)
    ]  # fmt: skip
    assert call.turns[0].text == "Thank you for calling, how can I help? I am here."
    assert call.turns[1].text == "My bill: it is too high."


def test_a_single_line_with_a_label_is_no_transcript() -> None:
    with pytest.raises(DataError, match="unknown format"):
        detect_format(Source("robots.txt", b"# robots\nUser-agent: *\n"))


def test_prose_with_colons_and_times_is_no_transcript() -> None:
    text = "We met at 10:30\nOne thing: rain.\nAnother point: sun.\nThe end - at last.\n"
    with pytest.raises(DataError, match="unknown format"):
        detect_format(Source("a.txt", text.encode()))


def test_a_single_name_in_brackets_counts_if_another_recurs() -> None:
    cues = ((0, 2, "(Priya) How can I help?"), (2, 4, "(Tom) It broke."), (4, 6, "(Priya) I see."))
    call = read_call("a.srt", srt(*cues))
    assert [turn.label for turn in call.turns] == ["Priya", "Tom", "Priya"]
