"""Finds birth dates, postcodes, street addresses and answers to security questions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from callscore.metrics.facts.lexicon import lexicon
from callscore.privacy.data_labels import Labels
from callscore.privacy.plain_text import PlainText


class Found(NamedTuple):
    """A span in a plain text, and its value."""

    start: int
    end: int
    value: str


_DAY = (
    r"(?:\d{1,2}(?:st|nd|rd|th|er|\.|º)?|first|second|third|fourth|fifth|sixth|"
    r"seventh|eighth|ninth|"
    r"tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|"
    r"nineteenth|twentieth|thirtieth|twenty[ -](?:first|second|third|fourth|fifth|sixth|seventh|"
    r"eighth|ninth)|thirty[ -]first)"
)
_UNIT = r"(?:one|two|three|four|five|six|seven|eight|nine)"
_TENS = r"(?:ten|eleven|twelve|\w{3,5}teen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)"
_YEAR = (
    rf"(?:'?\d{{4}}|'?\d{{2}}|(?:nineteen|twenty|two thousand)(?: and)?"
    rf"(?: (?:oh|o) {_UNIT}| {_TENS}(?:[ -]{_UNIT})?| {_UNIT})?|{_TENS}(?:[ -]{_UNIT})?)"
)


@lru_cache(maxsize=1)
def _months() -> Mapping[str, int]:
    """The names of months in the languages of the lexicon, in plain form."""
    words = lexicon(None).months.items()
    return {unicodedata.normalize("NFKC", name.lower()): month for name, month in words}


@lru_cache(maxsize=1)
def _birth_date() -> re.Pattern[str]:
    months = "|".join(sorted(map(re.escape, _months()), key=len, reverse=True))
    return re.compile(
        rf"(?<![0-9a-z])(?:\d{{4}}[-/. ]\d{{1,2}}[-/. ]\d{{1,2}}|\d{{1,2}}[-/. ]\d{{1,2}}[-/. ]"
        rf"(?:\d{{4}}|\d{{2}})|\d{{4}} ?年 ?\d{{1,2}} ?月 ?\d{{1,2}} ?日|"
        rf"(?:\d{{4}}|\d{{2}}) ?년 ?\d{{1,2}} ?월 ?\d{{1,2}} ?일|"
        rf"(?:the )?{_DAY}(?: of| de| di)? (?:{months})\.?(?:,? (?:of |de |di |del )?{_YEAR})?|"
        rf"(?:{months})\.? (?:the )?{_DAY}(?:,? {_YEAR})?|\d{{8}}|\d{{6}})(?![0-9a-z]|[-/.]\d)"
    )


_STATES = (
    "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM "
    "NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY DC"
).replace(" ", "|")
_UK = r"[a-z]{1,2}\d[a-z\d]? ?\d[a-z]{2}"
_LABELLED_POSTCODE = re.compile(
    rf"(?<![0-9a-z])(?:{_UK}|[a-z]\d[a-z][ -]?\d[a-z]\d|\d{{5}}-\d{{3,4}}|\d{{3}}-\d{{4}}|"
    r"\d{4}-\d{3}|\d{3} ?\d{3}|\d{2}-\d{3}|\d{5}|\d{4}(?: ?[a-z]{2})?|"
    r"\d{3}(?: \d{2})?)(?![0-9a-z])"
)
_POSTCODE = re.compile(
    rf"(?<![0-9A-Za-z])(?:[A-Z]{{1,2}}\d[A-Z\d]? \d(?!GB|MB|TB|KB|KG|CM|MM|HZ|PM|AM)[A-Z]{{2}}|"
    rf"[ABCEGHJ-NPR-TVXY]\d[A-Z] \d[A-Z]\d|(?<=, )(?:{_STATES}) \d{{5}}(?:-\d{{4}})?|"
    rf"〒 ?\d{{3}}-?\d{{4}})(?![0-9A-Za-z])"
)
"""Postcodes that need no label; states only after a comma."""

_STREET = (
    r"street|st|avenue|ave|road|rd|lane|ln|drive|dr|boulevard|blvd|way|court|ct|place|parkway|"
    r"pkwy|terrace|close|crescent|cres|square|highway|hwy|gardens|mews|grove|circle|trail|row|"
    r"walk|park|plaza|alley|quay|rise|view"
)
_NOT_A_NAME = (
    r"(?:goes|go|went|going|down|on|in|at|the|of|to|from|and|or|is|are|was|were|for|"
    r"with|by|my|your|"
    r"our|a|an|that|this|it|its|if|more|other|people|times|minutes|hours|days|weeks|months|years|"
    r"dollars|euros|pounds|percent|per|things|calls|miles|kilometers|off|any|no|not|have|has|"
    r"blocks|cars|houses|left|right)"
)
_NAME = rf"(?!{_NOT_A_NAME}\b)[^\W\d_][\w'’.-]*"
_ADDRESS = re.compile(
    rf"(?<![\w.,$€£-])\d{{1,5}}[a-z]?,?(?: (?:n|s|e|w|ne|nw|se|sw|north|south|east|west)\.?)?"
    rf"(?: (?:{_NAME}|\d{{1,3}}(?:st|nd|rd|th))){{1,4}}? (?:{_STREET})\b"
    rf"(?:(?:,| -)? ?(?:apt|apartment|unit|suite|ste|flat|#)\.? ?\w{{1,5}}\b)?|"
    rf"(?<!\w)(?:{_TENS}|{_UNIT})(?:[ -](?:{_TENS}|{_UNIT}|hundred|oh|zero)){{0,5}}+"
    rf"(?: {_NAME}){{1,3}}? (?:{_STREET})\b|"
    rf"(?<![\w.,-])\d{{1,4}}(?: ?(?:bis|ter))?,? (?:rue|avenue|boulevard|bd|place|chemin|allée|"
    rf"impasse|quai|route|cours|square)(?: (?:de|du|des|de la|de l'|d'|la|le|les)(?=[ '’]))*"
    rf"(?: ?{_NAME}){{1,3}}|"
    rf"(?<!\w)(?:calle|c/|avenida|avda\.?|av\.|paseo|plaza|carrera|rua|travessa|praça|"
    rf"alameda|via|"
    rf"viale|piazza|corso|largo|vicolo)(?: (?:de|del|de la|de los|da|do|dos|di|della|dei))*"
    rf"(?: {_NAME}){{1,3}},?(?: (?:n[°ºo.]{{1,2}}|número|num\.?))? \d{{1,5}}[a-z]?\b|"
    rf"(?<!\w)(?:[^\W\d_-]+(?:straße|strasse|str\.|weg|platz|allee|gasse|ring|damm|ufer|steig)|"
    rf"(?:am|an der|im|zum|zur|auf der) [^\W\d_]+|[^\W\d_]+ (?:straße|str\.|weg|platz|allee)) "
    rf"\d{{1,4}} ?[a-z]?\b|"
    r"[가-힣]+(?:로|길)(?: ?\d{1,4}(?:번)?길)? ?\d{1,4}(?:-\d{1,4})?(?![\d월일시분원개명인동박])|"
    r"[\u4e00-\u9fff]{2,10}(?:路|街|大道|巷) ?\d{1,5} ?号(?: ?\d+ ?(?:室|楼|栋))?|"
    r"[\u3040-\u9fff]{2,10}\d{1,3}(?:丁目|-\d{1,3}-)\d{1,3}(?:番地?)?(?:-?\d{1,3}号?)?"
)
_PREPOSITION = re.compile(r"(?:am|an der|im|zum|zur|auf der|via|am) ")
"""Starts of addresses that are ordinary words too: a label must be near."""
_DIGIT = re.compile(r"\d")
_DISTRICT = re.compile(r"[시구군읍면도동] $")
"""The district before a Korean street."""
_PIN = re.compile(r"(?<![a-z])(?:pin|otp|one[- ]time (?:code|password))(?! code)(?![a-z])")
_PIN_VALUE = re.compile(r"(?: number| code)?(?: is|:| was|,)*(?: it'?s)? (\d{4,8})(?![\d.,]*\d)")
_IS = re.compile(
    unicodedata.normalize(
        "NFKC",
        r"(?: (?:on|for) (?:the|my|this|that) \w+)?(?: ?(?:is|was|=|:|ist|lautet|est|es|é|"
        r"è|는|은|は|"
        r"是|है)) ?(?:(?:the|a|called|named) )?",
    )
)
_LEAD_IN = re.compile(
    unicodedata.normalize(
        "NFKC",
        r"(?:(?:uh|um|er|oh|well|sure|yes|yeah|okay|ok|so|hmm|right|of course|certainly|"
        r"let me see|"
        r"it'?s|it is|it was|that'?s|that was|that would be|that'd be|he was|she was|was|is|his "
        r"name (?:is|was)|her name (?:is|was)|(?:he|she) (?:is|was)|the name (?:is|was)|called|"
        r"named|my (?:first )?\w+(?:'s name)? (?:is|was)|i was born in|born in|i (?:went|go) to|"
        r"i grew up (?:in|on)|the answer is|i think|das ist|es ist|c'est|es|era|sie heißt|"
        r"er heißt|"
        r"é|è|それは)(?![a-z])[\s,.…-]*)*",
    )
)
_NO_ANSWER = re.compile(
    r"(?<![a-z])(?:don'?t|do not|rather|why|need|sorry|not|never|can'?t|cannot|no|what|which|who|"
    r"forgot|forgotten|remember|know|really|please|you|your|pardon|hold|moment|second|wait|"
    r"question|sure)(?![a-z])|\?"
)
_ANSWER_END = re.compile(r"[.,;!?\n]|(?<![a-z])(?:and|but|if|because|so|on|for|in case)(?![a-z])")


def birth_dates(plain: PlainText, labels: Labels) -> Iterator[Found]:
    """Dates that a label or a question names as a date of birth."""
    text = plain.text
    if not labels.mentions("birth_date"):
        return
    for match in _birth_date().finditer(text):
        linked = labels.linked(match.start(), match.end())
        if (linked is not None and linked.kind == "birth_date") or (
            linked is None and "birth_date" in labels.asked_kinds
        ):
            yield Found(match.start(), match.end(), _date_value(match[0]))


def _date_value(written: str) -> str:
    """The numbers of a date, whatever their order and the name of its month."""
    words = re.findall(r"\d+|[^\s\d.,/()-]+", written)
    months = (str(_months().get(word, "")) for word in words)
    parts = [month or word.lstrip("0") for word, month in zip(words, months, strict=True)]
    numbers = [part for part in parts if part.isdigit()]
    return "-".join(sorted(numbers)) if len(numbers) > 2 else " ".join(words)


def postcodes(plain: PlainText, labels: Labels) -> Iterator[Found]:
    """Postcodes after a label or a question, and those whose form is unmistakable."""
    if plain.offsets is None:
        for match in _POSTCODE.finditer(plain.original):
            yield Found(match.start(), match.end(), match[0].replace(" ", "").lower())
    text = plain.text
    if "postcode" not in labels.asked_kinds and not any(
        one.kind == "postcode" for one in labels.all
    ):
        return
    for match in _LABELLED_POSTCODE.finditer(text):
        linked = labels.linked(match.start(), match.end())
        if (linked is not None and linked.kind == "postcode") or (
            linked is None and "postcode" in labels.asked_kinds
        ):
            start = match.start() - (text[match.start() - 1 : match.start()] == "〒")
            yield Found(start, match.end(), match[0].replace(" ", ""))


def addresses(plain: PlainText, labels: Labels) -> Iterator[Found]:
    """A house number with a street."""
    text, original = plain.text, plain.original
    if _DIGIT.search(text) is None and not labels.mentions("address"):
        return  # a house number in words needs a label
    is_cased = not (original.islower() or original.isupper())
    for match in _ADDRESS.finditer(text):
        start, end = plain.at(match.start(), match.end())
        written = original[start:end]
        named = labels.asked == "address" or labels.is_near("address", match.start())
        words = [one for one in re.findall(r"[^\W\d_][\w'’.-]*", written) if len(one) > 2]
        lower = [one for one in words if one[0].islower()]
        if is_cased and not named and words and len(lower) * 2 >= len(words) + (len(words) < 3):
            continue  # the words of a street have capital letters, where a text has any
        if (_PREPOSITION.match(match[0]) or not _DIGIT.search(match[0])) and not named:
            continue
        if "가" <= match[0][0] <= "힣" and not (named or _DISTRICT.search(text, 0, match.start())):
            continue
        yield Found(match.start(), match.end(), re.sub(r"\W+", " ", match[0]).strip())


def answers(plain: PlainText, labels: Labels) -> Iterator[Found]:
    """What follows "maiden name", "password" and the like, or answers a question for it."""
    text = plain.text
    for match in _PIN.finditer(text):
        value = _PIN_VALUE.match(text, match.end())
        if value is not None:
            yield Found(value.start(1), value.end(1), value[1])
    if not labels.mentions("answer"):
        return
    for label in labels.all:
        if label.kind == "answer":
            link = _IS.match(text, label.end)
            if link is not None:
                yield from _answer(text, link.end(), 3)
    if labels.asked == "answer":
        lead_in = _LEAD_IN.match(text)
        yield from _answer(text, lead_in.end() if lead_in else 0, 4)


def _answer(text: str, start: int, most: int) -> Iterator[Found]:
    end = _ANSWER_END.search(text, start)
    stop = end.start() if end is not None else len(text)
    value = text[start:stop].strip()
    if value and len(value.split()) <= most and _NO_ANSWER.search(text, start) is None:
        begin = text.index(value, start)
        yield Found(begin, begin + len(value), value)
