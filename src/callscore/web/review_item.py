"""One item of a review: the question with its words, the call with the quote, what was said."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from callscore.core.events import GivenReview, Review
from callscore.report.details.decoded_case import DecodedCase, decode_case
from callscore.report.details.form_marks import MarkReader
from callscore.report.html.case import Focus, comparison_table, transcript_section
from callscore.report.html.parts import chip, in_words, model_name, row, table
from callscore.report.markup import Html, tag
from callscore.report.safe_text import plain
from callscore.results.review_log import AUDIT
from callscore.results.review_queues import DOUBTS, stale_items
from callscore.results.reviews import ItemKey, ReviewedItem
from callscore.web.screen import Visit, element, link
from callscore.web.screens.matrix import MatrixParameters, case_url

KEYS = 9
WORDS_OF_KEYS = (
    (", named in compare_with,", ""),
    ("compare_with", "the reference"),
    ("expected_outcome", "the reference"),
    ("model_output", "the answer"),
)


def render_item(visit: Visit, item: ReviewedItem, queue: str, after: int) -> Html:
    """The item with its transcript, the answer of the model, and the words."""
    key = item.key
    case = _case_of(item)
    focus = Focus(item.base.source, key.item)
    blind = queue == AUDIT
    name = plain(item.view.case.id, 80)
    address = case_url(visit.run, key.place, MatrixParameters(), item=key.item)
    steps = [link("next ›", visit.url(after=after, saved=0), data_key="j")] if after else []
    return tag(
        "div",
        tag(
            "div",
            tag("h2", in_words(key.metric), " · ", plain(key.item, 80)),
            chip(model_name(key.model)) if not blind else None,
            tag("nav", steps, link(name, address) if not blind else name, aria_label="Items"),
            class_="case-head",
        ),
        tag(
            "div",
            transcript_section(case, key.place, focus),
            tag(
                "div",
                _question(visit, item, queue),
                None if blind else _history(item.history, "History of this item"),
                _earlier(visit, key) if queue == DOUBTS else None,
                tag("h2", "Expected and given"),
                comparison_table(case, MarkReader({}).marks(case), focus),
                class_="answers",
            ),
            class_="body",
        ),
        class_="reviewing",
    )


def _case_of(item: ReviewedItem) -> DecodedCase:
    """The case with the answer in question alone; of its verdicts, the one in question."""
    answers = [
        msgspec.structs.replace(
            answer, verdicts=[one for one in answer.verdicts if one.item == item.key.item]
        )
        for answer in item.view.answers
        if (answer.model, answer.run) == (item.key.model, item.key.rep)
    ]
    return decode_case(msgspec.structs.replace(item.view, answers=answers))


def _in_words(question: str) -> str:
    """The question of a rubric for people: a judge knows the parts of its request by keys."""
    for key, words in WORDS_OF_KEYS:
        question = question.replace(key, words)
    return question


def _question(visit: Visit, item: ReviewedItem, queue: str) -> Html:
    base = item.base
    blind = queue == AUDIT
    prior = item.prior(visit.session.author if blind else None)
    asks = _in_words(item.rubric.question) if item.rubric is not None else base.metric
    chosen = visit.form.get("word", "")
    buttons = []
    for digit, word in enumerate(item.words, start=1):
        means = item.rubric.words.get(word, "") if item.rubric is not None else ""
        shortcut = tag("kbd", digit) if digit <= KEYS else None
        buttons.append(
            tag("button", shortcut, " ", verdict_words(word), name="word", value=word, title=means,
                data_key=str(digit) if digit <= KEYS else None,
                aria_pressed="true" if word == chosen else None)
        )  # fmt: skip
    reason = "Reason" if blind else "Reason, if your word is another one"
    hidden: dict[str, str | int] = {
        "place": item.key.place,
        "model": item.key.model,
        "rep": item.key.rep,
        "metric": item.key.metric,
        "item": item.key.item,
        "prior": prior,
    }
    fields = [tag("input", type="hidden", name=name, value=of) for name, of in hidden.items()]
    return element(
        "form",
        tag("h2", asks, dir="auto"),
        tag("blockquote", plain(base.text, 2_000), dir="auto") if base.text else None,
        tag("p", "Quote: ", tag("q", plain(base.quote, 600), dir="auto"))
        if base.quote and not blind
        else None,
        fields,
        tag("div", buttons, class_="options") if not visit.site.read_only else None,
        tag("label", reason, " ",
            tag("textarea", visit.form.get("note", ""), name="note", rows=2, dir="auto",
                data_key="o")),
        action=f"/runs/{visit.run}/review/{queue}",
        method="post",
        class_="question",
        data_draft=draft_name(visit, base),
    )  # fmt: skip


def _earlier(visit: Visit, key: ItemKey) -> Html | None:
    """What people said when the reference was another one; it does not count."""
    found = (
        one.standing
        for one in stale_items(visit.results, visit.run)
        if one.key(visit.results, visit.run) == key
    )
    return _history(next(found, ()), "Said about another reference: does not count")


def _history(reviews: Sequence[GivenReview], title: str) -> Html | None:
    """Reviews of the item, the newest last."""
    if not reviews:
        return None
    rows = [
        row(plain(one.event.author, 60), [
            one.event.at, one.review.action, verdict_words(one.review.word),
            plain(one.review.note, 600),
        ])
        for one in reviews
    ]  # fmt: skip
    return table(("Person", "When", "What", "Word", "Reason"), rows, title)


def verdict_words(word: str) -> str:
    """Return a word of a verdict for people."""
    return plain(word, 80).replace("_", " ")


def draft_name(visit: Visit, review: Review) -> str:
    """Return the name of what is typed about an item until it is saved."""
    return f"{visit.run}:{review.subject.hex()}:{visit.session.author}"
