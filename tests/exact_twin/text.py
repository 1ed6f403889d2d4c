"""Text measures in fractions (003 Task 3)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from exact_twin.exact import (
    ABSENT,
    UNDEFINED,
    WAITING,
    Exact,
    Json,
    Values,
    Words,
    by_id,
    complement,
    count,
    is_absent,
    is_empty,
    n1,
    n2,
    number,
    share,
    share_of,
    vacuous,
)

CLASSES = ("positive", "neutral", "negative")
GOOD_WORDS = {"stated", "supported_by_transcript", "supported_by_reference"}
INTENT = {"same": Fraction(1), "same_domain_incomplete": Fraction(1, 2), "different": Fraction(0)}


def text(case: Json, answer: Json, words: Words) -> Values:
    expected = case["expected_outcome"]
    values = {
        **_sentiment(case, answer),
        **_summary(case, answer.get("summary", {}), words),
        "text.dominant_emotion": ABSENT,
    }
    if not is_absent(case, "emotion"):
        wanted, given = _top(expected["emotion"]), _top(answer["emotion"])
        values["text.dominant_emotion"] = share(bool(given) and given <= wanted, 1)
    return values


def _sentiment(case: Json, answer: Json) -> Values:
    slugs = ("text.sentiment_accuracy", "text.sentiment_macro_f1", "text.missing_labels")
    if is_absent(case, "sentiment"):
        return dict.fromkeys(slugs, ABSENT)
    sentences = {n1(str(s["sentence_id"])): s for s in case["expected_outcome"]["sentiment"]}
    items = by_id(answer["sentiment"], "sentence_id", list(sentences))
    pairs = []
    for key, sentence in sentences.items():
        label = items[key]["label"] if key in items else None
        if sentence["label"] is not None:
            pairs.append((sentence["label"], n2(label) if isinstance(label, str) else ""))
    missing = count(sum(not given for _, given in pairs))
    if not pairs:
        return dict(zip(slugs, (UNDEFINED, UNDEFINED, missing), strict=True))
    right = share(sum(wanted == given for wanted, given in pairs), len(pairs))
    return dict(zip(slugs, (right, _macro_f1(pairs), missing), strict=True))


def _macro_f1(pairs: Sequence[tuple[str, str]]) -> Exact:
    """The mean F1 of the classes that occur on either side (C-52)."""
    scores = []
    for name in CLASSES:
        wanted = sum(pair[0] == name for pair in pairs)
        given = sum(pair[1] == name for pair in pairs)
        if wanted or given:
            scores.append(Fraction(2 * pairs.count((name, name)), wanted + given))
    return share(sum(scores, Fraction(0)), len(scores))


def _top(shares: Json) -> set[str]:
    """The emotions with the greatest share above 0 (C-63, C-64)."""
    values = {name: value for name, given in shares.items() if (value := number(given)) is not None}
    return {name for name, value in values.items() if value == max(values.values()) and value > 0}


def claims(summary: Json) -> list[str]:
    """The claims of a summary, each once, in N2: purpose, highlights, filled fields (C-60)."""
    said = [summary.get("call_purpose"), *summary.get("highlights", ())]
    fields = summary.get("call_extracted_info", {}).items()
    said += [f"{name}: {_format_value(value)}" for name, value in fields if not is_empty(value)]
    forms = [n2(entry) for entry in said if isinstance(entry, str) and not is_empty(entry)]
    return list(dict.fromkeys(forms))


def _format_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _verdict_passes(lines: Sequence[Json]) -> bool | None:
    return all(line["verdict"] in GOOD_WORDS for line in lines) if lines else None


def _summary(case: Json, summary: Json, words: Words) -> Values:
    slugs = ("call_intent", "highlight_recall", "highlight_correctness", "field_presence")
    if is_absent(case, "summary"):
        return dict.fromkeys(
            [f"text.{slug}" for slug in (*slugs, "fabrication_free", "hallucination_rate")], ABSENT
        )
    expected = case["expected_outcome"]["summary"]
    facts = _fabrication_free(expected, summary, words)
    recall, correctness = _highlights(expected, summary, words)
    values = {
        "text.call_intent": _intent(expected, summary, words),
        "text.highlight_recall": recall,
        "text.highlight_correctness": correctness,
        "text.field_presence": _fields(expected, summary),
        "text.fabrication_free": facts,
        "text.hallucination_rate": complement(facts),
    }
    if is_absent(case, "call_purpose"):
        values["text.call_intent"] = ABSENT
    if is_absent(case, "highlights"):
        values["text.highlight_recall"] = values["text.highlight_correctness"] = ABSENT
    if is_absent(case, "call_extracted_info"):
        values["text.field_presence"] = ABSENT
    return values


def _intent(expected: Json, summary: Json, words: Words) -> Exact:
    wanted, given = expected.get("call_purpose"), summary.get("call_purpose")
    if not isinstance(given, str):
        return share(0, 1)
    if n2(given) == n2(str(wanted)):
        return share(1, 1)
    if is_empty(given):
        return share(0, 1)
    lines = words.get(("text.call_intent", "call_purpose"), ())
    points = [INTENT[line["verdict"]] for line in lines if line["verdict"] in INTENT]
    if not points:
        return WAITING
    others = words.get(("text.call_intent", "call_purpose:other_goal"), ())
    if any(line["verdict"] == "yes" for line in others):
        points.append(Fraction(1, 2))
    return share(min(points), 1)


def _highlights(expected: Json, summary: Json, words: Words) -> tuple[Exact, Exact]:
    wanted = {at: h for at, h in enumerate(expected.get("highlights", ())) if not is_empty(h)}
    given = dict(enumerate(summary.get("highlights", ())))
    given = {at: h for at, h in given.items() if not isinstance(h, str) or not is_empty(h)}
    texts = {at: n2(h) for at, h in given.items() if isinstance(h, str)}
    captured = [
        n2(h) in texts.values()
        or (_verdict_passes(words.get(("text.highlight_recall", f"expected_highlights[{at}]"), ())))
        if texts
        else False
        for at, h in wanted.items()
    ]
    forms = [n2(h) for h in wanted.values()]
    accurate = [
        at in texts
        and (
            texts[at] in forms
            or _verdict_passes(words.get(("text.highlight_correctness", f"highlights[{at}]"), ()))
        )
        for at in given
    ]
    recall = share_of(captured) if wanted else vacuous(1)
    if accurate:
        return recall, share_of(accurate)
    return recall, vacuous(0 if wanted else 1)


def _fields(expected: Json, summary: Json) -> Exact:
    fields = expected.get("call_extracted_info", {})
    wanted = [name for name, value in fields.items() if not is_empty(value)]
    given = summary.get("call_extracted_info", {})
    filled = sum(not is_empty(given.get(name)) for name in wanted)
    return share(filled, len(wanted)) if wanted else vacuous(1)


def _fabrication_free(expected: Json, summary: Json, words: Words) -> Exact:
    known, facts = claims(expected), claims(summary)
    found: list[bool | None] = [
        fact in known or _verdict_passes(words.get(("text.fabrication_free", f"claim:{place}"), ()))
        for place, fact in enumerate(facts, start=1)
    ]
    supported = found.count(True)
    beyond = max(0, supported - max(12, 3 * len(known)))  # C-136
    found = [*[True] * (supported - beyond), *(one for one in found if one is not True)]
    return share_of(found) if found else vacuous(1)
