"""Finds personal data: emails, names, and card, bank, identity, phone and account numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, get_args

import msgspec

from callscore.core.errors import MissingExtra
from callscore.metrics.payment_cards import is_card_number
from callscore.privacy.data_labels import LabelKind, Labels
from callscore.privacy.dictated_numbers import SpokenNumber, spoken_numbers
from callscore.privacy.name_model import NameModel
from callscore.privacy.places import Found, addresses, answers, birth_dates, postcodes
from callscore.privacy.plain_text import PlainText, plain_text

DataKind = Literal[
    "email", "card", "cvv", "iban", "ssn", "aadhaar", "pan", "phone", "account", "birth_date",
    "postcode", "address", "answer", "name",
]  # fmt: skip
KINDS: tuple[DataKind, ...] = get_args(DataKind)
REGIONS = ("US", "GB", "IN", "DE", "FR", "ES", "IT", "BR", "MX", "KR", "JP", "AU", "CN")
"""The default regions of phone numbers without a country code."""


class PersonalDataSpan(msgspec.Struct, frozen=True):
    """A span of personal data; `value` is the same for all spellings of it."""

    kind: DataKind
    start: int
    end: int
    value: str


_START = r"(?<![0-9a-z_])"
_END = r"(?![0-9a-z_])"
"""The edges of a number: no digit or Latin letter; other scripts write without spaces."""
_LETTERS = r"a-z0-9\u00e0-\u024f\u0370-\u052f"
_EMAIL = re.compile(
    rf"(?<![{_LETTERS}.+_-])[{_LETTERS}.+_-]{{1,64}}@"
    rf"(?:[{_LETTERS}](?:[{_LETTERS}-]{{0,61}}[{_LETTERS}])?\.){{1,8}}[a-z]{{2,24}}(?![0-9a-z-])"
)
"""In scripts without spaces, the words around an address are no part of it."""
_DOT = r"(?:dot|punkt|punto|point|ponto)"
_JOINT = (
    rf"(?:{_DOT}|underscore|dash|hyphen|minus|plus|unterstrich|bindestrich|guion bajo|"
    rf"guion|tiret)"
)
_TOP_LEVEL = (
    "com|net|org|edu|gov|info|biz|io|ai|dev|app|me|co|uk|eu|de|at|ch|fr|be|nl|es|it|pt|br|mx|ar|cl|"
    "in|kr|jp|cn|tw|hk|sg|au|nz|ca|us|ie|pl|cz|se|no|dk|fi|ru|ua|tr|gr|za|ae|il"
)
_SPOKEN_EMAIL = re.compile(
    rf"(?<![\w'’])(?:[a-z0-9] ){{0,12}}[^\W_](?:[\w+.-]{{0,40}}\w)?"
    rf"(?: {_JOINT} [\w+-]{{1,40}}){{0,4}}(?: \d{{1,4}})? (?:at|arroba|arobase|"
    rf"chiocciola|ät) (?:sign )?[\w-]{{2,40}}"
    rf"(?: {_JOINT} [\w-]{{2,40}}){{0,3}} {_DOT} (?:{_TOP_LEVEL})(?!\w)"
)
_SAID_AT = re.compile(r" (?:at|arroba|arobase|chiocciola|ät) ")
_NO_LOCAL_PART = re.compile(
    r"(?:me|us|it|them|him|her|is|you|look|site|website|here|online|page|shop|visit|"
    r"go|everything|"
    r"more|details|information|out) "
)
_DIGITS = re.compile(r"(?<![0-9a-z_.,/+-])\d(?:[ .-]?\d){11,18}" + _END + r"(?![/-]|[.,]\d)")
_IBAN = re.compile(
    rf"{_START}[a-z]{{2}}\d{{2}}(?:[ -]?[a-z0-9]{{2,4}}){{3,8}}(?:[ -]?[a-z0-9]{{1,3}})?{_END}"
)
_SSN = re.compile(rf"(?<![0-9a-z_-])(\d{{3}})([- .])(\d{{2}})\2(\d{{4}}){_END}(?!-)")
_BARE_SSN = re.compile(rf"{_START}\d{{9}}{_END}")
_AADHAAR = re.compile(rf"(?<![0-9a-z_+-])[2-9]\d{{3}}([ -]?)\d{{4}}\1\d{{4}}{_END}(?!-)")
_PAN = re.compile(rf"{_START}[a-z]{{3}}[abcefghjklpt][a-z]\d{{4}}[a-z]{_END}")
_PHONE = re.compile(
    rf"(?<![0-9a-z_@#/-])(?<!\d[.,])(?:\+|00)?\(?\d(?:[ ().\-/]{{0,3}}\d){{6,14}}"
    rf"(?: ?(?:x|ext\.?|extension) ?\d{{1,5}})?{_END}(?![@/]|[.,:-]\d)"
)
_EXTENSION = re.compile(r" ?(?:x|ext\.?|extension) ?\d+$")
_DATE = re.compile(
    r"(?:19|20)\d\d[-/. ]?[01]\d[-/. ]?[0-3]\d.*|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)\d\d"
)
_CVV = re.compile(rf"(?<![0-9a-z_.,$€£/-])\d[ -]?\d[ -]?\d(?:[ -]?\d)?{_END}(?![ -]\d|[.,/:]\d|%)")
_ACCOUNT = re.compile(
    rf"(?<![0-9a-z_.,$€£/-])(?:[a-z]{{1,4}}-?)?\d(?:[ -]?\d){{4,17}}x?{_END}(?!-\d|[.,/:]\d)"
)
_GROUPED_DATE = re.compile(r"(?:19|20)\d\d-[01]\d-[0-3]\d")
_NUMBER = re.compile(r"(?<![\d.,])\+?\(?\d(?:[ ().\-/]{0,3}\d){5,18}(?!\d|[.,]\d)")
"""Any number of six digits or more, however it is grouped."""
_ANY_DIGIT = re.compile(r"\d")
_LONGEST_REPLY = 60
"""Characters of a reply before the number that it was asked for."""


def digits_of(text: str) -> str:
    """The digits in a text."""
    return "".join(char for char in text if char.isdigit())


def numbers_of(span: PersonalDataSpan, written: str) -> Iterator[str]:
    """The digits by which other texts of a call may refer to a number of six digits or more."""
    if span.kind in ("email", "name", "address", "answer"):
        return
    forms = [written, span.value]
    if span.kind == "phone" and span.value.startswith("+"):
        import phonenumbers

        forms.append(phonenumbers.national_significant_number(phonenumbers.parse(span.value)))
    for digits in map(digits_of, forms):
        if len(digits) > 5:
            yield digits


def numbers_in(text: str) -> list[tuple[int, int, str]]:
    """Start, end and digits of every number of six digits or more, written or spoken."""
    plain = plain_text(text)
    found = [(*plain.at(*one.span()), digits_of(one[0])) for one in _NUMBER.finditer(plain.text)]
    if not found:
        found = [(*plain.at(one.start, one.end), one.digits) for one in spoken_numbers(plain.text)]
    return found


class _Words(NamedTuple):
    """A text to search in, with its labels and the numbers that are spoken in it."""

    plain: PlainText
    labels: Labels
    spoken: Sequence[SpokenNumber]
    regions: Sequence[str]

    def asks(self, kind: LabelKind, start: int) -> bool:
        """Whether the words before the text ask for this kind, and the number answers soon."""
        if self.labels.asked != kind or start > _LONGEST_REPLY:
            return False
        label = self.labels.before(start)
        return label is None or label.kind in (kind, "number")

    def names(self, kind: LabelKind, start: int, end: int) -> bool:
        """Whether a label that is linked to the number, or a question, names this kind."""
        linked = self.labels.linked(start, end)
        if linked is not None and linked.kind != "number":
            return linked.kind == kind
        return self.asks(kind, start)


def _emails(words: _Words) -> Iterator[Found]:
    text = words.plain.text
    if "@" in text:
        for match in _EMAIL.finditer(text):
            yield Found(match.start(), match.end(), match[0])
    for match in _SPOKEN_EMAIL.finditer(text) if _SAID_AT.search(text) else ():
        if _NO_LOCAL_PART.match(match[0]):
            continue
        value = re.sub(rf" {_DOT} ", ".", match[0])
        value = _SAID_AT.sub("@", value)
        yield Found(match.start(), match.end(), value.replace(" ", ""))


def _cards(words: _Words) -> Iterator[Found]:
    """Numbers of a card network with a valid Luhn checksum, and 12 to 19 digits after a label."""
    for match in _DIGITS.finditer(words.plain.text):
        number = digits_of(match[0])
        label = words.labels.before(match.start())
        linked = words.labels.linked(match.start(), match.end())
        is_other = linked is not None and linked.kind == "other"
        if is_other or (label is not None and label.kind == "long"):
            continue
        if is_card_number(number) or words.names("card", match.start(), match.end()):
            yield Found(match.start(), match.end(), number)


def _cvvs(words: _Words) -> Iterator[Found]:
    text = words.plain.text
    if words.labels.asked != "cvv" and not any(one.kind == "cvv" for one in words.labels.all):
        return
    for match in _CVV.finditer(text):
        label = words.labels.before(match.start(), 30)
        is_first = label is not None and not _ANY_DIGIT.search(text, label.end, match.start())
        if (is_first and label is not None and label.kind == "cvv") or words.names(
            "cvv", match.start(), match.end()
        ):
            yield Found(match.start(), match.end(), digits_of(match[0]))


def _ibans(words: _Words) -> Iterator[Found]:
    from stdnum import iban

    text = words.plain.text
    for match in _IBAN.finditer(text):
        end = match.end()
        # words after the number can match the pattern, too; the shortest IBAN has 15 characters
        while end - match.start() > 14:
            compact = re.sub(r"[\s-]", "", text[match.start() : end]).upper()
            if iban.is_valid(compact, check_country=False):
                yield Found(match.start(), end, compact)
                break
            end = text.rfind(" ", 0, end)


def _ssns(words: _Words) -> Iterator[Found]:
    from stdnum.us import ssn

    text = words.plain.text
    for match in _SSN.finditer(text):
        number = digits_of(match[0])
        label = words.labels.before(match.start())
        is_other = label is not None and label.kind in ("phone", "other", "long", "account")
        if (ssn.is_valid(number) and not is_other and match[2] != ".") or _is_ssn(words, match):
            yield Found(match.start(), match.end(), number)
    for match in _BARE_SSN.finditer(text):
        if _is_ssn(words, match):
            yield Found(match.start(), match.end(), match[0])


def _is_ssn(words: _Words, match: re.Match[str]) -> bool:
    label = words.labels.before(match.start())
    if label is not None and label.kind == "ssn":
        return True
    return words.names("ssn", match.start(), match.end())


def _aadhaars(words: _Words) -> Iterator[Found]:
    from stdnum.in_ import aadhaar

    for match in _AADHAAR.finditer(words.plain.text):
        number = digits_of(match[0])
        label = words.labels.before(match.start())
        is_other = label is not None and label.kind in ("other", "long", "phone", "account")
        is_named = words.names("aadhaar", match.start(), match.end())
        if is_named or (aadhaar.is_valid(number) and not is_other):
            yield Found(match.start(), match.end(), number)


def _pans(words: _Words) -> Iterator[Found]:
    for match in _PAN.finditer(words.plain.text):
        yield Found(match.start(), match.end(), match[0].upper())


def _accounts(words: _Words) -> Iterator[Found]:
    text = words.plain.text
    for match in _ACCOUNT.finditer(text):
        value = re.sub(r"[\s-]", "", match[0]).upper()
        if len(digits_of(value)) < 5 or _GROUPED_DATE.fullmatch(match[0]):
            continue
        if words.names("account", match.start(), match.end()) and not (
            words.labels.is_near("phone", match.start())
            and _phone_value(match[0], words.regions, likely=False) is not None
        ):
            yield Found(match.start(), match.end(), value)


def _phones(words: _Words) -> Iterator[Found]:
    text, labels = words.plain.text, words.labels
    for match in _PHONE.finditer(text):
        number, start = _EXTENSION.sub("", match[0]), match.start()
        is_international = number.startswith(("+", "00"))
        label = labels.before(start)
        after = labels.linked(start, match.end())
        is_named = (
            labels.is_near("phone", start)
            or words.asks("phone", start)
            or (after is not None and after.kind == "phone")
        )
        is_other = label is not None and label.kind in ("other", "long", "account", "card")
        if is_other and label is not None and not is_international:
            is_named = is_named and label.kind in ("other", "account")
            if not is_named or (label.kind == "other" and number.isdigit()):
                continue
        is_named = is_named or (label is not None and label.kind == "number")
        is_named = is_named or words.asks("number", start)
        if _DATE.fullmatch(number) or (number.isdigit() and not is_international and not is_named):
            continue
        value = _phone_value(number, _regions_of(text, words.regions), likely=is_named)
        if value is not None:
            yield Found(start, match.end(), value)


_SCRIPTS = (
    ("KR", re.compile("[가-힣]")),
    ("JP", re.compile("[\u3040-\u30ff]")),
    ("CN", re.compile("[\u4e00-\u9fff]")),
    ("IN", re.compile("[\u0900-\u0dff]")),
)


def _regions_of(text: str, regions: Sequence[str]) -> Sequence[str]:
    """The regions, that of the script first."""
    if text.isascii():
        return regions
    own = [region for region, script in _SCRIPTS if region in regions and script.search(text)]
    return [*own[:1], *regions]


def _phone_value(number: str, regions: Sequence[str], *, likely: bool) -> str | None:
    """The number in E.164 format; its digits if it is likely a phone number; else None."""
    import phonenumbers

    dialled = f"+{number[2:]}" if number.startswith("00") else number
    for region in (None,) if dialled.startswith("+") else regions:
        try:
            parsed = phonenumbers.parse(dialled, region)
        except phonenumbers.NumberParseException:
            continue
        if phonenumbers.is_valid_number(parsed):
            return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)
    digits = digits_of(number)
    # E.164 has at most 15 digits; a number without its area at least 7
    return digits if likely and 7 <= len(digits) <= 15 else None


def _spoken(words: _Words) -> Iterator[tuple[DataKind, Found]]:
    """Numbers in words: cards by checksum, others by a label or a question."""
    for number in words.spoken:
        card = _spoken_card(number)
        if card is not None:
            yield "card", card
            continue
        kind = _spoken_kind(words, number)
        if kind is not None:
            value = number.digits
            if kind == "phone":
                regions = _regions_of(words.plain.text, words.regions)
                value = _phone_value(value, regions, likely=True) or value
            yield kind, Found(number.start, number.end, value)


def _spoken_card(number: SpokenNumber) -> Found | None:
    """A card number, with the one or two words around it that may be others."""
    tokens = number.tokens
    if len(number.digits) < 13:
        return None
    for cut in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2)):
        kept = tokens[cut[0] : len(tokens) - cut[1]]
        digits = "".join(token[2] for token in kept)
        if is_card_number(digits):
            return Found(number.start, number.end, digits)
    return None


_SPOKEN_LENGTHS: dict[LabelKind, tuple[DataKind, range]] = {
    "card": ("card", range(12, 21)),
    "ssn": ("ssn", range(8, 11)),
    "cvv": ("cvv", range(3, 5)),
    "aadhaar": ("aadhaar", range(11, 14)),
    "phone": ("phone", range(5, 17)),
    "number": ("phone", range(7, 17)),
    "account": ("account", range(5, 25)),
    "postcode": ("postcode", range(4, 8)),
    "birth_date": ("birth_date", range(6, 9)),
}
"""By label, the kind of a spoken number and its possible lengths."""


def _lengths(kind: LabelKind) -> range:
    return _SPOKEN_LENGTHS[kind][1] if kind in _SPOKEN_LENGTHS else range(0)


_COUNTING = ("0123456789012345", "9876543210987654", "12345678910")


def _spoken_kind(words: _Words, number: SpokenNumber) -> DataKind | None:
    labels, length = words.labels, len(number.digits)
    label = labels.linked(number.start, number.end)
    if label is None or (label.start >= number.end and label.kind in ("birth_date", "postcode")):
        label = labels.before(number.start)  # "…, born on 3 March": that date follows
    named = label.kind if label is not None else None
    if named in (None, "number") and number.start <= _LONGEST_REPLY:
        fits = (kind for kind in labels.asked_kinds if length in _lengths(kind))
        named = next(fits, labels.asked) or named
        if labels.asked in _SPOKEN_LENGTHS and _is_fragment(words, number):
            return _SPOKEN_LENGTHS[labels.asked][0]  # a part of the number, as people dictate it
    if named in ("other", "long"):
        return None
    if named in _SPOKEN_LENGTHS:
        kind, lengths = _SPOKEN_LENGTHS[named]
        if length in lengths:
            return kind
        if named == "card" and length > 4:
            return "account" if length < 12 else "card"
        if named in ("phone", "ssn", "aadhaar", "postcode") and length >= 5:
            return "account"
    is_counting = any(number.digits in counting for counting in _COUNTING)
    if length >= 9 and not is_counting:
        return "phone" if length < 13 else "account"
    return None


def _is_fragment(words: _Words, number: SpokenNumber) -> bool:
    """Whether the text is little more than the number."""
    return number.end - number.start >= 0.6 * len(words.plain.text.strip())


_Finder = Callable[[_Words], Iterator[Found]]
_FINDERS: Sequence[tuple[DataKind, _Finder]] = (
    ("email", _emails),
    ("iban", _ibans),
    ("card", _cards),
    ("ssn", _ssns),
    ("aadhaar", _aadhaars),
    ("pan", _pans),
    ("cvv", _cvvs),
    ("birth_date", lambda words: birth_dates(words.plain, words.labels)),
    ("account", _accounts),
    ("phone", _phones),
    ("postcode", lambda words: postcodes(words.plain, words.labels)),
    ("address", lambda words: addresses(words.plain, words.labels)),
    ("answer", lambda words: answers(words.plain, words.labels)),
)
"""The kinds, the more certain ones first."""
_FINDERS_OF_WORDS = [
    one for one in _FINDERS if one[0] in ("email", "pan", "birth_date", "address", "answer")
]
"""What a text without a digit may contain."""


class Finder:
    """Finds the chosen kinds of personal data in a text; spans do not overlap."""

    def __init__(
        self,
        kinds: Sequence[DataKind] = KINDS,
        names: Sequence[str] = (),
        regions: Sequence[str] = REGIONS,
        name_model: NameModel | None = None,
    ) -> None:
        require_packages()
        self._name_model = name_model
        self._regions = regions
        self._kinds = frozenset(kinds)
        longest_first = sorted(filter(None, map(str.strip, names)), key=len, reverse=True)
        joined = "|".join(map(re.escape, longest_first))
        pattern = rf"(?<!\w)(?:{joined})(?!\w)"
        self._name_list = re.compile(pattern, re.IGNORECASE) if joined else None

    def find(self, text: str, before: str = "") -> list[PersonalDataSpan]:
        """The spans in order; of two that overlap, the one of the more certain kind.

        `before` may name what the text contains: the question in the turn before, or a key.
        """
        plain = plain_text(text)
        labels = Labels(plain.text, plain_text(before).text if before else "")
        words = _Words(plain, labels, list(spoken_numbers(plain.text)), self._regions)
        has_digits = _ANY_DIGIT.search(plain.text) is not None
        spans: list[PersonalDataSpan] = []
        taken = bytearray(len(text))
        for kind, found in self._found(words, has_digits):
            start, end = plain.at(found.start, found.end)
            if kind in self._kinds and not any(taken[start:end]):
                spans.append(PersonalDataSpan(kind, start, end, found.value))
                taken[start:end] = b"\1" * (end - start)
        return sorted(spans, key=lambda span: span.start)

    def _found(self, words: _Words, has_digits: bool) -> Iterator[tuple[DataKind, Found]]:
        """What each kind finds, the more certain kinds first."""
        for kind, finder in _FINDERS if has_digits else _FINDERS_OF_WORDS:
            for found in finder(words):
                yield kind, found
            if kind == "pan":
                yield from _spoken(words)
        for found in self._names(words.plain.original):
            yield "name", found

    def _names(self, text: str) -> Iterator[Found]:
        if self._name_list is not None:
            for match in self._name_list.finditer(text):
                yield Found(match.start(), match.end(), match[0].casefold())
        if self._name_model is not None:
            for start, end in self._name_model.names(text):
                yield Found(start, end, text[start:end].casefold())


def require_packages() -> None:
    """Raise MissingExtra if a package that redaction needs is not installed."""
    try:
        import phonenumbers  # noqa: F401
        import stdnum  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "redaction needs phonenumberslite and python-stdnum: pip install 'callscore[redact]'"
        ) from None
