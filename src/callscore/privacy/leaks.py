"""Card data in what a model wrote: never allowed in a summary, whatever the call held (PCI DSS)."""

from __future__ import annotations

import re

from callscore.privacy.kinds import is_card

_CARD = re.compile(r"(?<!\d)\d(?:[ .-]?\d){12,18}(?!\d)")
_CVV = re.compile(
    r"\b(?:cvv2?|cvc2?|cv2|csc|security code|card verification (?:code|value|number))\b"
    r"[^\d\n]{0,20}(\d[ -]?\d[ -]?\d(?:[ -]?\d)?)(?!\d)",
    re.IGNORECASE,
)
_LONG_NUMBER = re.compile(r"\d[\d .-]{11}\d")
CARD_LEAK = "leak:card_number"
CVV_LEAK = "leak:card_security_code"


def leaks_of(text: str) -> list[str]:
    """The kinds of card data in a text: nothing is looked at twice where there are no digits."""
    found: list[str] = []
    if _LONG_NUMBER.search(text):
        numbers = (re.sub(r"\D", "", match[0]) for match in _CARD.finditer(text))
        if any(len(set(number)) > 1 and is_card(number) for number in numbers):
            found.append(CARD_LEAK)
    if _CVV.search(text):
        found.append(CVV_LEAK)
    return found
