"""Translation measures in fractions (003 Task 4)."""

from __future__ import annotations

import re
from fractions import Fraction

from exact_twin.exact import (
    ABSENT,
    WAITING,
    Exact,
    Json,
    Values,
    Words,
    by_id,
    contains_words,
    is_absent,
    is_empty,
    n1,
    n2,
    searchable,
    share,
    spoken_text,
    vacuous,
)

ANCHORS = {
    "native": Fraction(1),
    "minor": Fraction(3, 4),
    "noticeable": Fraction(1, 2),
    "significant": Fraction(1, 4),
    "incomprehensible": Fraction(0),
}


def translation(case: Json, answer: Json, words: Words) -> Values:
    slugs = ("completeness", "meaning", "fluency", "domain_terms", "proper_nouns", "critical_facts")
    if is_absent(case, "sentence_translations"):
        return dict.fromkeys([f"translation.{slug}" for slug in (*slugs, "drift")], ABSENT)
    sentences = {
        n1(str(s["source_id"])): s for s in case["expected_outcome"]["sentence_translations"]
    }
    items = by_id(answer["sentence_translations"], "source_id", list(sentences))
    texts = {key: _translated_text(items.get(key)) for key in sentences}
    translated = {key for key in sentences if _is_translated(sentences[key], texts[key])}
    facts, drift = _facts(case, sentences, texts, words)
    return {
        "translation.completeness": share(len(translated), len(sentences)),
        "translation.meaning": _meaning(sentences, texts, translated, words),
        "translation.fluency": _fluency(sentences, texts, translated, words),
        "translation.domain_terms": _names(case, "domain_terms_handled", sentences, texts, words),
        "translation.proper_nouns": _names(case, "named_entities_handled", sentences, texts, words),
        "translation.critical_facts": facts,
        "translation.drift": drift,
    }


def _translated_text(item: Json | None) -> str:
    given = item["translated_text"] if item is not None else None
    return given if isinstance(given, str) else ""


def _equals_human(sentence: Json, given: str) -> bool:
    return n1(given) == n1(sentence["translated_text"])


def _is_translated(sentence: Json, given: str) -> bool:
    """Neither empty nor nearly the source, unless the human copied the source as well (C-66)."""
    source, human = n2(sentence["source_text"]), n2(sentence["translated_text"])
    if _equals_human(sentence, given):
        return True
    if is_empty(given):
        return False
    of_human, of_given = similarity(source, human), similarity(source, n2(given))
    near, more = Fraction(9, 10), Fraction(1, 10)
    if sum(map(str.isalpha, source)) < 12:
        return n2(given) != source or human == source
    return of_given < near or of_human >= near or of_given - of_human < more


def similarity(one: str, other: str) -> Fraction:
    """2 × the longest common subsequence / the letters of both (C-66)."""
    if not one and not other:
        return Fraction(1)
    row = [0] * (len(other) + 1)
    for char in one:
        before = row
        row = [0]
        for at, other_char in enumerate(other):
            same = before[at] + 1
            row.append(same if char == other_char else max(before[at + 1], row[at]))
    return Fraction(2 * row[-1], len(one) + len(other))


def _meaning(
    sentences: dict[str, Json], texts: dict[str, str], translated: set[str], words: Words
) -> Exact:
    scores = []
    for key, sentence in sentences.items():
        if _equals_human(sentence, texts[key]) or key not in translated:
            scores.append(Fraction(key in translated))
            continue
        lines = words.get(("translation.meaning", key), ())
        if not lines:
            return WAITING
        cosine = min(Fraction(str(line["value"])) for line in lines)
        scores.append(min(Fraction(1), max(Fraction(0), cosine)))
    return share(sum(scores, Fraction(0)), len(scores))


def _fluency(
    sentences: dict[str, Json], texts: dict[str, str], translated: set[str], words: Words
) -> Exact:
    if not translated:
        return share(0, len(sentences))
    scores = []
    for key in translated:
        lines = words.get(("translation.fluency", key), ())
        anchors = [ANCHORS[line["verdict"]] for line in lines if line["verdict"] in ANCHORS]
        if _equals_human(sentences[key], texts[key]):
            anchors = [Fraction(1)]
        if not anchors:
            return WAITING
        scores.append(min(anchors))
    return share(sum(scores, Fraction(0)), len(scores))


def _names(
    case: Json, part: str, sentences: dict[str, Json], texts: dict[str, str], words: Words
) -> Exact:
    """A sentence must have the form if the human's sentence has it (C-70 … C-73)."""
    if is_absent(case, part):
        return ABSENT
    is_noun = part == "named_entities_handled"
    fold = str.casefold if is_noun else str
    handled = []
    for entry in case["expected_outcome"][part]:
        form = fold(searchable(entry["handled_as"]))
        places = [
            key
            for key, sentence in sentences.items()
            if contains_words(form, fold(searchable(sentence["translated_text"])))
        ]
        is_reference = all(_equals_human(sentences[key], texts[key]) for key in sentences)
        whole = any(contains_words(form, fold(searchable(given))) for given in texts.values())
        right = all(contains_words(form, fold(searchable(texts[key]))) for key in places)
        right = right if places else whole or is_reference
        lines = words.get(("translation.proper_nouns", entry.get("entity", "")), ())
        accepted = bool(lines) and all(line["verdict"] == "same_name" for line in lines)
        handled.append(right or (is_noun and accepted))
    return share(sum(handled), len(handled)) if handled else vacuous(1)


def _facts(
    case: Json, sentences: dict[str, Json], texts: dict[str, str], words: Words
) -> tuple[Exact, Exact]:
    """Lost and added facts; an altered fact counts once (C-74, C-75)."""
    given, is_listed = _expected_facts(case, sentences)
    is_estimate = not is_listed
    said = [searchable(given_text).casefold() for given_text in texts.values()]
    stated = [s[key] for s in sentences.values() for key in ("source_text", "translated_text")]
    allowed = set(re.findall(r"\d+", "\n".join((*stated, spoken_text(case)))))
    added = len(set(re.findall(r"\d+", "\n".join(said))) - allowed)
    lost = outcomes = awaiting = 0
    for place, fact in enumerate(given, start=1):
        if any(contains_words(searchable(fact).casefold(), line) for line in said):
            continue
        if fact.isdigit():
            lost += 1
            continue
        lines = words.get(("translation.critical_facts", f"fact:{place}"), ())
        awaiting += not lines
        outcomes += bool(lines) and any(line["verdict"] != "preserved" for line in lines)
    drifted = max(lost, added) + outcomes
    if awaiting:
        return WAITING, WAITING
    if not given and not drifted:
        nothing = vacuous(1)._replace(is_estimate=is_estimate)
        return nothing, nothing._replace(value=Fraction(0))
    total, share_lost = Fraction(len(given)), Fraction(drifted, max(1, len(given)))
    kept = Exact(max(Fraction(0), 1 - share_lost), total - drifted, total, "", is_estimate)
    return kept, Exact(100 * share_lost, Fraction(drifted), total, "", is_estimate)


def _expected_facts(case: Json, sentences: dict[str, Json]) -> tuple[list[str], bool]:
    """The listed facts, else the numbers of the reference; and whether the case lists facts."""
    listed = case.get("annotations", {}).get("critical_facts")
    if listed is not None:
        return [fact if isinstance(fact, str) else fact["expected"] for fact in listed], True
    written = "\n".join(sentence["translated_text"] for sentence in sentences.values())
    return list(dict.fromkeys(re.findall(r"\d+", written))), False
