"""The translation task: prompt · read · ask · measure (003 Task 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Case, Malformed, Prompt, Reply
from callscore.core.judging import Question, Verdicts
from callscore.core.measure import ABSENT, MALFORMED, Measure
from callscore.core.task import FloorTally, Measured, Needs
from callscore.metrics.text import n1, n2
from callscore.suites.calls.call_task import CallTask
from callscore.suites.calls.items import match_items
from callscore.suites.calls.prompt import OMITTED, asked_sentences, build_prompt, reply_form
from callscore.suites.calls.reply_parser import StructureSources, parse_reply, structure_of
from callscore.suites.calls.spec import Settings, metric_names
from callscore.suites.calls.structure import COMPLIES, DIFFERS
from callscore.suites.calls.translation import judge_questions, outcomes
from callscore.suites.calls.translation import measures as formulas
from callscore.suites.calls.translation.facts import (
    count_facts,
    fact_questions,
    is_resolution_limited,
)
from callscore.suites.calls.translation.judge_questions import (
    CRITICAL_FACTS,
    FLUENCY,
    MEANING,
    OFFERED,
    PROPER_NOUNS,
    VALUES,
)
from callscore.suites.calls.translation.reference import (
    NAME_KEYS,
    NOUNS,
    SAMPLE_ITEMS,
    SENTENCES,
    TERMS,
    TranslationReference,
    read_reference,
)
from callscore.suites.calls.translation.sentence_match import (
    ModelSentence,
    ModelTranslation,
    SentenceState,
    classify_sentence,
)
from callscore.suites.calls.translation.terms import (
    LocatedTerm,
    TermTranslation,
    claims_missing_form,
    has_term,
)

__all__ = ["OFFERED", "VALUES", "TranslationOutput", "TranslationTask"]

COMPLETENESS, DOMAIN_TERMS = "translation.completeness", "translation.domain_terms"
DRIFT, STRUCTURE = "translation.drift", "translation.structure"
_NONE: frozenset[str] = frozenset()
SLUGS = {TERMS: DOMAIN_TERMS, NOUNS: PROPER_NOUNS}


class TranslationOutput(msgspec.Struct, frozen=True, gc=False):
    """The model's translation, matched to the human's by sentence id."""

    translation: ModelTranslation
    full_translation: str | None
    claims: Mapping[str, Sequence[Mapping[str, Any]]]
    """The reply's own lists of terms and names, by part: claims, not proof (C-70)."""
    flags: Sequence[str]


class TranslationTask(CallTask[TranslationReference, TranslationOutput]):
    """Translates a call, sentence by sentence."""

    name = "translation"

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._sources = StructureSources(
            SAMPLE_ITEMS, "source_id", settings.open_maps, form=reply_form("translation")
        )

    def reference(self, case: Case) -> TranslationReference:
        """The human translation, checked (C-20)."""
        return read_reference(case, self._sources)

    def may_contradict(self, case: Case, reference: TranslationReference) -> bool:
        """Yes: the quick checks are the full ones."""
        return True

    def prompt(self, case: Case) -> Prompt:
        """The sentences, the config and the transcript."""
        asked: dict[str, Any] = {}
        if not any(map(case.is_absent, (SENTENCES, "translated_text"))):
            sentences = asked_sentences(case, SENTENCES, "source_id", "source_text")
            asked["sentences"] = OMITTED if sentences is None else sentences
        return build_prompt(case, asked, structure_of(case, self._sources))

    def read(self, reference: TranslationReference, reply: Reply) -> TranslationOutput | Malformed:
        """The model's translation, or why it cannot be scored."""
        parsed = parse_reply(reply, reference.structure, self.settings.parse)
        if isinstance(parsed, Malformed):
            return parsed
        flags, value = set(parsed.flags), parsed.value
        full = value.get("full_translation")
        claims: dict[str, Sequence[Mapping[str, Any]]] = {}
        for part in reference.terms:
            claims[part] = value[part]
        return TranslationOutput(
            _read_translation(reference, value, flags),
            full if isinstance(full, str) else None,
            claims,
            tuple(flags),
        )

    def ask_case(self, reference: TranslationReference) -> Sequence[Question]:
        """Which sentences of the reference state an outcome        C-74"""
        return outcomes.case_questions(reference)

    def ask_after(
        self, reference: TranslationReference, output: TranslationOutput, of_case: Verdicts
    ) -> Sequence[Question]:
        """Whether the reply preserves the outcomes of its case        C-74"""
        return outcomes.outcome_questions(reference, output.translation, of_case)

    def presume(self, questions: Sequence[Question]) -> Verdicts:
        """Presume that every sentence states an outcome, to ask only once."""
        return outcomes.presume_outcomes(questions)

    def compared_language(self, case: Case) -> str | None:
        """The target language."""
        target = case.config.get("target_language")
        return target if isinstance(target, str) else case.lang

    def ask(self, reference: TranslationReference, output: TranslationOutput) -> Sequence[Question]:
        """Every sentence, name and fact that code cannot decide."""
        translation = output.translation
        if translation.is_reference:
            return []
        return [
            *judge_questions.sentence_questions(translation),
            *judge_questions.name_questions(reference.located_terms.get(NOUNS, ()), translation),
            *fact_questions(reference.facts, translation.text),
        ]

    def needs(self, reference: TranslationReference, of_case: Verdicts) -> Needs:
        """An embedder for every sentence; a judge for fluency, and for facts without a number.

        Where no facts are listed and no judge has found the outcomes, rules find the facts (C-74).
        """
        if not reference.sentences:
            return Needs()
        compared = [(MEANING, sentence.translation) for sentence in reference.sentences.values()]
        given = reference.given_facts
        if given is not None:
            has_words = any(not any(map(str.isdecimal, fact.expected)) for fact in given)
            return Needs((FLUENCY, *((CRITICAL_FACTS,) if has_words else ())), compared)
        is_found = bool(of_case) and outcomes.outcomes_of(reference, of_case).is_complete
        by_rule = () if is_found else (CRITICAL_FACTS, DRIFT)
        return Needs((FLUENCY, CRITICAL_FACTS), compared, by_rule)

    def floor(self) -> FloorTally:
        """Scores of trivial answers        C-135"""
        from callscore.suites.calls.translation.floors import TranslationFloor

        return TranslationFloor()

    def measure(
        self,
        reference: TranslationReference,
        output: TranslationOutput | Malformed,
        verdicts: Verdicts,
    ) -> Measured:
        """All translation measures of one reply."""
        if isinstance(output, Malformed):
            missing = dict.fromkeys(metric_names().by_task["translation"], MALFORMED)
            return Measured(
                missing | _absent_measures(reference) | {STRUCTURE: DIFFERS}, (output.cause,)
            )
        flags = set(output.flags)
        found = _absent_measures(reference)
        found[STRUCTURE] = COMPLIES
        if reference.sentences:
            _flag_full_translation(reference, output, flags)
            found |= _sentence_measures(output.translation, verdicts, flags)
            found |= _term_measures(reference, output, verdicts, flags)
            found |= _fact_measures(reference, output.translation, verdicts, flags)
        return Measured(found, sorted(flags))


def _read_translation(
    reference: TranslationReference, value: dict[str, Any], flags: set[str]
) -> ModelTranslation:
    """Every expected sentence as the reply has it; anomalies are flagged."""
    if not reference.sentences:
        return ModelTranslation({}, is_reference=True)
    matched = match_items(value[SENTENCES], "source_id", reference.sentences)
    flags.update(matched.flags)
    by_id: dict[str, ModelSentence] = {}
    is_reference = True
    for key, expected in reference.sentences.items():
        item = matched.by_id.get(key)
        text = item.get("translated_text") if item is not None else None
        if isinstance(text, str):
            sentence = by_id[key] = classify_sentence(expected, text)
            if sentence.state is not SentenceState.SAME:
                is_reference = False
                if sentence.state is SentenceState.COPIED:
                    flags.add("copied_source")
        else:
            by_id[key] = ModelSentence(expected, SentenceState.NONE)
            is_reference = False
            flags.add("missing_item" if item is None else "bad_scalar")
    return ModelTranslation(by_id, is_reference)


def _absent_measures(reference: TranslationReference) -> dict[str, Measure]:
    """The measures that this case cannot have (C-127)."""
    if not reference.sentences:
        return dict.fromkeys(metric_names().by_task["translation"], ABSENT)
    if len(reference.terms) == len(SLUGS):
        return {}
    return {slug: ABSENT for part, slug in SLUGS.items() if part not in reference.terms}


def _sentence_measures(
    translation: ModelTranslation, verdicts: Verdicts, flags: set[str]
) -> dict[str, Measure]:
    similarities: list[float | None] = []
    ratings: list[float | None] = []
    own_words = SentenceState.SAME
    for sentence in translation.by_id.values():
        if sentence.state is own_words:
            similarities.append(judge_questions.IDENTICAL)
            ratings.append(judge_questions.NATIVE)
            continue
        similarities.append(judge_questions.similarity(sentence, verdicts))
        if sentence.is_translated:
            ratings.append(judge_questions.fluency(sentence, verdicts, flags))
    total = len(similarities)
    return {
        COMPLETENESS: formulas.completeness(len(ratings), total),
        MEANING: formulas.meaning(similarities),
        FLUENCY: formulas.fluency(ratings, total),
    }


def _term_measures(
    reference: TranslationReference,
    output: TranslationOutput,
    verdicts: Verdicts,
    flags: set[str],
) -> dict[str, Measure]:
    found: dict[str, Measure] = {}
    for part, terms in reference.terms.items():
        wrong = _NONE
        if terms and not output.translation.is_reference:
            wrong = lost_terms(part, reference, output.translation, verdicts, flags)
        if _is_contradicted(part, reference, output, wrong):
            flags.add("claim_contradicted")
        total = len({term.name for term in terms}) if terms else 0
        found[SLUGS[part]] = formulas.preservation(total - len(wrong), total)
    return found


def lost_terms(
    part: str,
    reference: TranslationReference,
    translation: ModelTranslation,
    verdicts: Verdicts,
    flags: set[str],
) -> frozenset[str]:
    """The terms, or the names, that a reply does not render as the human did     C-70, C-72"""

    def is_kept(term: LocatedTerm) -> bool:
        if part == TERMS:
            return has_term(term, translation)
        return judge_questions.is_same_name(term, translation, verdicts, flags)

    return frozenset([term.name for term in reference.located_terms[part] if not is_kept(term)])


def _is_contradicted(
    part: str, reference: TranslationReference, output: TranslationOutput, wrong: frozenset[str]
) -> bool:
    """Whether the reply's own list of terms or names contradicts its text        C-70"""
    given = output.claims[part]
    if not wrong and given == reference.case.expected_outcome[part]:
        return False
    key = NAME_KEYS[part]
    claims = (
        TermTranslation(n1(name), form)
        for claim in given
        if isinstance(name := claim.get(key), str)
        and isinstance(form := claim.get("handled_as"), str)
    )
    return claims_missing_form(claims, reference.located_terms[part], wrong, output.translation)


def fact_count(
    reference: TranslationReference,
    translation: ModelTranslation,
    verdicts: Verdicts,
    flags: set[str],
) -> formulas.FactCount:
    """Facts that digits decide, and outcomes, preserved or lost        C-74, C-75"""
    if translation.is_reference:
        by_rule = formulas.FactCount(0, reference.total_facts)
    else:
        by_rule = count_facts(reference.facts, translation, verdicts, flags)
    if reference.given_facts is not None:
        return by_rule
    kept = outcomes.count_outcomes(reference, translation, verdicts, flags)
    if kept is outcomes.NOTHING_LOST:
        return by_rule
    return formulas.FactCount(
        by_rule.drifted + kept.lost,
        by_rule.total + kept.total,
        by_rule.is_approximate or kept.is_open,
        by_rule.added,
    )


def _fact_measures(
    reference: TranslationReference,
    translation: ModelTranslation,
    verdicts: Verdicts,
    flags: set[str],
) -> dict[str, Measure]:
    counted = fact_count(reference, translation, verdicts, flags)
    if is_resolution_limited(counted.total):
        flags.add("resolution_limited")
    return {CRITICAL_FACTS: formulas.critical_facts(counted), DRIFT: formulas.drift(counted)}


def _flag_full_translation(
    reference: TranslationReference, output: TranslationOutput, flags: set[str]
) -> None:
    """`full_translation` is not scored; a missing sentence is flagged    C-78"""
    if reference.case.is_absent("full_translation"):
        return
    full, translation = output.full_translation, output.translation
    if full is None:
        flags.add("bad_scalar")
        full = ""
    elif translation.is_reference and full == reference.case.expected_outcome["full_translation"]:
        return
    form: str | None = None
    for sentence in translation.by_id.values():
        if sentence.text not in full and sentence.is_translated:
            if form is None:
                form = n2(full)
            if n2(sentence.text) not in form:
                flags.add("full_translation_incomplete")
                return
