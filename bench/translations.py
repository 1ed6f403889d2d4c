"""Translations that people have scored: beside this repository, and in public data sets.

The public ones are not part of this repository. Clone them into one folder, under their own
names, and name the folder in CALLSCORE_TRANSLATIONS:

    WMT-Chat-task/data-and-baselines          data-and-baselines         CC BY-NC 4.0
    WMT-Chat-task/chat-task-2024-results      chat-task-2024-results     CC BY-NC 4.0 (the data)
    sheffieldnlp/mlqe-pe                      mlqe-pe                    CC0
"""

from __future__ import annotations

import csv
import os
import re
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from bench.labelled import labelled

MLQE_PAIRS = ("en-de", "en-zh", "et-en", "ne-en", "ro-en", "ru-en", "si-en")
CHAT_LANGUAGES: Mapping[str, str] = {
    "de": "deu",
    "fr": "fra",
    "ko": "kor",
    "nl": "nld",
    "pt": "por",
}
_HAN = "\u3000-\u303f\u4e00-\u9fff\uff00-\uffef"
_BESIDE_HAN = re.compile(f"(?<=[{_HAN}]) | (?=[{_HAN}])")
_BEFORE_MARK = re.compile(r" (?=[.,;:!?%)\]}])|(?<=[(\[{]) | (?=(?:'s|n't|'re|'ve|'ll|'d|'m)\b)")


class Translated(NamedTuple):
    """One sentence by one system, its reference, and what people think of it."""

    direction: str
    call: str
    """The conversation, or the sentence itself where it stands alone."""
    system: str
    text: str
    reference: str
    human: float


def data_sets() -> Iterator[tuple[str, list[Translated]]]:
    """Every data set that can be had here, with its name."""
    yield "MLQE-PE, the sample in shared data", _sample()
    folder = os.environ.get("CALLSCORE_TRANSLATIONS")
    if not folder:
        print("CALLSCORE_TRANSLATIONS names no folder: public data sets not measured")
        return
    for name, (place, read) in PUBLIC.items():
        if (Path(folder) / place).is_dir():
            yield name, list(read(Path(folder) / place))
        else:
            print(f"{name}: no {place} in that folder, not measured")


def _sample() -> list[Translated]:
    return [
        Translated(
            f"en>{case['config']['target_language']}",
            case["id"],
            case["human"]["system"],
            case["model_output"]["sentence_translations"][0]["translated_text"],
            case["expected_outcome"]["sentence_translations"][0]["translated_text"],
            case["human"]["da_mean"],
        )
        for case in labelled("mt_mlqe_da.jsonl") or ()
    ]


def _chat_2022(folder: Path) -> Iterator[Translated]:
    """Customer service chats, errors marked by professionals (MQM: 100 is without a fault)."""
    for path in sorted(folder.glob("data/mqm-annotations/*/annotations.*.csv")):
        system = path.name.split(".")[2]
        for row in _rows(path):
            direction = row["lp"].replace("_", ">")
            mqm = float(row["mqm"])
            yield Translated(direction, row["doc_id"], system, row["mt"], row["reference"], mqm)


def _chat_2024(folder: Path) -> Iterator[Translated]:
    """Customer service chats, each turn scored 0 to 100; of a turn scored twice the last counts."""
    for short, long in CHAT_LANGUAGES.items():
        turns: dict[tuple[str, int], dict[str, str]] = {}
        place: Counter[str] = Counter()
        for row in _rows(folder / "all_submissions" / f"en-{short}.csv"):
            turns[row["doc_id"], place[row["doc_id"]]] = row
            place[row["doc_id"]] += 1
        scored = _rows(folder / "human_eval" / f"docsqm2{long}_ann.csv")
        last = {row["model_app"]: row for row in scored if row["is_doc"] == "False"}
        for row in last.values():
            turn, system = turns[row["doc_id"], int(row["sent_id"])], row["model"]
            direction = f"{turn['source_language']}>{turn['target_language']}"
            text, reference = turn[system], turn["reference"]
            score = float(row["score"])
            yield Translated(direction, row["doc_id"], system, text, reference, score)


def _mlqe(folder: Path) -> Iterator[Translated]:
    """Wikipedia and Reddit; three to six raters; the reference is a post-edit of the same text."""
    data = folder / "data"
    for pair in MLQE_PAIRS:
        source, target = pair.split("-")
        edits = data / "post-editing" / "test" / f"{pair}-test.tar.gz"
        given = _member(edits, "test20.mt").splitlines()
        edited = _member(edits, "test20.pe").splitlines()
        scores = _member(data / "direct-assessments" / "test" / edits.name, "df.short.tsv")
        table = csv.DictReader(scores.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
        for number, (text, edit, row) in enumerate(zip(given, edited, table, strict=True)):
            yield Translated(
                f"{source}>{target}",
                str(number),
                "nmt",
                _joined(text, target),
                _joined(edit, target),
                float(row["mean"]),
            )


PUBLIC: Mapping[str, tuple[str, Callable[[Path], Iterator[Translated]]]] = {
    "WMT22 chat, MQM": ("data-and-baselines", _chat_2022),
    "WMT24 chat, direct assessment": ("chat-task-2024-results", _chat_2024),
    "MLQE-PE test20, direct assessment": ("mlqe-pe", _mlqe),
}


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _member(archive: Path, ending: str) -> str:
    """The text of the one file in an archive whose name ends so."""
    with tarfile.open(archive) as tar:
        (found,) = (
            member for member in tar if member.name.endswith(ending) and "/._" not in member.name
        )
        file = tar.extractfile(found)
        assert file is not None
        return file.read().decode("utf-8")


def _joined(tokens: str, lang: str) -> str:
    """Tokens as a sentence again: the data set holds the post-edits in pieces."""
    text = " ".join(tokens.split())
    return (_BESIDE_HAN if lang == "zh" else _BEFORE_MARK).sub("", text)
