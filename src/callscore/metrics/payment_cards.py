"""Card numbers and security codes in a text."""

from __future__ import annotations

import re

CARD_LEAK = "leak:card_number"
CODE_LEAK = "leak:card_security_code"
_NETWORKS = (
    *("3", "4", "5", "6", "220", "81"),
    *(str(prefix) for prefix in range(2221, 2721)),  # Mastercard, since 2017
)
_DOUBLED = "0246813579"
_CARD = re.compile(r"(?<!\d)\d(?:[ .-]?\d){12,18}(?!\d)")
_CODE = re.compile(
    r"\b(?:cvv2?|cvc2?|cv2|csc|security code|card verification (?:code|value|number))\b"
    r"[^\d\n]{0,20}(\d[ -]?\d[ -]?\d(?:[ -]?\d)?)(?!\d)",
    re.IGNORECASE,
)


def is_card_number(digits: str) -> bool:
    """13 to 19 digits, not all equal, of a card network, Luhn sum ≡ 0 (mod 10)"""
    if not 13 <= len(digits) <= 19 or not digits.startswith(_NETWORKS) or len(set(digits)) < 2:
        return False
    total = sum(
        int(_DOUBLED[int(digit)]) if place % 2 else int(digit)
        for place, digit in enumerate(reversed(digits))
    )
    return total % 10 == 0


def card_leaks(text: str) -> list[str]:
    """The kinds of card data in a text: a number, a security code (PCI DSS)."""
    found: list[str] = []
    numbers = (re.sub(r"\D", "", match[0]) for match in _CARD.finditer(text))
    if any(map(is_card_number, numbers)):
        found.append(CARD_LEAK)
    if _CODE.search(text):
        found.append(CODE_LEAK)
    return found
