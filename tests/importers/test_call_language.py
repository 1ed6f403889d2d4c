"""The language of a call is a BCP 47 tag, and detected where the file names none."""

from __future__ import annotations

from pathlib import Path

import pytest

from callscore.importers.conversation import detect_language, normalise_language
from callscore.importers.folder import ImportOptions, ImportReport, import_files


@pytest.mark.parametrize(
    ("named", "tag"),
    [
        ("en_us", "en-US"), ("EN", "en"), ("english", "en"), ("zh-hans-cn", "zh-Hans-CN"),
        ("es-419", "es-419"), ("hi-latn", "hi-Latn"), (" de ", "de"), ("cmn", "cmn"),
        ("multi", None), ("und", None), ("", None), (None, None), ("Channel 1", None),
    ],
)  # fmt: skip
def test_a_language_is_a_tag_in_its_usual_form(named: str | None, tag: str | None) -> None:
    assert normalise_language(named) == tag


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("Guten Tag, wie kann ich Ihnen helfen? Meine Rechnung ist zu hoch.", "de"),
        ("Thank you for calling, how can I help? My bill is twice as high.", "en"),
        ("안녕하세요 무엇을 도와드릴까요 요금이 너무 많이 나왔어요 감사합니다 고객님", "ko"),
        ("Yes. OK.", None),
    ],
)
def test_a_language_is_detected_from_enough_words(text: str, lang: str | None) -> None:
    assert detect_language(text) == lang


def test_a_detected_language_is_said_and_a_named_one_is_kept(tmp_path: Path) -> None:
    words = "Guten Tag, wie kann ich Ihnen helfen?\nKunde: Meine Rechnung ist viel zu hoch."
    (tmp_path / "a.txt").write_text(f"Agent: {words}\n")
    (tmp_path / "b.csv").write_text("speaker,text,lang\nagent,Good morning,klingon!\n")
    report = ImportReport()
    first, second = import_files([tmp_path], ImportOptions(), report)
    assert (first.lang, second.lang) == ("de", None)
    assert "a: language detected from the words: de" in report.files[0].notes
    assert "b: 'klingon!' is not the tag of a language; it is left out" in report.files[1].notes
    (given,) = import_files([tmp_path / "a.txt"], ImportOptions(lang="de_AT"), ImportReport())
    assert given.lang == "de-AT"
