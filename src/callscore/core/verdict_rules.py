"""Rules for verdicts: allowed words, open questions, and which measures use which verdicts.

The functions are the same for every suite; a suite defines its words and exceptions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.errors import DataError
from callscore.core.judging import Item, Question, Verdict, Verdicts, without_reviews
from callscore.core.lazy import lazy_regex
from callscore.core.measure import Measure, failed, percent, ratio

WHOLE = "*"
"""The item of a verdict that scores a metric as a whole."""
DOCUMENT = "document"
"""The source of such scores. It is part of the signature; they are never mixed with others."""
RECORD_KEYS = ("metric", "score", "expected_outcome_reference", "model_output_observed", "reason")
NOT_CITED = "citation_not_found"
"""A flag, with the metric: a citation that is neither a field nor found; its score counts."""
SAME_SCORE = 1e-9
"""Scores of a judge are decimal fractions: 0.1 + 0.2 is 0.3."""


class FiveKeyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one reply in the five keys of the framework, with its case and author (C-100).

    Written by `--records`, and by `--save-verdicts` for scores of whole metrics.
    """

    case_id: str
    model: str | None = None
    run: int = 1
    slug: str = ""
    """The metric, where several have the same name."""
    metric: str
    """The name of the metric in the framework's scorecard; several tasks may share it."""
    score: float | None
    expected_outcome_reference: Any
    model_output_observed: Any
    reason: str
    by: str | msgspec.UnsetType = msgspec.UNSET
    """The judge; code if there is none."""


class JudgedMetric(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A metric as the framework describes it to a judge."""

    name: str
    layer: int
    definition: str
    steps: Sequence[float] = ()
    """The allowed scores; if empty, any from 0 to 1 (C-17, C-100)."""

    def fault(self, score: float) -> str:
        """Why a score is invalid; empty if it is valid."""
        if not 0 <= score <= 1:
            return "is not between 0 and 1"
        if self.steps and not any(abs(score - step) <= SAME_SCORE for step in self.steps):
            return f"is none of {', '.join(f'{step:g}' for step in self.steps)}"
        return ""


class FrameworkJudge(msgspec.Struct, frozen=True):
    """What the framework of a suite asks its judge, verbatim."""

    prompt: str = ""
    """The system prompt."""
    metrics: Mapping[str, JudgedMetric] = {}
    """The metrics that it may score, by slug."""
    scored_with: Mapping[str, Sequence[str]] = {}
    """By the metric that has questions: all metrics that are scored with it, itself included."""
    digest: str = ""
    """A hash of the text that a judge is given."""


BY_CODE = "code"
MOST_STATED = 100
"""The most statements of one answer that are judged for a metric."""
TOO_MANY = "too_many_statements"
"""The flag of an answer with more statements."""
_PLACE = lazy_regex(r"[:\[]")
_NOT_SCORED = frozenset({"absent", "malformed"})


def same_name(metric: str) -> str | None:
    """The slug of a metric without other names."""
    return metric


def no_group(item: Item) -> str | None:
    """No group: every verdict answers only its own item."""
    return None


def no_framework_judge() -> FrameworkJudge:
    """No metric is judged as a whole."""
    return FrameworkJudge()


class VerdictRules(msgspec.Struct, frozen=True):
    """How verdicts on the items of one suite are checked and used."""

    words: Mapping[str, tuple[str, ...]] = {}
    """By judged metric, the words a verdict may use; empty if the answer is a number."""
    values: Mapping[str, tuple[float, ...]] = {}
    """The only numbers a verdict may give, for metrics that have such a list (C-17, C-69)."""
    cosines: frozenset[str] = frozenset()
    """Metrics with words that a similarity can also answer."""
    slug_of: Callable[[str], str | None] = same_name
    """The slug of a metric that is given as slug, label or alias."""
    item_words: Callable[[str, str], tuple[str, ...] | None] = lambda metric, item: None
    """The words for one item, if they differ between the items of its metric."""
    group: Callable[[Item], str | None] = no_group
    """The name of a group of items that one verdict answers together."""
    stated: Mapping[tuple[str, str], str] = {}
    """Items of which an answer can have any number, and the verdict above the limit."""
    relies_on: Mapping[str, frozenset[str]] = {}
    """The metrics whose verdicts a measure uses, if not only its own."""
    marks_estimates: frozenset[str] = frozenset()
    """Measures that mark themselves as estimated."""
    needs_a_word: Callable[[Question], bool] = lambda question: False
    """Whether abstaining leaves a question open (C-69)."""
    framework_judge: Callable[[], FrameworkJudge] = no_framework_judge
    """The judge of the framework, which scores metrics as a whole (C-100)."""
    complements: Mapping[str, str] = {}
    """The percentages that are 100 × (1 − another metric)."""
    faults: frozenset[str] = frozenset()
    """Percentages of what is wrong: a criterion that is met (1) is 0 % of it (C-91)."""

    def words_for(self, metric: str, item: str) -> tuple[str, ...]:
        """The words that may answer one item."""
        own = self.item_words(metric, item)
        return self.words.get(metric, ()) if own is None else own

    def check_verdict(self, metric: str, word: str | None, value: float | None) -> str:
        """Check a verdict; return the slug of its metric. Raises DataError."""
        slug = self.slug_of(metric)
        if slug is None or slug not in self.words:
            judged = ", ".join(self.words) or "none: this suite is scored by code alone"
            raise DataError(
                f"{metric!r} is not a judged metric; expected one of {judged}", field="metric"
            )
        words = self.words[slug]
        if word is not None and word not in words:
            expected = f"one of {', '.join(words)}" if words else "a `value`, not a word"
            raise DataError(
                f"{word!r} was not offered for {slug}; expected {expected}", field="verdict"
            )
        if value is not None:
            self._check_value(slug, value)
        return slug

    def _check_value(self, slug: str, value: float) -> None:
        allowed = self.values.get(slug)
        if allowed is not None and value not in allowed:
            listed = ", ".join(f"{number:g}" for number in allowed)
            raise DataError(
                f"{value} is not a value of {slug}; expected one of {listed}", field="value"
            )
        if allowed is None and self.words[slug] and slug not in self.cosines:
            raise DataError(f"{slug} is judged with a word; expected `verdict`", field="value")
        if not -1 <= value <= 1:
            raise DataError(
                f"{value} is not a cosine; expected a number from -1 to 1", field="value"
            )

    def check_whole_score(self, metric: str, score: float | None) -> str | None:
        """Check the score of a whole metric; return its slug, None if code computes the metric.

        Raises DataError.
        """
        slug = self.slug_of(metric)
        if slug is None:
            raise DataError(
                f"{metric!r} is not a metric; expected a slug or a name", field="metric"
            )
        judged = self.framework_judge().metrics.get(slug)
        if judged is None:
            return None
        fault = "missing; expected a number" if score is None else judged.fault(score)
        if fault:
            raise DataError(f"{score} {fault}" if score is not None else fault, field="score")
        return slug

    def open_questions(self, questions: Sequence[Question], given: Verdicts) -> list[Question]:
        """The questions that no given verdict answers.

        Some verdicts answer a group of items: one on a claim replaces the list of claims, one on
        the intent answers both questions about it. A review answers no question: the judge is
        asked what it was asked before, so that its stored reply is found.
        """
        if not given or not (given := without_reviews(given)):
            return list(questions)
        settled = self._groups(given)
        return [
            question
            for question in questions
            if (item := Item(question.metric, question.item)) not in given
            and self.group(item) not in settled
            and Item(question.metric, WHOLE) not in given
        ]

    def with_shared(self, own: Verdicts, shared: Verdicts) -> Verdicts:
        """The verdicts on one answer, with those that apply to the answers of every model.

        A group of items comes from one of them only: two lists of claims are not joined.
        """
        settled = self._groups(without_reviews(own))
        joined = {item: given for item, given in shared.items() if self.group(item) not in settled}
        return {**joined, **own}

    def _groups(self, verdicts: Verdicts) -> set[str]:
        return {group for item in verdicts if (group := self.group(item)) is not None}

    def limit_statements(
        self, questions: Sequence[Question]
    ) -> tuple[list[Question], list[Verdict]]:
        """The questions to ask about an answer, and verdicts on statements above the limit.

        Only statements that a model adds are limited; those above the limit count as
        unsupported. Questions about the reference are never limited.
        """
        number: Counter[str] = Counter()
        kept: list[Question] = []
        excess: list[Verdict] = []
        for question in questions:
            word = self.stated.get((question.metric, _PLACE.split(question.item)[0]))
            number[question.metric] += word is not None
            if word is None or number[question.metric] <= MOST_STATED:
                kept.append(question)
            else:
                excess.append(
                    Verdict(
                        question.metric,
                        question.item,
                        word,
                        text=question.text,
                        by=BY_CODE,
                        note=f"above the limit of {MOST_STATED} judged statements",
                    )
                )
        return kept, excess

    def mark_approximate(
        self, measures: Mapping[str, Measure], verdicts: Verdicts
    ) -> dict[str, Measure]:
        """Mark the measures that use an approximate verdict.

        A judge is asked only what code and files do not decide, so every verdict of it was used.
        """
        metrics = {
            item.metric for item, given in verdicts.items() if any(v.approximate for v in given)
        }
        if not metrics:
            return dict(measures)
        return {
            slug: msgspec.structs.replace(
                measure,
                approximate=True,
                estimated=measure.estimated or slug not in self.marks_estimates,
            )
            if measure.value is not None and not metrics.isdisjoint(self.sources_of(slug))
            else measure
            for slug, measure in measures.items()
        }

    def sources_of(self, slug: str) -> frozenset[str]:
        """The metrics whose verdicts a measure uses."""
        return self.relies_on.get(slug) or frozenset((slug,))

    def with_failures(
        self, measures: Mapping[str, Measure], failures: Mapping[str, str]
    ) -> Mapping[str, Measure]:
        """Mark measures that await a failed judge as failed, not as not run        C-102"""
        if not failures:
            return measures
        return {slug: self._mark_failed(slug, m, failures) for slug, m in measures.items()}

    def _mark_failed(self, slug: str, measure: Measure, failures: Mapping[str, str]) -> Measure:
        if measure.absence != "not_run":
            return measure
        why = [failures[metric] for metric in self.sources_of(slug) if metric in failures]
        return failed(min(why)) if why else measure

    def with_whole_scores(
        self, measures: Mapping[str, Measure], verdicts: Verdicts
    ) -> Mapping[str, Measure]:
        """Replace the measures of metrics that were judged as a whole        C-100"""
        found = dict(measures)
        for slug, measure in measures.items():
            given = [v.value for v in verdicts.get(Item(slug, WHOLE), ()) if v.value is not None]
            if not given or measure.absence in _NOT_SCORED:
                continue
            score = min(given)
            found[slug] = percent(1 - score, 1) if slug in self.faults else ratio(score, 1)
            if (other := self.complements.get(slug)) in measures and other is not None:
                found[other] = percent(1 - score, 1)
        return found
