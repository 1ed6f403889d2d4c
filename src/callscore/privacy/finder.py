"""Finds personal data: emails, names, and card, bank, identity, phone and account numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, get_args

import msgspec

from callscore.core.errors import MissingExtra
from callscore.metrics.payment_cards import is_card_number
from callscore.privacy.name_model import NameModel

DataKind = Literal[
    "email", "card", "cvv", "iban", "ssn", "aadhaar", "pan", "phone", "account", "name"
]
KINDS: tuple[DataKind, ...] = get_args(DataKind)
REGIONS = ("US", "GB", "IN", "DE", "FR", "ES", "IT", "BR", "MX", "KR", "JP", "AU")
"""The default regions of phone numbers without a country code."""


class PersonalDataSpan(msgspec.Struct, frozen=True):
    """A span of personal data; `value` is the same for all spellings of it."""

    kind: DataKind
    start: int
    end: int
    value: str


_END = r"(?![0-9A-Za-z_])"
"""The end of a number: no digit or Latin letter follows; other scripts write without spaces."""
_EMAIL = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,64}@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}[A-Za-z]{2,24}(?![0-9A-Za-z-])"
)
_SPOKEN_EMAIL = re.compile(
    r"(?<!\w)[\w+-]{1,40}(?: (?:dot|punkt|punto|point) [\w+-]{1,40}){0,3} (?:at|arroba) "
    r"[\w-]{2,40}(?: (?:dot|punkt|punto|point) [a-z]{2,10}){1,3}(?!\w)",
    re.IGNORECASE,
)
_DIGITS = re.compile(rf"(?<![\w.,/+-])\d(?:[ \u00a0.-]?\d){{12,18}}{_END}(?![/-]|[.,]\d)")
_IBAN = re.compile(
    rf"(?<!\w)[A-Z]{{2}}\d{{2}}(?:[ \u00a0]?[A-Z0-9]{{2,4}}){{3,8}}"
    rf"(?:[ \u00a0]?[A-Z0-9]{{1,3}})?{_END}",
    re.IGNORECASE,
)
_SSN = re.compile(rf"(?<![\w-])(\d{{3}})([- ])(\d{{2}})\2(\d{{4}}){_END}(?!-)")
_BARE_SSN = re.compile(rf"(?<!\w)\d{{9}}{_END}")
_AADHAAR = re.compile(rf"(?<![\w+-])[2-9]\d{{3}}([ -]?)\d{{4}}\1\d{{4}}{_END}(?!-)")
_PAN = re.compile(rf"(?<!\w)[A-Z]{{3}}[ABCEFGHJKLPT][A-Z]\d{{4}}[A-Z]{_END}", re.IGNORECASE)
_PHONE = re.compile(
    rf"(?<![\w@#.,/-])(?:\+|00)?\(?\d(?:[ \u00a0().\-/]{{0,3}}\d){{6,14}}{_END}(?![@/]|[.,:-]\d)"
)
_DATE = re.compile(r"(?:19|20)\d\d[-/. ]?\d\d[-/. ]?\d\d.*|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)\d\d")
_CVV = re.compile(
    r"\b(?:cvv2?|cvc2?|cv2|csc|security code|card verification|three digits? on the back|"
    r"prüfziffer|kartenprüfnummer|código de seguridad|cryptogramme)\b[^\d\n]{0,30}"
    r"(\d[ -]?\d[ -]?\d(?:[ -]?\d)?)(?!\d|[ -]\d)",
    re.IGNORECASE,
)
_ACCOUNT = re.compile(
    r"\b(?:account|acct|a/c|policy|member(?:ship)?|customer|client|loan|contract|konto|"
    r"kundennummer|kunden|cuenta|compte|conta|계좌|खाता)"
    r"(?:[- ]?(?:number|nummer|no|num|id|número|numéro|nr|번호|संख्या|#))?[.:#]?"
    r"(?:[ \u00a0]*(?:(?:ist|is|est|es|of|was|ending in)\b|[:=]))?[ \u00a0#:]{0,3}"
    rf"((?=[A-Z0-9 -]{{0,6}}\d)(?:[A-Z]{{1,4}}-?)?\d(?:[ -]?\d){{4,17}}){_END}(?!-\d|[.,]\d)",
    re.IGNORECASE,
)
_ACCOUNT_WORDS = re.compile(r"account|acct|policy|member|customer (?:id|number)", re.IGNORECASE)
_SSN_WORDS = re.compile(r"social(?: security)?|\bssn\b", re.IGNORECASE)
_PHONE_WORDS = re.compile(
    r"phone|mobile|cell|call(?:ing)? (?:me|you|us|back|from|at|on)|reach|dial|text me|landline|"
    r"whatsapp|fax|contact number|telefon|handy|rufnummer|rückruf|tel[.:]|téléphone|teléfono|"
    r"celular|móvil|전화|फ़ोन|फोन|मोबाइल|電話",
    re.IGNORECASE,
)
_NUMBER_WORDS = re.compile(r"number is|my number|numéro|número|नंबर", re.IGNORECASE)
_OTHER_NUMBER_WORDS = re.compile(
    r"order|ticket|invoice|reference|ref\b|case|tracking|serial|booking|confirmation|transaction|"
    r"bestell|auftrag|rechnung|pedido|factura|commande|facture|meter reading|zählerstand|imei|"
    r"주문|version|model|sku|item|isbn|article|\blot\b",
    re.IGNORECASE,
)
_OTHER_LONG_NUMBERS = re.compile(r"imei|isbn|tracking|serial", re.IGNORECASE)
CONTEXT = 40
"""Characters before a number in which its kind may be named."""


def digits_of(text: str) -> str:
    """The digits in a text."""
    return "".join(char for char in text if char.isdigit())


NUMBER = re.compile(r"(?<![\d.,])\+?\(?\d(?:[ \u00a0().\-/]{0,3}\d){5,18}(?!\d|[.,]\d)")
"""Any number of six digits or more, however it is grouped."""


def numbers_of(span: PersonalDataSpan, written: str) -> Iterator[str]:
    """The digits by which other texts of a call may refer to a number of six digits or more."""
    if span.kind in ("email", "name"):
        return
    forms = [written, span.value]
    if span.kind == "phone" and span.value.startswith("+"):
        import phonenumbers

        forms.append(phonenumbers.national_significant_number(phonenumbers.parse(span.value)))
    for digits in map(digits_of, forms):
        if len(digits) > 5:
            yield digits


def _emails(text: str) -> Iterator[PersonalDataSpan]:
    if "@" in text:
        for match in _EMAIL.finditer(text):
            yield PersonalDataSpan("email", match.start(), match.end(), match[0].casefold())
    for match in _SPOKEN_EMAIL.finditer(text):
        value = re.sub(r" (?:dot|punkt|punto|point) ", ".", match[0].casefold())
        value = re.sub(r" (?:at|arroba) ", "@", value)
        yield PersonalDataSpan("email", match.start(), match.end(), value)


def _cards(text: str) -> Iterator[PersonalDataSpan]:
    """Numbers of 13 to 19 digits of a card network with a valid Luhn checksum."""
    for match in _DIGITS.finditer(text):
        number = digits_of(match[0])
        other = _is_near(_OTHER_LONG_NUMBERS, text, match.start())
        if is_card_number(number) and not other:
            yield PersonalDataSpan("card", match.start(), match.end(), number)


def _cvvs(text: str) -> Iterator[PersonalDataSpan]:
    for match in _CVV.finditer(text):
        yield PersonalDataSpan("cvv", match.start(1), match.end(1), digits_of(match[1]))


def _ibans(text: str) -> Iterator[PersonalDataSpan]:
    from stdnum import iban

    for match in _IBAN.finditer(text):
        end = match.end()
        while end - match.start() > 14:  # words after the number can match the pattern too
            compact = re.sub(r"\s", "", text[match.start() : end]).upper()
            if iban.is_valid(compact, check_country=False):
                yield PersonalDataSpan("iban", match.start(), end, compact)
                break
            end = max(text.rfind(" ", 0, end), text.rfind("\u00a0", 0, end))


def _ssns(text: str) -> Iterator[PersonalDataSpan]:
    from stdnum.us import ssn

    for match in _SSN.finditer(text):
        number = digits_of(match[0])
        if ssn.is_valid(number) or _is_near(_SSN_WORDS, text, match.start()):
            yield PersonalDataSpan("ssn", match.start(), match.end(), number)
    for match in _BARE_SSN.finditer(text):
        if _is_near(_SSN_WORDS, text, match.start()):
            yield PersonalDataSpan("ssn", match.start(), match.end(), match[0])


def _aadhaars(text: str) -> Iterator[PersonalDataSpan]:
    from stdnum.in_ import aadhaar

    for match in _AADHAAR.finditer(text):
        number = digits_of(match[0])
        if aadhaar.is_valid(number) and not _is_near(_OTHER_NUMBER_WORDS, text, match.start()):
            yield PersonalDataSpan("aadhaar", match.start(), match.end(), number)


def _pans(text: str) -> Iterator[PersonalDataSpan]:
    for match in _PAN.finditer(text):
        yield PersonalDataSpan("pan", match.start(), match.end(), match[0].upper())


def _accounts(text: str) -> Iterator[PersonalDataSpan]:
    for match in _ACCOUNT.finditer(text):
        value = re.sub(r"[\s-]", "", match[1]).upper()
        if len(digits_of(value)) >= 5:
            yield PersonalDataSpan("account", match.start(1), match.end(1), value)


def _phones(text: str, regions: Sequence[str]) -> Iterator[PersonalDataSpan]:
    for match in _PHONE.finditer(text):
        number = match[0]
        is_international = number.startswith(("+", "00"))
        is_grouped = not number.isdigit()
        named = _is_near(_PHONE_WORDS, text, match.start())
        other = not named and _is_near(_OTHER_NUMBER_WORDS, text, match.start())
        named = named or (not other and _is_near(_NUMBER_WORDS, text, match.start()))
        if other or _DATE.fullmatch(number) or not (is_international or is_grouped or named):
            continue
        value = _phone_value(number, regions, likely=named)
        if value is not None:
            yield PersonalDataSpan("phone", match.start(), match.end(), value)


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
    return digits if likely and 7 <= len(digits) <= 15 else None


_WORD_DIGITS = {
    word: str(digit)
    for digit, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    )
} | {"oh": "0", "o": "0"}
_TIMES = {"double": 2, "triple": 3}
_SPOKEN_DIGITS = re.compile(
    rf"(?<!\w)(?:(?:{'|'.join([*_WORD_DIGITS, *_TIMES])}|\d)[ ,.-]+){{6,40}}"
    rf"(?:{'|'.join(_WORD_DIGITS)}|\d)(?!\w)",
    re.IGNORECASE,
)


def _spoken_numbers(text: str) -> Iterator[PersonalDataSpan]:
    """Numbers spelled out digit by digit, as English speech recognisers write them."""
    for match in _SPOKEN_DIGITS.finditer(text):
        number = _parse_spokendigits_of(match[0])
        kind = _spoken_kind(number, text, match.start())
        if kind is not None:
            yield PersonalDataSpan(kind, match.start(), match.end(), number)


def _parse_spokendigits_of(words: str) -> str:
    digits, times = "", 1
    for word in re.split(r"[ ,.-]+", words.casefold()):
        if word in _TIMES:
            times = _TIMES[word]
            continue
        digits += _WORD_DIGITS.get(word, word) * times
        times = 1
    return digits


def _spoken_kind(number: str, text: str, start: int) -> DataKind | None:
    """The kind of a spelled-out number: cards by checksum, others by the words before it."""
    if is_card_number(number):
        return "card"
    if len(number) == 9 and _is_near(_SSN_WORDS, text, start):
        return "ssn"
    if _is_near(_PHONE_WORDS, text, start):
        return "phone"
    if _is_near(_ACCOUNT_WORDS, text, start):
        return "account"
    return None


def _is_near(words: re.Pattern[str], text: str, start: int) -> bool:
    return words.search(text, max(0, start - CONTEXT), start) is not None


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
        finders: dict[DataKind, Callable[[str], Iterator[PersonalDataSpan]]] = {
            "email": _emails,
            "iban": _ibans,
            "card": _cards,
            "ssn": _ssns,
            "aadhaar": _aadhaars,
            "pan": _pans,
            "cvv": _cvvs,
            "account": _accounts,
            "phone": lambda text: _phones(text, regions),
            "name": self._names,
        }
        self._kinds = frozenset(kinds)
        self._finders = [finder for kind, finder in finders.items() if kind in kinds]
        self._finders.append(_spoken_numbers)
        longest_first = sorted(filter(None, map(str.strip, names)), key=len, reverse=True)
        joined = "|".join(map(re.escape, longest_first))
        pattern = rf"(?<!\w)(?:{joined})(?!\w)"
        self._name_list = re.compile(pattern, re.IGNORECASE) if joined else None

    def find(self, text: str, before: str = "") -> list[PersonalDataSpan]:
        """The spans in order; of two that overlap, the one of the more certain kind.

        `before` may name the kind of a number at the start of the text: a key, or a question.
        """
        spans: list[PersonalDataSpan] = []
        for finder in self._finders:
            for span in finder(before + text):
                if span.kind in self._kinds and all(
                    span.end <= other.start or span.start >= other.end for other in spans
                ):
                    spans.append(span)
        skipped = len(before)
        return [
            PersonalDataSpan(span.kind, span.start - skipped, span.end - skipped, span.value)
            for span in sorted(spans, key=lambda span: span.start)
            if span.start >= skipped
        ]

    def _names(self, text: str) -> Iterator[PersonalDataSpan]:
        if self._name_list is not None:
            for match in self._name_list.finditer(text):
                yield PersonalDataSpan("name", match.start(), match.end(), match[0].casefold())
        if self._name_model is not None:
            for start, end in self._name_model.names(text):
                yield PersonalDataSpan("name", start, end, text[start:end].casefold())


def require_packages() -> None:
    """Raise MissingExtra if a package that redaction needs is not installed."""
    try:
        import phonenumbers  # noqa: F401
        import stdnum  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "redaction needs phonenumberslite and python-stdnum: pip install 'callscore[redact]'"
        ) from None
