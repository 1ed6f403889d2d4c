"""A rubric as a judge reads it: the question, its verdicts with their anchors, a filled example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from callscore.judges.blocks import escape_text
from callscore.judges.evidence import NONE, PLACES
from callscore.judges.rubric import AGAINST, Example, Place, Rubric

EXAMPLE_ID = "WXYZ"
"""No id that is issued: ids have no vowels and neither X, Y nor Z."""
OUTPUT_FIELD = "model_output_field"
KEYS = ("id", "expected_outcome_field", OUTPUT_FIELD, "quote", "quote_from", "verdict")
"""The keys of an entry of an answer, evidence before verdict."""
_NAMES: Mapping[Place | None, str] = {
    "turn": "turn 4",
    "field": "expected_outcome",
    "answer": "model_output",
    "claim": "the claim",
}
"""How an example names the source of its quote."""


def entry_keys(*, has_answer: bool) -> Sequence[str]:
    """Without an output, none can be cited."""
    return [key for key in KEYS if has_answer or key != OUTPUT_FIELD]


def rubric_text(rubric: Rubric, *, has_answer: bool) -> str:
    """All that is needed to answer the items of a question, once for all of them."""
    return "\n".join(_lines(rubric, has_answer))


def _lines(rubric: Rubric, has_answer: bool) -> Iterator[str]:
    yield f'Question "{rubric.name}" ({rubric.metric}): {rubric.question}'
    yield f"Compare the claim with: {_comparison(rubric)}"
    yield "Allowed verdicts:"
    for word in rubric.words:
        yield f"- {word}: {rubric.definition(word)}{_needed_quote(rubric, word)}"
    for example in rubric.examples[:1]:
        entry = example_entry(rubric, example, has_answer=has_answer)
        written = ", ".join(f'"{key}": {escape_text(value)}' for key, value in entry.items())
        yield f"Example: {_introduce(rubric, example)} is answered"
        yield f"{{{written}}}"
    for example in rubric.examples[1:]:
        yield f"Instead, the claim {escape_text(example.text)} gets {example.verdict}."


def example_entry(rubric: Rubric, example: Example, *, has_answer: bool) -> Mapping[str, str]:
    """An example of a rubric as a complete entry of an answer."""
    place = _place_of(rubric, example)
    is_own = place == "claim" or (place == "answer" and rubric.against_from != "answer")
    entry = {
        "id": EXAMPLE_ID,
        "expected_outcome_field": example.expected_outcome_field,
        OUTPUT_FIELD: example.model_output_field,
        "quote": "" if place is None else example.text if is_own else example.against,
        "quote_from": NONE if place is None else _NAMES[place],
        "verdict": example.verdict,
    }
    return {key: entry[key] for key in entry_keys(has_answer=has_answer)}


def _place_of(rubric: Rubric, example: Example) -> Place | None:
    """The source that an example quotes, if its verdict needs a quote."""
    return next(iter(rubric.evidence.get(example.verdict, ())), None)


def _introduce(rubric: Rubric, example: Example) -> str:
    claim = f"the claim {escape_text(example.text)}"
    if not example.against:
        return claim
    place = _place_of(rubric, example)
    says = f"where {_NAMES[place]} says" if place in ("turn", "field") else "compared with"
    return f"{claim} {says} {escape_text(example.against)}"


def _comparison(rubric: Rubric) -> str:
    text = rubric.compare_with.replace(AGAINST, "the text in compare_with")
    alone = f"; if there is none, {rubric.compare_alone}" if rubric.compare_alone else ""
    return f"{text}{alone}."


def _needed_quote(rubric: Rubric, word: str) -> str:
    places = rubric.evidence.get(word)
    if not places:
        return ""
    return f" Needs a quote from {' or '.join(PLACES[place] for place in places)}."
