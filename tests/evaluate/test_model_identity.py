from __future__ import annotations

import pytest

from callscore.evaluate.model_identity import MOST_NAMES, ModelIdentities, match_model


@pytest.mark.parametrize(
    ("asked", "answered", "expected"),
    [
        ("gpt-4o", "gpt-4o", "same"),
        ("openai/gpt-4o", "GPT-4o", "same"),
        ("models/gemini-2.5-flash", "gemini-2.5-flash", "same"),
        ("llama3", "llama3:latest", "same"),
        ("gpt-4o", "gpt-4o-2024-08-06", "version"),
        ("gpt-4o-2024-08-06", "gpt-4o", "version"),
        ("gpt-3.5-turbo", "gpt-3.5-turbo-0125", "version"),
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "version"),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022", "version"),
        ("gemini-1.5-pro", "gemini-1.5-pro-002", "version"),
        ("gemini-2.5-pro", "gemini-2.5-pro-preview-05-06", "version"),
        ("claude-opus-4", "claude-opus-4@20250514", "version"),
        ("gpt-4o-2024-08-06", "gpt-4o-2024-11-20", "other"),
        ("gpt-4o", "gpt-4o-mini", "other"),
        ("gpt-4o", "gpt-4o-mini-2024-07-18", "other"),
        ("gpt-4", "gpt-4.1", "other"),
        ("gpt-4", "gpt-4-turbo", "other"),
        ("llama3:70b", "llama3:8b", "other"),
        ("my-deployment", "gpt-4o", "other"),
        ("qwen", "/srv/weights/qwen2.5-1.5b-q4_k_m.gguf", "file"),
        ("qwen2.5.gguf", "/srv/weights/qwen2.5.gguf", "same"),
        ("qwen", "C:\\models\\Qwen.GGUF", "file"),
    ],
)
def test_a_dated_name_is_a_version_and_anything_else_is_another_model(
    asked: str, answered: str, expected: str
) -> None:
    assert match_model(asked, answered) == expected


def notes(asked: str, *answered: str | None) -> list[str]:
    counted = ModelIdentities({"m": asked})
    for name in answered:
        counted.count("m", name)
    return counted.notes()


def test_the_name_that_was_asked_for_and_no_name_at_all_need_no_note() -> None:
    assert notes("gpt-4o", "gpt-4o", None, "") == []
    assert notes("gpt-4o") == []


def test_an_alias_is_noted_with_the_name_that_answered() -> None:
    assert notes("gpt-4o", "gpt-4o-2024-08-06", "gpt-4o-2024-08-06") == [
        "m: asked for gpt-4o, answered by gpt-4o-2024-08-06 (2 answers)"
    ]
    assert notes("gpt-4o", "gpt-4o-2024-11-20", "gpt-4o-2024-08-06") == [
        "m: asked for gpt-4o, answered by several versions of it: "
        "gpt-4o-2024-08-06 (1 answer), gpt-4o-2024-11-20 (1 answer)"
    ]


def test_a_file_on_the_server_is_no_other_model_and_its_folder_is_not_shown() -> None:
    counted = ModelIdentities({"m": "qwen"})
    counted.count("m", "/srv/weights/qwen-q4.gguf")
    counted.count("m", "C:\\Users\\someone\\qwen-q4.gguf")
    assert counted.notes() == ["m: asked for qwen, answered from the file qwen-q4.gguf (2 answers)"]
    assert counted.identity("m") == ("qwen-q4.gguf",)
    counted = ModelIdentities({"m": "qwen"})
    counted.count("m", "/srv/models/Qwen")
    assert counted.notes() == [] and counted.identity("m") == ()


def test_another_model_is_named_once_however_many_answers_it_gave() -> None:
    assert notes("gpt-4o", "gpt-4o", *["gpt-4o-mini"] * 3) == [
        "m: asked for gpt-4o, answered by another model: gpt-4o-mini (3 answers)"
    ]


def test_a_provider_that_invents_names_fills_neither_the_note_nor_the_memory() -> None:
    (note,) = notes("m", *[f"model {n}" for n in range(500)], "x" * 500)
    assert note.endswith(f"(1 answer) and {MOST_NAMES - 3} more")
    (note,) = notes("m", "\x1b]0;x\x07 \u202e" + "x" * 500)
    assert len(note) < 200
    assert note.isprintable()


def test_every_other_name_is_part_of_what_the_model_is() -> None:
    counted = ModelIdentities({"m": "gpt-4o", "n": "gpt-4o"})
    for name in ("GPT-4o", "gpt-4o-mini", "gpt-4o-2024-08-06", "x|data:other,\u202e", None):
        counted.count("m", name)
    assert counted.identity("m") == ("gpt-4o-2024-08-06", "gpt-4o-mini", "x_data:other__")
    assert counted.identity("n") == counted.identity("unknown") == ()
    assert counted.identities() == counted.identity("m")


def test_the_order_of_answers_does_not_matter() -> None:
    names = [f"model {n % 50}" for n in range(200)]
    assert notes("m", *names) == notes("m", *reversed(names))


def test_models_that_are_none_are_not_counted() -> None:
    counted = ModelIdentities({})
    counted.count("careful", "simulated")
    assert counted.notes() == []


def test_answers_that_could_not_be_held_to_their_schema_are_counted() -> None:
    answered_by = ModelIdentities({"m": "claude", "other": "gpt"})
    for asked_as in (None, "auto", "auto", "none", "invented"):
        answered_by.count("m", "claude", asked_as)
    answered_by.count("other", None)
    assert answered_by.notes() == [
        "m: its API refused the schema of the answer; asked for 2 answers through a tool that the "
        "model may call, 1 answer by the prompt alone"
    ]
