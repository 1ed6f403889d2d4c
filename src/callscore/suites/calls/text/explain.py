"""The sentences, highlights, fields and claims that counted against a text reply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from callscore.core.judging import Verdicts
from callscore.core.task import Faults
from callscore.scorecard.five_key_records import quote
from callscore.suites.calls.text import sentiment, summary
from callscore.suites.calls.text.claims import Claim, claims
from callscore.suites.calls.text.reference import TextReference
from callscore.suites.calls.text.summary import (
    FABRICATION_FREE,
    HALLUCINATION_RATE,
    HIGHLIGHT_CORRECTNESS,
    HIGHLIGHT_RECALL,
    fabricated_claims,
)
from callscore.suites.calls.text.task import TextOutput, highlights_of


def faults(reference: TextReference, output: TextOutput, verdicts: Verdicts) -> Faults:
    """What was labelled wrongly or not at all, not captured, left empty, or made up."""
    labels = list(_label_pairs(reference, output))
    wrong = [
        f"{quote(key)} (given {'no label' if given is None else quote(given)}, expected {label})"
        for key, label, given in labels
        if given != label
    ]
    info = output.summary.get("call_extracted_info", {})
    filled = summary.filled_fields(reference, info)
    fabricated = [
        quote(text)
        for text in fabricated_claims(claims(output.summary), reference.claim_forms, verdicts)
    ]
    return {
        "text.sentiment_accuracy": wrong,
        "text.sentiment_macro_f1": wrong,
        "text.missing_labels": [quote(key) for key, _, given in labels if given is None],
        **_highlight_faults(reference, output, verdicts),
        "text.field_presence": [
            f"empty {quote(name)}"
            for name, is_filled in zip(reference.required_fields, filled, strict=True)
            if not is_filled
        ],
        FABRICATION_FREE: fabricated,
        HALLUCINATION_RATE: fabricated,
    }


def _label_pairs(
    reference: TextReference, output: TextOutput
) -> Iterator[tuple[str, str, str | None]]:
    """(sentence id, expected label, given label) of every sentence with an expected label."""
    pairs = sentiment.label_pairs(reference.sentences, output.sentences, set())
    labelled = (key for key, sentence in reference.sentences.items() if sentence.label is not None)
    for key, (expected, given) in zip(labelled, pairs, strict=True):
        yield key, expected, given


def _highlight_faults(reference: TextReference, output: TextOutput, verdicts: Verdicts) -> Faults:
    given = highlights_of(reference, output, set())
    captured = summary.capture_findings(reference, given)
    accurate = summary.find_stated(reference.highlight_forms, given.texts)
    return {
        HIGHLIGHT_RECALL: _refuted_statements(
            HIGHLIGHT_RECALL, reference.highlights, captured, verdicts
        ),
        HIGHLIGHT_CORRECTNESS: [
            *_refuted_statements(HIGHLIGHT_CORRECTNESS, given.texts, accurate, verdicts),
            *["a highlight that is not text"] * given.not_text,
        ],
    }


def _refuted_statements(
    metric: str, statements: Sequence[Claim], found: list[bool | None], verdicts: Verdicts
) -> list[str]:
    settled = summary.apply_verdicts(metric, statements, found, verdicts, set())
    return [
        f"{statement.item} {quote(statement.text)}"
        for statement, supported in zip(statements, settled, strict=True)
        if supported is False
    ]
