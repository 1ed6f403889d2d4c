"""Labels read from filled-in sheets: checked against their items, and compared between people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from callscore.core.errors import DataError
from callscore.core.labelling import CallLabels, Label, LabelItem
from callscore.metrics.forms.form import NOT_APPLICABLE

ItemKey = tuple[str, str, str]
Labels = Mapping[ItemKey, Label]
"""The labels of several calls, by the key of their items."""


def read_labels(rows: Iterable[tuple[Mapping[str, str], str]]) -> dict[ItemKey, Label]:
    """The labels of a filled-in sheet, from its rows by column name, each with its place."""
    labels: dict[ItemKey, Label] = {}
    for row, place in rows:
        missing = [name for name in ("call_id", "part", "item", "answer") if name not in row]
        if missing:
            raise DataError(
                f"has no column {missing[0]!r}; expected a sheet of `callscore annotate --sheet`",
                place=place,
            )
        key = (row["call_id"], row["part"], row["item"])
        answer = row["answer"].strip()
        if not answer:
            continue
        if key in labels and labels[key].answer != answer:
            raise DataError(
                f"item {key[2]!r} of call {key[0]!r} has two different answers", place=place
            )
        labels[key] = Label(answer, row.get("comment", "").strip(), place)
    return labels


def check_items(items: Sequence[LabelItem], sheet: Labels) -> list[str]:
    """The calls of a sheet that are not labelled here; raises DataError for an unknown item."""
    known = {item.key for item in items}
    calls = {item.call_id for item in items}
    for key, label in sheet.items():
        if key[0] in calls and key not in known:
            raise DataError(
                f"{key[2]!r} ({key[1]}) is not an item of call {key[0]!r}; expected a sheet that "
                "was written for this form or config",
                field="item",
                place=label.place,
            )
    return sorted({key[0] for key in sheet} - calls)


def check_answer(item: LabelItem, answer: str, place: str = "") -> str:
    """The answer in the spelling of its option; raises DataError if it is not one of them."""
    if not item.options:
        return answer
    folded = answer.strip().casefold()
    for option in item.options:
        known = option.casefold()
        if known == folded or (known in NOT_APPLICABLE and folded in NOT_APPLICABLE):
            return option
    raise DataError(
        f"{answer!r} is not an option; expected one of {', '.join(item.options)}",
        field=f"{item.part}.{item.item}",
        case_id=item.call_id,
        place=place,
    )


def missing_items(items: Sequence[LabelItem], labels: Labels) -> list[LabelItem]:
    """The required items without a label."""
    return [item for item in items if item.required and item.key not in labels]


def labels_of_call(items: Sequence[LabelItem], labels: Labels) -> CallLabels:
    """The labels of the items of one call, checked; raises DataError."""
    return {
        (item.part, item.item): Label(
            check_answer(item, labels[item.key].answer, labels[item.key].place),
            labels[item.key].comment,
        )
        for item in items
        if item.key in labels
    }


class Disagreement(msgspec.Struct, frozen=True):
    """An item that people answered differently."""

    item: LabelItem
    answers: Sequence[str]


def compare_labels(
    items: Sequence[LabelItem], sheets: Sequence[Labels]
) -> tuple[dict[ItemKey, Label], list[Disagreement], list[tuple[str, str]]]:
    """Agreed labels, disagreements, and the pairs of answers, of the sheets of several people.

    Only items with options can disagree; of free text the first answer is used.
    """
    agreed: dict[ItemKey, Label] = {}
    disagreements: list[Disagreement] = []
    pairs: list[tuple[str, str]] = []
    for item in items:
        labels = [sheet[item.key] for sheet in sheets if item.key in sheet]
        if not labels:
            continue
        answers = [check_answer(item, label.answer, label.place) for label in labels]
        if item.options and len(answers) > 1:
            pairs += [(answers[0], answer) for answer in answers[1:]]
        if item.options and len(set(answers)) > 1:
            disagreements.append(Disagreement(item, answers))
        else:
            agreed[item.key] = labels[0]
    return agreed, disagreements, pairs
