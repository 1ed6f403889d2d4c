"""chrF: character n-grams that two texts share (Popović 2015), with or without spaces."""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

CHAR_ORDER: Final = 6
"""As in the paper and in sacrebleu, which the tests compare with."""
BETA: Final = 2
"""Recall weighs twice as much as precision, as in chrF2."""

Grams = tuple[Mapping[str, int], ...]


def chrf(text: str, reference: str, *, keep_spaces: bool = False) -> float:
    """(1 + β²) · P · R / (β² · P + R), P and R the mean over n = 1 … 6        C-68

    n-grams longer than one of the texts are left out of the mean. In [0, 1]; 0 if a text is empty.
    With `keep_spaces`, spaces are characters as well, and U+00A0 is a space.
    """
    text, reference = _prepare(text, keep_spaces), _prepare(reference, keep_spaces)
    precisions = recalls = 0.0
    orders = 0
    for n, (given, wanted) in enumerate(zip(_grams(text), _grams(reference), strict=True), 1):
        if not given or not wanted:
            break
        shared = _count_shared(given, wanted)
        precisions += shared / (len(text) - n + 1)
        recalls += shared / (len(reference) - n + 1)
        orders += 1
    if not precisions:
        return 0.0
    precision, recall = precisions / orders, recalls / orders
    return (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall)


def _prepare(text: str, keep_spaces: bool) -> str:
    return text.replace("\u00a0", " ") if keep_spaces else "".join(text.split())


def _count_shared(given: Mapping[str, int], wanted: Mapping[str, int]) -> int:
    fewer, more = (given, wanted) if len(given) < len(wanted) else (wanted, given)
    return sum(min(count, more[gram]) for gram, count in fewer.items() if gram in more)


@lru_cache(maxsize=1024)
def _grams(text: str) -> Grams:
    """The n-grams for n = 1 … 6; cached, because references recur with every model."""
    return tuple(
        Counter(text[start : start + n] for start in range(len(text) - n + 1))
        for n in range(1, CHAR_ORDER + 1)
    )
