"""The items as a judge sees them: JSON, grouped by question, each with an id of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random

from callscore.judges.delimiters import encode_json, escape_text, item_ids
from callscore.judges.items import JudgeItem
from callscore.judges.rubric import AGAINST


def issue_ids(items: Iterable[JudgeItem], random: Random, taken: str) -> Mapping[str, JudgeItem]:
    """The items by question, questions and items in a seeded order, each under a random id that
    does not occur in the data.
    """
    groups: dict[str, list[JudgeItem]] = {}
    for item in items:
        groups.setdefault(item.rubric.name, []).append(item)
    names = sorted(groups)
    random.shuffle(names)
    ordered: list[JudgeItem] = []
    for name in names:
        random.shuffle(groups[name])
        ordered += groups[name]
    return dict(zip(item_ids(len(ordered), random, taken), ordered, strict=True))


def item_lines(items_by_id: Mapping[str, JudgeItem], *, has_answer: bool) -> Sequence[str]:
    """The items as a JSON list of groups: a question, its verdicts, its items line by line."""
    groups: dict[str, dict[str, JudgeItem]] = {}
    for key, item in items_by_id.items():
        groups.setdefault(item.rubric.name, {})[key] = item
    lines = ["["]
    for name, group in groups.items():
        compared = {key: comparison_text(item, has_answer) for key, item in group.items()}
        shared = _shared(compared.values())
        rubric = next(iter(group.values())).rubric
        lines += (
            "  {",
            f'    "question": {escape_text(name)},',
            f'    "allowed_verdicts": {encode_json(list(rubric.words))},',
            *([f'    "compare_with": {escape_text(shared)},'] if shared else ()),
            '    "items": [',
            *(
                _item_line(key, item, "" if shared else compared[key])
                for key, item in group.items()
            ),
        )
        lines[-1] = lines[-1][:-1]
        lines += ("    ]", "  },")
    lines[-1] = "  }"
    return [*lines, "]"]


def _item_line(key: str, item: JudgeItem, compared: str) -> str:
    with_text = f', "compare_with": {escape_text(compared)}' if compared else ""
    return f'      {{"id": "{key}", "claim": {escape_text(item.text)}{with_text}}},'


def _shared(compared: Iterable[str]) -> str:
    """The text that all items of a question are compared with; empty if there are several."""
    texts = list(compared)
    return texts[0] if len(texts) > 1 and len(set(texts)) == 1 else ""


def comparison_text(asked: JudgeItem, has_answer: bool) -> str:
    """The place, if the text is shown anyway; else the text; empty if the question names all."""
    if AGAINST not in asked.rubric.compare_with:
        return ""
    is_shown = has_answer or not asked.place.startswith("model_output")
    return asked.place if asked.place and is_shown else asked.against
