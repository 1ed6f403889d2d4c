"""QA forms of Amazon Connect, Genesys Cloud and Google, with their conditions.

A condition that cannot be read is never dropped in silence: a note of the form names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.errors import DataError
from callscore.importers.source_file import Source, convert
from callscore.metrics.forms.form import Condition, Form, FormQuestion, Kind, Mode, Option, Section

_PREDICATE = re.compile(
    r"(?:/?form/questionGroup/(?P<group>\d+)|\.\.)/question/(?P<question>\d+)/answer/(?P<answer>\d+)/?"
)


class UnreadableCondition(ValueError):
    """A condition has a part that this module does not know."""


class Position(msgspec.Struct, frozen=True):
    """The question at a place of a form, and the ids of its options in order."""

    question_id: str
    options: Sequence[str]


def read_condition(
    condition: Condition | str | None, what: str, notes: list[str]
) -> Condition | None:
    """The condition; None with a note if it is a text that says why it cannot be read."""
    if isinstance(condition, str):
        notes.append(
            f"{what}: its condition cannot be read ({condition}); it is asked on every call"
        )
        return None
    return condition


def genesys_condition(
    value: Mapping[str, Any] | None,
    group: int | None,
    positions: Mapping[tuple[int, int], Position],
) -> Condition | str | None:
    """The condition of a question or group, from predicates with zero-based indexes.

    `group` is the one that relative paths (`../question/0/answer/1`) begin in.
    """
    predicates = (value or {}).get("predicates")
    if not value or predicates in (None, []):
        return None
    operation = value.get("combiningOperation") or "AND"
    if not isinstance(predicates, list) or operation not in ("AND", "OR"):
        return f"{operation!r} of {predicates!r}"
    parts: list[Condition] = []
    for predicate in predicates:
        match = _PREDICATE.fullmatch(predicate.strip()) if isinstance(predicate, str) else None
        at = None if match is None else match["group"] if match["group"] is not None else group
        if match is None or at is None:
            return repr(predicate)
        found = positions.get((int(at), int(match["question"])))
        answer = int(match["answer"])
        if found is None or answer >= len(found.options):
            return f"{predicate!r} names an answer that the form does not have"
        parts.append(Condition(found.question_id, [found.options[answer]]))
    return _join(parts, operation)


def amazon_condition(enablement: Mapping[str, Any] | None) -> Condition | str | None:
    """The condition of a question from its `Enablement`: nested operands, AND and OR, DISABLE."""
    condition = (enablement or {}).get("Condition")
    if enablement is None or condition is None:
        return None
    action = enablement.get("Action", "ENABLE")
    if action == enablement.get("DefaultAction"):
        return f"Action and DefaultAction are both {action!r}"
    try:
        found = _amazon_part(condition)
    except UnreadableCondition as error:
        return str(error)
    if action == "DISABLE":
        return msgspec.structs.replace(found, negated=not found.negated)
    return found if action == "ENABLE" else f"Action {action!r}"


def _amazon_part(condition: Any) -> Condition:
    operands = condition.get("Operands") if isinstance(condition, dict) else None
    if not isinstance(operands, list) or not operands:
        raise UnreadableCondition(f"Operands {operands!r}")
    operator = condition.get("Operator", "AND" if len(operands) == 1 else None)
    if operator not in ("AND", "OR"):
        raise UnreadableCondition(f"Operator {operator!r}")
    return _join([_amazon_operand(one) for one in operands], operator)


def _amazon_operand(operand: Any) -> Condition:
    if not isinstance(operand, dict):
        raise UnreadableCondition(f"operand {operand!r}")
    if "Condition" in operand:
        return _amazon_part(operand["Condition"])
    expression = operand.get("Expression", operand)
    source = expression.get("Source") if isinstance(expression, dict) else None
    values = expression.get("Values") if isinstance(expression, dict) else None
    if not isinstance(source, dict) or not source.get("RefId") or not isinstance(values, list):
        raise UnreadableCondition(f"expression {expression!r}")
    answers = [str(one.get("RefId") or one.get("Value")) for one in values if isinstance(one, dict)]
    comparator = expression.get("Comparator", "IN")
    one_of_one = comparator in ("ALL_IN", "EXACT") and len(answers) == 1
    if not answers or (comparator not in ("IN", "NOT_IN") and not one_of_one):
        raise UnreadableCondition(f"Comparator {comparator!r} of {len(answers)} values")
    return Condition(str(source["RefId"]), answers, negated=comparator == "NOT_IN")


def _join(parts: Sequence[Condition], operation: str) -> Condition:
    if len(parts) == 1:
        return parts[0]
    return Condition(all_of=parts) if operation == "AND" else Condition(any_of=parts)


def join_conditions(*conditions: Condition | None) -> Condition | None:
    """All conditions together; None if there is none."""
    given = [one for one in conditions if one is not None]
    return _join(given, "AND") if given else None


def vendor_form(value: Mapping[str, Any], source: Source) -> Form | None:
    """The form of a JSON object; None if no known vendor writes such objects."""
    value = _without_nulls(value)
    entities = value.get("entities")
    if isinstance(entities, list) and len(entities) == 1 and isinstance(entities[0], dict):
        value = entities[0]
    inner = value.get("EvaluationForm")
    aws = inner if isinstance(inner, dict) else value
    if isinstance(aws.get("Items"), list):
        return _aws_form(convert(aws, _AwsForm, source.name))
    if isinstance(value.get("questionGroups"), list):
        return _genesys_form(_with_ids(convert(value, _GenesysForm, source.name)))
    for key in ("qaQuestions", "qa_questions", "questions"):
        if isinstance(value.get(key), list):
            return _google_form(value, value[key], source)
    return None


def _without_nulls(value: Any) -> Any:
    """The value without keys that are null: exports write them for what is not set."""
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


class _AwsTarget(msgspec.Struct, rename="pascal"):
    target_section: str | None = None


class _AwsOption(msgspec.Struct, rename="pascal"):
    ref_id: str | None = None
    text: str = ""
    score: float | None = None
    automatic_fail: bool = False
    automatic_fail_configuration: _AwsTarget | None = None
    min_value: float | None = None
    max_value: float | None = None


class _AwsOptions(msgspec.Struct, rename="pascal"):
    options: Sequence[_AwsOption] | None = None
    min_value: float | None = None
    max_value: float | None = None


class _AwsProperties(msgspec.Struct, rename="pascal"):
    single_select: _AwsOptions | None = None
    numeric: _AwsOptions | None = None


class _AwsQuestion(msgspec.Struct, rename="pascal"):
    title: str
    ref_id: str
    instructions: str | None = None
    question_type: str = "SINGLESELECT"
    not_applicable_enabled: bool = False
    weight: float | None = None
    enablement: Mapping[str, Any] | None = None
    question_type_properties: _AwsProperties | None = None


class _AwsSection(msgspec.Struct, rename="pascal"):
    title: str
    ref_id: str
    items: Sequence[_AwsItem] = ()
    weight: float | None = None


class _AwsItem(msgspec.Struct, rename="pascal"):
    section: _AwsSection | None = None
    question: _AwsQuestion | None = None


class _AwsStrategy(msgspec.Struct, rename="pascal"):
    mode: str = "QUESTION_ONLY"
    status: str = "ENABLED"


class _AwsForm(msgspec.Struct, rename="pascal"):
    items: Sequence[_AwsItem]
    title: str = ""
    evaluation_form_id: str = ""
    scoring_strategy: _AwsStrategy | None = None


def _aws_form(form: _AwsForm) -> Form:
    strategy = form.scoring_strategy or _AwsStrategy()
    notes: list[str] = []
    if strategy.status != "ENABLED":
        notes.append("scoring is switched off in the form; its points are used anyway")
    mode: Mode = "section_weights" if strategy.mode == "SECTION_ONLY" else "question_weights"
    sections = list(_aws_sections(form.items, "", notes))
    return Form(form.evaluation_form_id, form.title, sections, mode, "amazon-connect", notes)


def _aws_sections(items: Sequence[_AwsItem], path: str, notes: list[str]) -> Iterator[Section]:
    """The sections in order; a nested section follows its parent, with both titles joined."""
    without_section = [_aws_question(item.question, notes) for item in items if item.question]
    if without_section and not path:
        yield Section("", "", without_section)
    for item in items:
        if (section := item.section) is None:
            continue
        title = f"{path} / {section.title}" if path else section.title
        own = [_aws_question(inner.question, notes) for inner in section.items if inner.question]
        if own:
            yield Section(section.ref_id, title, own, section.weight)
        yield from _aws_sections([one for one in section.items if one.section], title, notes)


def _aws_question(question: _AwsQuestion, notes: list[str]) -> FormQuestion:
    kinds: Mapping[str, Kind] = {
        "SINGLESELECT": "single",
        "NUMERIC": "number",
        "MULTISELECT": "multi",
    }
    kind = kinds.get(question.question_type, "text")
    if kind in ("text", "multi"):
        notes.append(f"question {question.ref_id!r} ({question.question_type}) has no points")
    given = question.question_type_properties or _AwsProperties()
    choices = (given.numeric if kind == "number" else given.single_select) or _AwsOptions()
    return FormQuestion(
        question.ref_id,
        question.title,
        kind,
        [_aws_option(one) for one in choices.options or ()],
        question.weight,
        question.not_applicable_enabled,
        instructions=question.instructions or "",
        condition=read_condition(
            amazon_condition(question.enablement), f"question {question.ref_id!r}", notes
        ),
    )


def _aws_option(option: _AwsOption) -> Option:
    target = option.automatic_fail_configuration
    text = option.text or _range_text(option.min_value, option.max_value)
    return Option(
        option.ref_id or text,
        text,
        option.score,
        option.automatic_fail or target is not None,
        target.target_section if target else None,
        least=option.min_value,
        most=option.max_value,
    )


def _range_text(least: float | None, most: float | None) -> str:
    shown = ["" if one is None else f"{one:g}" for one in (least, most)]
    return " to ".join(shown)


class _GenesysOption(msgspec.Struct):
    id: str = ""
    text: str = ""
    value: float = 0.0


class _GenesysQuestion(msgspec.Struct, rename="camel"):
    id: str = ""
    text: str = ""
    help_text: str | None = None
    type: str = "multipleChoiceQuestion"
    na_enabled: bool = False
    is_kill: bool = False
    is_critical: bool = False
    answer_options: Sequence[_GenesysOption] = ()
    visibility_condition: Mapping[str, Any] | None = None


class _GenesysGroup(msgspec.Struct, rename="camel"):
    id: str = ""
    name: str = ""
    weight: float | None = None
    manual_weight: bool = False
    na_enabled: bool = False
    questions: Sequence[_GenesysQuestion] = ()
    visibility_condition: Mapping[str, Any] | None = None


class _GenesysForm(msgspec.Struct, rename="camel"):
    question_groups: Sequence[_GenesysGroup]
    id: str = ""
    name: str = ""


def _with_ids(form: _GenesysForm) -> _GenesysForm:
    """The form with numbered questions where they have no ids: one that was never published."""
    number = 0
    for group in form.question_groups:
        for question in group.questions:
            number += 1
            question.id = question.id or f"Q{number}"
    return form


def _genesys_form(form: _GenesysForm) -> Form:
    weighted = any(group.manual_weight or group.weight for group in form.question_groups)
    notes: list[str] = []
    positions = {
        (at, place): Position(question.id, [_genesys_option(one).id for one in answers])
        for at, group in enumerate(form.question_groups)
        for place, question in enumerate(group.questions)
        for answers in [question.answer_options]
    }
    sections = []
    for at, group in enumerate(form.question_groups):
        condition = read_condition(
            genesys_condition(group.visibility_condition, None, positions),
            f"group {group.name or group.id!r}",
            notes,
        )
        questions = []
        for one in group.questions:
            own = genesys_condition(one.visibility_condition, at, positions)
            both = join_conditions(
                condition, read_condition(own, f"question {one.id!r} ({one.text})", notes)
            )
            questions.append(_genesys_question(one, group, both, notes))
        sections.append(Section(group.id, group.name, questions, group.weight))
    mode: Mode = "section_points" if weighted else "points"
    return Form(form.id, form.name, sections, mode, "genesys", notes)


def _genesys_question(
    question: _GenesysQuestion,
    group: _GenesysGroup,
    condition: Condition | None,
    notes: list[str],
) -> FormQuestion:
    kind: Kind = "single" if "Choice" in question.type or question.answer_options else "text"
    if kind == "text":
        notes.append(f"question {question.id!r} ({question.type}) has no points")
    return FormQuestion(
        question.id,
        question.text,
        kind,
        [_genesys_option(one) for one in question.answer_options],
        na_allowed=question.na_enabled or group.na_enabled,
        is_critical=question.is_critical,
        is_fatal=question.is_kill,
        instructions=question.help_text or "",
        condition=condition,
    )


def _genesys_option(option: _GenesysOption) -> Option:
    return Option(option.id or option.text, option.text, option.value)


def _google_form(value: Mapping[str, Any], questions: Sequence[Any], source: Source) -> Form:
    by_tag: dict[str, list[FormQuestion]] = {}
    for number, raw in enumerate(questions, start=1):
        if not isinstance(raw, dict):
            raise DataError(
                "expected an object", field=f"questions[{number - 1}]", place=source.name
            )
        question = _google_question(raw, number)
        tags = question.tags or ("",)
        by_tag.setdefault(tags[0], []).append(question)
    sections = [Section(tag, tag, grouped) for tag, grouped in by_tag.items()]
    title = str(value.get("displayName") or value.get("display_name") or "")
    name = str(value.get("name") or "").rpartition("/")[2]
    return Form(name, title, sections, "points", "google")


def _google_question(raw: Mapping[str, Any], number: int) -> FormQuestion:
    choices = raw.get("answerChoices") or raw.get("answer_choices") or []
    name = str(raw.get("name") or "").rpartition("/")[2]
    options = [
        _google_option(one)
        for one in (choices if isinstance(choices, list) else [])
        if isinstance(one, dict)
    ]
    tags = raw.get("tags")
    return FormQuestion(
        name or str(raw.get("abbreviation") or f"Q{number}"),
        str(raw.get("questionBody") or raw.get("question_body") or raw.get("question") or ""),
        "single",
        options,
        na_allowed=any(one.is_na for one in options),
        instructions=str(raw.get("answerInstructions") or raw.get("answer_instructions") or ""),
        tags=[str(tag) for tag in tags] if isinstance(tags, list) else (),
    )


def _google_option(raw: Mapping[str, Any]) -> Option:
    for key in ("strValue", "str_value", "boolValue", "bool_value", "numValue", "num_value"):
        if key in raw:
            value = raw[key]
            text = {True: "Yes", False: "No"}[value] if isinstance(value, bool) else str(value)
            score = raw.get("score")
            return Option(
                str(raw.get("key") or text),
                text,
                float(score) if isinstance(score, int | float) else None,
            )
    is_na = bool(raw.get("naValue") or raw.get("na_value"))
    return Option(str(raw.get("key") or "N/A"), "N/A" if is_na else "", is_na=is_na)
