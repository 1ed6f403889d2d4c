"""Sections about replies: questions, confusion matrices, plans, slices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import UnsetType

from callscore.core.card_rows import Documents
from callscore.report.details.form_agreement import (
    CALL,
    FAILED,
    NO_CALL,
    ConfusionMatrix,
    FormTotals,
    QuestionAgreement,
    form_rows,
)
from callscore.report.details.form_marks import QuestionText
from callscore.report.details.slices import MeanScore, Slices
from callscore.report.html.parts import figure, model_name, row, section, shade, table
from callscore.report.markup import Child, Html, join, tag
from callscore.report.numbers import show, show_count
from callscore.report.safe_text import plain
from callscore.report.svg.plan_graph import PlanGraph, draw_plan

MAX_QUESTIONS = 100
MAX_QUESTION_LENGTH = 160


LinkOfCell = Callable[[QuestionAgreement, str, str], Child]
"""Makes the count of a question and a model a link to its calls."""


def _no_link(_question: QuestionAgreement, _model: str, count: str) -> Child:
    return count


def questions_section(
    questions: Sequence[QuestionAgreement],
    models: Sequence[str],
    link: LinkOfCell = _no_link,
) -> Html | None:
    """Return the agreement by question, lowest first."""
    if not questions:
        return None
    shown = questions[:MAX_QUESTIONS]
    headings = ["Question", "All models", *map(model_name, models)]
    rows = [
        row(
            question_label(question.id, question.shown),
            [
                _share(question.agreement),
                *(_question_cell(question, model, link) for model in models),
            ],
        )
        for question in shown
    ]
    left = len(questions) - len(shown)
    note = (
        "Share of calls in which the mark agrees with the human's, worst first. False pass: full "
        "marks where the human gave zero. False fail: zero where the human gave full marks. N/A: "
        "only the model or only the human says that the question does not apply."
    )
    more = tag("p", f"{show_count(left, 'more question')} not shown.", class_="note")
    questions_table = table(headings, rows, "Agreement by question", "questions")
    return section(
        "questions", "QA by question", questions_table, more if left > 0 else None, note=note
    )


def question_label(name: str, shown: QuestionText) -> Html:
    """Return a question by id and words, with its section, and what a bad mark does."""
    return join(
        tag("b", plain(name, 40)),
        " ",
        plain(shown.text, MAX_QUESTION_LENGTH),
        tag("small", plain(shown.section, 60)) if shown.section else None,
        tag("small", tag("b", plain(shown.critical, 120))) if shown.critical else None,
    )


def forms_section(totals: FormTotals, models: Sequence[str]) -> Html | None:
    """Return the totals of the QA form by section, and its automatic fails."""
    lines = form_rows(totals, models)
    if not lines:
        return None
    rows = [
        row(
            plain(line.label, 80),
            [
                join(cell.value, tag("small", cell.remark) if cell.remark else None)
                for cell in line.cells
            ],
        )
        for line in lines
    ]
    note = (
        "Mean share of points by the form's own rules, as the model and as people marked the same "
        "calls. No score of the framework depends on it. An automatic fail is a form that a "
        "critical question sets to 0."
    )
    headings = ["Section", *map(model_name, models)]
    return section("form", "QA form", table(headings, rows, "QA form by section"), note=note)


def _share(value: float | None) -> Child:
    if value is None:
        return "—"
    return tag("td", f"{100 * value:.0f} %", class_=shade(1 - value))


def _question_cell(question: QuestionAgreement, model: str, link: LinkOfCell) -> Child:
    count = question.models.get(model)
    if count is None or count.agreement is None:
        return tag("span", "not asked", class_="quiet")
    errors = {
        "false pass": count.false_pass,
        "false fail": count.false_fail,
        "N/A": count.not_applicable,
        "no mark": count.unanswered,
    }
    sentence = ", ".join(f"{number} {word}" for word, number in errors.items() if number)
    return tag(
        "td",
        link(question, model, f"{count.agreed} of {count.asked}"),
        tag("small", sentence) if sentence else None,
        class_=shade(1 - count.agreement),
    )


def confusion_section(
    key: str, heading: str, confusion: ConfusionMatrix, note: str, models: Sequence[str]
) -> Html | None:
    """Return one table per model: expected labels in rows, given labels in columns."""
    if not confusion.models:
        return None
    labels = confusion.labels
    tables = [
        tag("div", tag("h3", model_name(model)), _matrix(confusion.models[model], labels, model))
        for model in models
        if model in confusion.models
    ]
    return section(key, heading, tag("div", tables, class_="pictures"), note=note)


def _matrix(counts: Mapping[tuple[str, str], int], labels: Sequence[str], model: str) -> Html:
    across = [label for label in labels if any((one, label) in counts for one in labels)]
    down = [label for label in labels if any((label, other) in counts for other in labels)]
    rows = []
    for expected in down:
        total = sum(counts.get((expected, given), 0) for given in across)
        rows.append(
            row(
                plain(expected, 40),
                [_count(counts.get((expected, f), 0), total, expected == f) for f in across],
            )
        )
    headings = ["expected ↓ given →", *(plain(label, 40) for label in across)]
    return table(headings, rows, f"Expected and given labels of {model_name(model)}", "matrix")


def _count(number: int, total: int, is_right: bool) -> Html:
    share = number / total if total else 0.0
    kind = "right" if is_right else "wrong" if number else ""
    return tag("td", number, class_=f"{shade(share)} {kind}".strip())


def document_decisions(documents: Mapping[str, Any]) -> ConfusionMatrix:
    """Count the call and reject decisions of recorded scenarios, as in document 001."""
    matrix = ConfusionMatrix((CALL, NO_CALL, FAILED))
    for model, document in documents.items():
        counts = matrix.models.setdefault(model, {})
        for _, part in _languages(document):
            for pair, number in _decisions(part).items():
                if isinstance(number, (int, float)) and number:
                    counts[pair] = counts.get(pair, 0) + int(number)
    return matrix


def _decisions(document: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    details = document.get("overall_statistics", {}).get("score_details", {})
    raw = details.get("raw_confusion_matrix", {})
    choice = document.get("x_extension", {}).get("choice", {})
    return {
        (CALL, CALL): raw.get("total_true_positive_fc"),
        (CALL, NO_CALL): raw.get("total_false_positive_reject"),
        (CALL, FAILED): choice.get("failed_on_fc"),
        (NO_CALL, CALL): raw.get("total_false_positive_fc"),
        (NO_CALL, NO_CALL): raw.get("total_true_positive_reject"),
        (NO_CALL, FAILED): choice.get("failed_on_reject"),
    }


def undecided_values(documents: Documents) -> dict[str, int]:
    """Return, by model, the number of argument values that are still undecided (C-115)."""
    counts: dict[str, int] = {}
    for model, document in () if isinstance(documents, UnsetType) else documents.items():
        for _, part in _languages(document):
            number = part.get("x_extension", {}).get("undecided", {}).get("count")
            if isinstance(number, int) and number:
                counts[model] = counts.get(model, 0) + number
    return counts


def _languages(document: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the result of each language by name; the name is empty if there is only one."""
    languages = document.get("languages")
    return list(languages.items()) if isinstance(languages, dict) else [("", document)]


def documents_section(documents: Mapping[str, Any]) -> Html | None:
    """The key metrics of scenarios, the errors by kind, and how conversations ended."""
    if not documents:
        return None
    parts = {
        f"{model} · {language}" if language else model: part
        for model, document in documents.items()
        for language, part in _languages(document)
    }
    metrics = {
        name: part.get("overall_statistics", {}).get("key_metrics", {})
        for name, part in parts.items()
    }
    known = {key for numbers in metrics.values() for key in numbers}
    keys = [key for key in _KEY_ORDER if key in known]
    rows = [
        row(model_name(model), [_number(numbers.get(key)) for key in keys])
        for model, numbers in metrics.items()
    ]
    return section(
        "scenarios",
        "Agent scenarios",
        table(["Model", *keys], rows, "Key metrics of the scenarios"),
        _errors_table({name: part.get("x_extension", {}) for name, part in parts.items()}),
        _conversations_table({name: part.get("x_extension", {}) for name, part in parts.items()}),
    )


_KEY_ORDER = ("Average", "Plan", "FC", "Call Rejection Classification Accuracy")


def _errors_table(extensions: Mapping[str, Mapping[str, Any]]) -> Html:
    """The number of steps with each kind of error."""
    counts = {
        model: {
            kind: found.get("count", 0)
            for kind, found in extension.get("errors", {}).items()
            if isinstance(found, Mapping)
        }
        for model, extension in extensions.items()
    }
    kinds = dict.fromkeys(kind for of in counts.values() for kind in of)
    if not kinds:
        return join()
    rows = [
        row(plain(kind.replace("_", " "), 60), [of.get(kind, 0) for of in counts.values()])
        for kind in kinds
    ]
    headings = ["Errors, steps with each kind", *map(model_name, counts)]
    return table(headings, rows, "Errors by kind")


_CONVERSATION_ROWS = (
    ("Conversations", "conversations"),
    ("Expected end reached", "success"),
    ("Steps", "steps"),
    ("Steps more than the script has", "extra_steps"),
    ("Wasted steps", "wasted_steps"),
    ("Tool calls", "calls"),
    ("Failed tool calls", "failed_calls"),
    ("Repeated tool calls", "repeated_calls"),
    ("Conversations with a failed call", "with_wrong_step"),
    ("Recovered from a failed call", "recovered"),
)


def _conversations_table(extensions: Mapping[str, Mapping[str, Any]]) -> Html:
    """How conversations with the model's own history ended, and what they took."""
    found = {
        model: extension.get("free_running", {}).get("conversations")
        for model, extension in extensions.items()
    }
    known = {model: of for model, of in found.items() if isinstance(of, Mapping)}
    if not known:
        return join()
    stopped = dict.fromkeys(reason for of in known.values() for reason in of.get("stopped", {}))
    rows = [
        row(label, [_figure(of.get(key)) for of in known.values()])
        for label, key in _CONVERSATION_ROWS
    ]
    rows += [
        row(
            plain(f"Ended: {reason.replace('_', ' ')}", 60),
            [of.get("stopped", {}).get(reason, 0) for of in known.values()],
        )
        for reason in stopped
    ]
    headings = ["Free-running conversations", *map(model_name, known)]
    return table(headings, rows, "How conversations ended")


def _figure(value: Any) -> str:
    return str(value) if isinstance(value, int) else _number(value)


def _number(value: Any) -> str:
    return show(float(value)) if isinstance(value, (int, float)) else "n/a"


class PlanExample(NamedTuple):
    """A case, the expected plan, and the plan of each model."""

    case: str
    expected: PlanGraph
    given: Sequence[tuple[str, PlanGraph | None]]


def plans_section(examples: Sequence[PlanExample], left_out: int) -> Html | None:
    """Draw the expected plans of some cases next to those of the models."""
    if not examples:
        return None
    note = "The expected plan, then each model's. Thick lines: steps and dependencies not expected."
    blocks = [
        join(tag("h3", plain(one.case, 80)), tag("div", _plans(one), class_="pictures"))
        for one in examples
    ]
    more = tag("p", f"{show_count(left_out, 'more plan')} in the cases below.", class_="note")
    return section("plans", "Plans", blocks, more if left_out > 0 else None, note=note)


def _plans(example: PlanExample) -> Iterator[Html]:
    yield figure(draw_plan("Expected plan", example.expected), tag("b", "Expected"))
    for model, graph in example.given:
        yield model_plan(model, graph, example.expected)


def model_plan(model: str, graph: PlanGraph | None, expected: PlanGraph) -> Html:
    """Draw the plan of one model; missing steps are listed in the caption."""
    if graph is None:
        return tag(
            "figure",
            tag("p", "no plan in the reply", class_="quiet"),
            tag("figcaption", tag("b", model_name(model))),
        )
    has = {text.casefold() for text in graph.nodes.values()}
    missing = [text for text in expected.nodes.values() if text.casefold() not in has]
    lost = f"; missing: {plain(', '.join(missing), 200)}" if missing else ""
    title = f"Plan of {model_name(model)}"
    return figure(
        draw_plan(title, graph, expected, "extra"), join(tag("b", model_name(model)), lost)
    )


def slices_section(slices: Slices, models: Sequence[str]) -> Html | None:
    """Return the mean scores by language, tag and length."""
    tables = [
        join(tag("h3", kind), _slice_table(kind, parts, models), _left_out_note(kind, slices))
        for kind, parts in slices.comparable_kinds()
    ]
    if not tables:
        return None
    note = (
        "Mean score of single cases, with 0 for an invalid answer; below, the number of answers. "
        "These are not task scores: they show where a model is weaker."
    )
    return section("slices", "Slices", tables, note=note)


def _left_out_note(kind: str, slices: Slices) -> Html | None:
    sentence = f"More values of {kind.lower()} exist; only the first ones are shown."
    return tag("p", sentence, class_="note") if kind in slices.left_out else None


def _slice_table(
    kind: str, parts: Mapping[str, Mapping[str, MeanScore]], models: Sequence[str]
) -> Html:
    rows = [
        row(plain(part, 60), [_mean(means.get(model)) for model in models])
        for part, means in parts.items()
    ]
    return table(
        [kind, *map(model_name, models)], rows, f"Mean case score by {kind.lower()}", "matrix"
    )


def _mean(score: MeanScore | None) -> Child:
    if score is None or score.mean is None:
        return "—"
    return tag("td", show(score.mean), tag("small", f"n = {score.n}"), class_=shade(1 - score.mean))
