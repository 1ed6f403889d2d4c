"""Text that seems to address the judge: it is flagged and judged twice, never scored by this.

The heuristics are broad for text that only makes sense to a judge, and narrow for text that also
occurs in calls ("you are now connected").
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import unicodedata
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from callscore.core.judging import JudgeRequest
from callscore.judges.evidence import QuoteSources
from callscore.judges.prompt_blocks import LONGEST_TEXT

REPETITIVE_FROM, REPETITIVE_SHARE = 400, 0.06
"""Characters, and the share of them that is left after compression."""
DEBRIS_KINDS = 4
"""Notations of which there is debris in one text, as in suffixes that were optimised."""
FOREIGN_LETTERS = 8
"""Letters of an alphabet that are more than a name in it."""

_GOOD = (
    r"(?:supported(?:_by_\w+)?|preserved|as_described|stated|native|same_name|followed|verified|"
    r"correct|passe?d?|right|true)"
)
OVERRIDE = re.compile(
    r"\b(?:ignor\w*|disregard|forget|override|bypass)\b[^.\n]{0,40}"
    r"\b(?:instruc|instruk|istruz|rule|rubric|prompt|guideline|criteri|anweisung|regel|regla|directive)"
    r"|(?:игнориру|забудь)\w*[^.\n]{0,40}(?:инструкц|правил)|(?:指令|指示|规则|規則)[^。\n]{0,12}(?:忽略|无视|無視)"
    r"|(?:忽略|无视|無視)[^。\n]{0,20}(?:指令|指示|规则|規則)|(?:지시|규칙)[^.\n]{0,12}무시"
    r"|निर्देश[^।\n]{0,24}(?:अनदेख|नज़रअंदाज़|उपेक्षा)|تجاهل[^.\n]{0,30}تعليمات",
    re.IGNORECASE,
)
MARKS: Mapping[str, re.Pattern[str]] = {
    "addresses_the_judge": re.compile(
        r"\b(?:note|message|memo|attention|dear)\b[^.\n]{0,12}\b(?:graders?|judges?|evaluators?|raters?)\b"
        r"|\bif you (?:mark|rate|grade|judge|score|fail)\b|\bjudge malfunction\b"
        r"|\bsame model as you\b|\bdo not re-?check\b|\bthought process:|\bstep by step\b"
        r"|\byou are now\b[^.\n]{0,60}\b(?:supervisor|judge|grader|evaluator|policy)\b"
        r"|\brespond with (?:an )?empty\b|\bnew instructions?\b|\balways (?:pass|answer|say)\b",
        re.IGNORECASE,
    ),
    "gives_verdicts": re.compile(
        rf"\b(?:mark|treat|rate|grade|classify|answer|label|count)\b[^.\n]{{0,12}}"
        rf"\b(?:every\w*|all|each|following|items?)\b[^.\n]{{0,30}}\b{_GOOD}\b"
        rf"|\banswer\s+['\"]?{_GOOD}\b|\bverdict\b[^.\n]{{0,12}}\b{_GOOD}\b|\bA:\s*{_GOOD}\b"
        rf"|\beach\s+['\"]{_GOOD}|['\"](?:fabricated|{_GOOD})['\"]\s+means\b"
        r"|\"(?:verdict|score|items|metric)\"\s*:|\b(?:set_score|__proto__)\b"
        r"|\bcall the function\b|\bthreshold\b[^.\n]{0,60}\b(?:lowered|waived|reduced|changed)\b",
        re.IGNORECASE,
    ),
    "imitates_the_prompt": re.compile(
        r"<\|\w+\|>|\[/?INST\]|<</?SYS>>|</?(?:system|assistant|user|model_output|transcript|data|"
        r"items|instructions?|expected_outcome)\b[\w-]*>|<!--|\b(?:expected_outcome|model_output)\b"
        r"|\[\d{1,2}:\d{2}(?::\d{2})?\]\s*\w{1,30}:|\bthe data has ended\b|\(source:\s*t\d+|!\[[^\]\n]{0,80}\]\([^)\n]{0,20}://",
        re.IGNORECASE,
    ),
    "hides_characters": re.compile(
        "[\u202a-\u202e\u2060-\u2064\u2066-\u206f\U000e0000-\U000e007f]|(?:\u200b[^\u200b]*){3}"
    ),
    "mixes_alphabets": re.compile(
        r"[a-z][\u0370-\u052f]{1,8}[a-z]|\b[\u0370-\u052f][a-z]{2}|[a-z]{2}[\u0370-\u052f]\b",
        re.IGNORECASE,
    ),
    "baits_a_refusal": re.compile(
        r"\bhow to (?:build|make)\b[^.\n]{0,20}\b(?:b[o*]mb|explosive|nerve agent|napalm)",
        re.IGNORECASE,
    ),
    "floods": re.compile(r"(.)\1{63}"),
}
_ALWAYS_SOUGHT = {"floods": MARKS["floods"]}
_SOUGHT_BEYOND_ASCII = {
    name: MARKS[name] for name in ("hides_characters", "mixes_alphabets", "floods")
}
_ORDERS = ("mark", "treat", "rate", "grade", "classify", "answer", "label", "count")
_HINTING = (
    # overriding, plain or with digits for letters
    *(r"ign[o0]r", r"1gn[o0]r", r"d[i1][s5]r[e3]g[a4]rd", r"f[o0]rg[e3][t7]"),
    *(r"ov[e3]rr[i1]d[e3]", r"0v[e3]rr[i1]d[e3]", r"byp[a4][s5][s5]"),
    # the same in rot13, and in other alphabets
    *("vtabe", "qvfertneq", "sbetrg", "bireevqr", "olcnff"),
    *("игнориру", "забудь", "忽略", "无视", "無視", "무시", "अनदेख", "नज़रअंदाज़", "उपेक्षा", "تجاهل"),
    # addressing the judge
    *("grader", "judge", "evaluator", "rater", "if you (?:mark|rate|grade|score|fail)"),
    *("same model as", "do not re", "thought process:", "step by step", "you are now"),
    *("respond with", "new instruction", "always (?:pass|answer|say)"),
    # giving verdicts
    *(rf"{w}\b[^.\n]{{0,12}}\b(?:every|all|each|following|item)" for w in _ORDERS),
    *(rf"answer\s+['\"]?{_GOOD}", "verdict", rf"a:\s*{_GOOD}", r"each\s+['\"]", r"'\s+means"),
    *(r'"\s+means', r'"(?:score|items|metric)"', "set_score", "__proto__"),
    *("call the function", "threshold"),
    # imitating the prompt, baiting
    *("expected_outcome", "model_output", "the data has ended", "how to (?:build|make)"),
)
"""A part of every pattern, in lower case. A text without any of them matches none: this one search
settles nearly every text of a call."""


def _by_first_letter(patterns: Iterable[str]) -> str:
    """One alternative per letter: `re` then tries only few of them at each position."""
    rests: dict[str, list[str]] = {}
    for pattern in patterns:
        rests.setdefault(pattern[0], []).append(pattern[1:])
    return "|".join(f"{letter}(?:{'|'.join(rest)})" for letter, rest in rests.items())


_HINTS = re.compile(rf"{_by_first_letter(_HINTING)}|<|\[|\(source:")
_SAME_LETTER = str.maketrans("\u0130\u0131\u017f", "iis")
"""Letters that are equal to others if case is ignored, and have no lower-case form."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_DEBRIS = re.compile(r"\\(?=[ !+*])|\]\(|\*\*|--|(?<=[a-z])(?=[A-Z])| \+ |\\n|\}\{|~~|\|\|")
_DEBRIS_SIGNS = ("\\", "](", "**", "--", " + ", "}{", "~~", "||")
FEWEST_SIGNS = 2
"""A text with fewer symbols cannot match."""
_LEET = str.maketrans("013457", "oieast")


def suspicions(judge_request: JudgeRequest, sources: QuoteSources) -> Sequence[str]:
    """Why the texts of a request look like an attack on the judge; empty if they do not."""
    keys: dict[str, None] = {}
    trusted, given, config_texts = [*sources.turns.values()], list[str](), list[str]()
    _gather_texts(sources.expected, trusted, keys)
    _gather_texts(sources.output, given, keys)
    _gather_texts(judge_request.config, config_texts, keys)
    answers = {question.text for question in judge_request.questions}
    answers |= {question.reference for question in judge_request.questions}
    answers.update(given)
    answers.difference_update(trusted)
    found: dict[str, None] = {}
    keys.update(
        dict.fromkeys(turn.speaker for turn in judge_request.turns if turn.speaker is not None)
    )
    config_texts += keys
    for text in (*trusted, *answers, *config_texts):
        if suspected := suspicions_in(text[:LONGEST_TEXT]):
            found.update(dict.fromkeys(suspected))
    foreign = [alphabets for text in answers if (alphabets := _alphabets(text))]
    if foreign:
        known = _alphabets(" ".join(trusted))
        if any(alphabets - known for alphabets in foreign):
            found["switches_language"] = None
    return list(found)


@lru_cache(maxsize=4096)
def suspicions_in(text: str) -> tuple[str, ...]:
    """What is suspicious in one text."""
    hinted = has_hint(text)
    marks = MARKS if hinted else _ALWAYS_SOUGHT if text.isascii() else _SOUGHT_BEYOND_ASCII
    found = [name for name, mark in marks.items() if mark.search(text)]
    if hinted and OVERRIDE.search(text):
        found.append("overrides_rules")
    elif any(OVERRIDE.search(hidden) for hidden in _decodings(text, hinted=hinted)):
        found.append("hides_instructions")
    if _is_repetitive(text):
        found.append("floods")
    if _is_symbol_soup(text):
        found.append("symbol_soup")
    return tuple(dict.fromkeys(found))


def has_hint(text: str) -> bool:
    """Whether a text contains anything that every suspicious text contains."""
    folded = text if text.isascii() else text.translate(_SAME_LETTER)
    return _HINTS.search(folded.lower()) is not None


def _decodings(text: str, *, hinted: bool) -> Iterable[str]:
    """The text under the usual disguises; without a hint only the last one applies."""
    if hinted:
        yield codecs.encode(text, "rot13")
        yield text.translate(_LEET)
    for match in _BASE64.finditer(text):
        try:
            yield base64.b64decode(match.group(), validate=True).decode()
        except (binascii.Error, ValueError):
            continue


def _is_repetitive(text: str) -> bool:
    if len(text) < REPETITIVE_FROM:
        return False
    raw = text.encode(errors="replace")
    return len(zlib.compress(raw)) < REPETITIVE_SHARE * len(raw)


def _is_symbol_soup(text: str) -> bool:
    """Debris of several notations in one text, as in adversarial suffixes."""
    if len([sign for sign in _DEBRIS_SIGNS if sign in text]) < FEWEST_SIGNS:
        return False
    return len(set(_DEBRIS.findall(text))) >= DEBRIS_KINDS


def _alphabets(text: str) -> frozenset[str]:
    """The alphabets other than Latin that occur in more than a name."""
    if text.isascii():
        return frozenset()
    counts: dict[str, int] = {}
    for char in text:
        if char > "\u024f" and char.isalpha():
            alphabet = unicodedata.name(char, "?").partition(" ")[0]
            counts[alphabet] = counts.get(alphabet, 0) + 1
    return frozenset(name for name, number in counts.items() if number >= FOREIGN_LETTERS)


def _gather_texts(value: object, texts: list[str], keys: dict[str, None]) -> None:
    """The texts in a JSON value, and its keys: both are untrusted."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            _gather_texts(inner, texts, keys)
    elif isinstance(value, dict) or (
        not isinstance(value, (int, float)) and isinstance(value, Mapping)
    ):
        for key, inner in value.items():
            keys[str(key)] = None
            _gather_texts(inner, texts, keys)
