"""What is found: emails, cards, bank and identity numbers, telephone and account numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, get_args

import msgspec

from callscore.core.errors import MissingExtra
from callscore.metrics.card_numbers import is_card_number
from callscore.privacy.name_models import NameModel

Kind = Literal["email", "card", "cvv", "iban", "ssn", "aadhaar", "pan", "phone", "account", "name"]
KINDS: tuple[Kind, ...] = get_args(Kind)
REGIONS = ("US", "GB", "IN", "DE", "FR", "ES", "IT", "BR", "MX", "KR", "JP", "AU")
"""Where a telephone number without a country code may be from, unless the user says it."""


class Finding(msgspec.Struct, frozen=True):
    """Personal data in a text; `value` is the same for every way of writing it."""

    kind: Kind
    start: int
    end: int
    value: str


_END = r"(?![0-9A-Za-z_])"
"""No sign of a number behind it; letters of scripts that write without blanks may follow."""
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
_OTHER_WORDS = re.compile(
    r"order|ticket|invoice|reference|ref\b|case|tracking|serial|booking|confirmation|transaction|"
    r"bestell|auftrag|rechnung|pedido|factura|commande|facture|meter reading|zählerstand|imei|"
    r"주문|version|model|sku|item|isbn|article|\blot\b",
    re.IGNORECASE,
)
_OTHER_LONG_NUMBERS = re.compile(r"imei|isbn|tracking|serial", re.IGNORECASE)
CONTEXT = 40
"""Characters before a number that may say what it is."""


def _digits(text: str) -> str:
    return "".join(char for char in text if char.isdigit())


def _emails(text: str) -> Iterator[Finding]:
    if "@" in text:
        for found in _EMAIL.finditer(text):
            yield Finding("email", found.start(), found.end(), found[0].casefold())
    for found in _SPOKEN_EMAIL.finditer(text):
        value = re.sub(r" (?:dot|punkt|punto|point) ", ".", found[0].casefold())
        value = re.sub(r" (?:at|arroba) ", "@", value)
        yield Finding("email", found.start(), found.end(), value)


def _cards(text: str) -> Iterator[Finding]:
    """Thirteen to nineteen digits of a card network whose Luhn sum is right."""
    for found in _DIGITS.finditer(text):
        number = _digits(found[0])
        other = _near(_OTHER_LONG_NUMBERS, text, found.start())
        if is_card_number(number) and not other:
            yield Finding("card", found.start(), found.end(), number)


def _cvvs(text: str) -> Iterator[Finding]:
    for found in _CVV.finditer(text):
        yield Finding("cvv", found.start(1), found.end(1), _digits(found[1]))


def _ibans(text: str) -> Iterator[Finding]:
    from stdnum import iban

    for found in _IBAN.finditer(text):
        end = found.end()
        while end - found.start() > 14:  # the words behind a number may look like a part of it
            compact = re.sub(r"\s", "", text[found.start() : end]).upper()
            if iban.is_valid(compact, check_country=False):
                yield Finding("iban", found.start(), end, compact)
                break
            end = max(text.rfind(" ", 0, end), text.rfind("\u00a0", 0, end))


def _ssns(text: str) -> Iterator[Finding]:
    from stdnum.us import ssn

    for found in _SSN.finditer(text):
        number = _digits(found[0])
        if ssn.is_valid(number) or _near(_SSN_WORDS, text, found.start()):
            yield Finding("ssn", found.start(), found.end(), number)
    for found in _BARE_SSN.finditer(text):
        if _near(_SSN_WORDS, text, found.start()):
            yield Finding("ssn", found.start(), found.end(), found[0])


def _aadhaars(text: str) -> Iterator[Finding]:
    from stdnum.in_ import aadhaar

    for found in _AADHAAR.finditer(text):
        number = _digits(found[0])
        if aadhaar.is_valid(number) and not _near(_OTHER_WORDS, text, found.start()):
            yield Finding("aadhaar", found.start(), found.end(), number)


def _pans(text: str) -> Iterator[Finding]:
    for found in _PAN.finditer(text):
        yield Finding("pan", found.start(), found.end(), found[0].upper())


def _accounts(text: str) -> Iterator[Finding]:
    for found in _ACCOUNT.finditer(text):
        value = re.sub(r"[\s-]", "", found[1]).upper()
        if len(_digits(value)) >= 5:
            yield Finding("account", found.start(1), found.end(1), value)


def _phones(text: str, regions: Sequence[str]) -> Iterator[Finding]:
    for found in _PHONE.finditer(text):
        number = found[0]
        is_international = number.startswith(("+", "00"))
        is_grouped = not number.isdigit()
        named = _near(_PHONE_WORDS, text, found.start())
        other = not named and _near(_OTHER_WORDS, text, found.start())
        named = named or (not other and _near(_NUMBER_WORDS, text, found.start()))
        if other or _DATE.fullmatch(number) or not (is_international or is_grouped or named):
            continue
        value = _phone_value(number, regions, likely=named)
        if value is not None:
            yield Finding("phone", found.start(), found.end(), value)


def _phone_value(number: str, regions: Sequence[str], *, likely: bool) -> str | None:
    """The number in international form; None if no region knows it."""
    import phonenumbers

    dialled = f"+{number[2:]}" if number.startswith("00") else number
    for region in (None,) if dialled.startswith("+") else regions:
        try:
            parsed = phonenumbers.parse(dialled, region)
        except phonenumbers.NumberParseException:
            continue
        if phonenumbers.is_valid_number(parsed):
            return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)
    digits = _digits(number)
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


def _spoken_numbers(text: str) -> Iterator[Finding]:
    """Digits spelt out one by one, as recognisers of speech write them in English."""
    for found in _SPOKEN_DIGITS.finditer(text):
        number = _said_digits(found[0])
        kind = _spoken_kind(number, text, found.start())
        if kind is not None:
            yield Finding(kind, found.start(), found.end(), number)


def _said_digits(words: str) -> str:
    digits, times = "", 1
    for word in re.split(r"[ ,.-]+", words.casefold()):
        if word in _TIMES:
            times = _TIMES[word]
            continue
        digits += _WORD_DIGITS.get(word, word) * times
        times = 1
    return digits


def _spoken_kind(number: str, text: str, start: int) -> Kind | None:
    """What a spelt-out number is: a card by its sum, the others by the words before it."""
    if is_card_number(number):
        return "card"
    if len(number) == 9 and _near(_SSN_WORDS, text, start):
        return "ssn"
    if _near(_PHONE_WORDS, text, start):
        return "phone"
    if _near(_ACCOUNT_WORDS, text, start):
        return "account"
    return None


def _near(words: re.Pattern[str], text: str, start: int) -> bool:
    return words.search(text, max(0, start - CONTEXT), start) is not None


class Finder:
    """Finds the chosen kinds in a text, none of them inside another."""

    def __init__(
        self,
        kinds: Sequence[Kind] = KINDS,
        names: Sequence[str] = (),
        regions: Sequence[str] = REGIONS,
        name_model: NameModel | None = None,
    ) -> None:
        require_packages()
        self._name_model = name_model
        finders: dict[Kind, Callable[[str], Iterator[Finding]]] = {
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
        given = sorted(filter(None, map(str.strip, names)), key=len, reverse=True)
        joined = "|".join(re.escape(name) for name in given)
        self._given = re.compile(rf"(?<!\w)(?:{joined})(?!\w)", re.IGNORECASE) if given else None

    def find(self, text: str) -> list[Finding]:
        """What the text holds, in order; of two findings that overlap, the more certain kind."""
        taken: list[Finding] = []
        for finder in self._finders:
            for found in finder(text):
                if found.kind in self._kinds and all(
                    found.end <= one.start or found.start >= one.end for one in taken
                ):
                    taken.append(found)
        return sorted(taken, key=lambda one: one.start)

    def _names(self, text: str) -> Iterator[Finding]:
        if self._given is not None:
            for found in self._given.finditer(text):
                yield Finding("name", found.start(), found.end(), found[0].casefold())
        if self._name_model is not None:
            for start, end in self._name_model.names(text):
                yield Finding("name", start, end, text[start:end].casefold())


def require_packages() -> None:
    """Raise MissingExtra if the packages of redaction are not installed."""
    try:
        import phonenumbers  # noqa: F401
        import stdnum  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "redaction needs phonenumberslite and python-stdnum: pip install 'callscore[redact]'"
        ) from None
