"""Review: one verdict at a time, decided with one key; a random sample is decided blind."""

from __future__ import annotations

from collections.abc import Sequence

from callscore.core.errors import UsageError
from callscore.core.events import EventConflict, GivenReview, Review
from callscore.report.markup import Child, Html, tag
from callscore.report.numbers import show, show_count
from callscore.report.safe_text import plain
from callscore.results.port import QueryError, RunLine
from callscore.results.review_log import AUDIT
from callscore.results.review_queues import DOUBTS, LEASE_S, audit_items, draw_audit
from callscore.results.reviews import (
    ItemKey,
    ReviewedItem,
    RunReviewer,
    item_of,
    review_of,
    withdrawal_of,
    write_review,
)
from callscore.web.page import notice
from callscore.web.queues import QUEUES, ReviewQuery, doubted, next_of, number_left, queue_table
from callscore.web.review_item import draft_name, render_item, verdict_words
from callscore.web.screen import (
    Answer,
    Conflict,
    Download,
    Forbidden,
    NotFound,
    Page,
    PageTable,
    Redirect,
    Route,
    Visit,
    element,
    link,
)
from callscore.web.tables import export_form, export_links

FOLLOWS = "The whole run is scored again in the background; its values follow."
LEASE_MINUTES = round(LEASE_S / 60)
MAX_DRAW = 10_000
MAX_DIGITS = 9


def show_queue(visit: Visit, queue: str) -> Answer:
    """Return the next item of a queue."""
    run = visit.run_line()
    query = visit.query_as(ReviewQuery)
    if visit.results.scored(run.id).source is None:
        return Page("Review", tag("p", "The run has no scores yet."), run, "review")
    key, after = next_of(visit, queue, query)
    item = None if key is None else item_of(visit.results, run.id, key)
    main = tag(
        "section",
        tag("h1", "Review"),
        _tabs(visit, run, queue),
        tag("p", QUEUES[queue], class_="note"),
        _saved(visit, run, query.saved),
        _draw_form(visit, queue),
        _doubts(visit, run) if queue == DOUBTS else None,
        _nothing(visit, queue, after) if item is None else render_item(visit, item, queue, after),
        export_links(visit),
        export_form("Verdicts of people as a file", f"/runs/{run.id}/export/verdicts"),
    )
    return Page("Review", main, run=run, tab="review")


def _nothing(visit: Visit, queue: str, after: int) -> Html:
    """What is shown in place of an item; `after` is where to look further."""
    others = visit.site.leases.others(visit.session.author, visit.run)
    if others and queue != AUDIT:
        shown = f"{', '.join(plain(name, 40) for name in others)} decide what is left; "
        return tag("p", shown, f"an item is free after {LEASE_MINUTES} minutes.", class_="note")
    if not after:
        return tag("p", "Nothing is left in this queue.", class_="note")
    further = link("look further", visit.url(after=after, saved=0), data_key="j")
    return tag("p", "The next answers need more than a word of a person: ", further, class_="note")


def _doubts(visit: Visit, run: RunLine) -> Html | None:
    """The references that people doubt; Gold decides about them."""
    items = [
        tag("li", link(plain(one.case_id, 80), f"/runs/{run.id}/cases/{one.place}"), ": ",
            tag("span", plain(one.words, 200), dir="auto"), ", ",
            [tag("q", plain(event.note.reason, 300), dir="auto") for event in events[-1:]
             if event.note.reason],
            tag("small", f" {plain(events[-1].author, 40)}"))
        for one, events in doubted(visit, run)
    ]  # fmt: skip
    if not items:
        return None
    decide = link("Correct or dismiss them in Gold", f"/runs/{run.id}/gold")
    return tag("section", tag("h2", "Doubted references"), tag("ul", items), tag("p", decide))


def _tabs(visit: Visit, run: RunLine, here: str) -> Html:
    links = []
    for queue in QUEUES:
        # Doubts are found by looking at every review: 1.8 s of CPU for 5,000 of them.
        is_counted = queue != DOUBTS or here == DOUBTS
        words = f"{queue} {number_left(visit, run, queue)}" if is_counted else queue
        current = "true" if queue == here else None
        links.append(
            link(words, f"/runs/{run.id}/review/{queue}", class_="filter", aria_current=current)
        )
    return tag("nav", links, class_="kinds", aria_label="Queues")


def _draw_form(visit: Visit, queue: str) -> Html | None:
    if queue != AUDIT or visit.site.read_only:
        return None
    return element(
        "form",
        tag("label", "Items ", tag("input", type="number", name="number", value=100, min=1,
                                   max=MAX_DRAW)),
        " ",
        tag("button", "Draw at random"),
        action=f"{visit.path}/draw",
        method="post",
    )  # fmt: skip


def _saved(visit: Visit, run: RunLine, seq: int) -> Html | None:
    """What was just saved, what the judge had said, and what follows from it."""
    if not seq:
        return None
    given = _find(visit, seq)
    if given is None:
        raise QueryError(f"saved={seq}: expected the number of a review")
    review = given.review
    place = visit.results.place_of(run.id, review.case_id)
    if review.action == "withdraw":
        told: list[Child] = ["Taken back."]
    else:
        judged = f" The judge had said: {verdict_words(review.judged)}." if review.judged else ""
        told = [f"Saved: {verdict_words(review.word)}.{judged} "]
    if place is not None:
        told += [link("The case now", f"/runs/{run.id}/cases/{place}"), ". ", _finals(visit, run)]
    undo = None
    if given.event.author == visit.session.author and review.action != "withdraw":
        undo = element(
            "form",
            tag("input", type="hidden", name="saved", value=seq),
            tag("button", tag("kbd", "u"), " Undo", data_key="u"),
            action=f"{visit.path}/undo",
            method="post",
        )
    return tag("div", notice(told), undo, data_saved=draft_name(visit, review))


def _finals(visit: Visit, run: RunLine) -> str:
    scored = visit.results.scored(run.id)
    if scored.state != "fresh":
        return scored.why or FOLLOWS
    models = [] if scored.source is None else scored.source.card.models
    finals = [
        f"{model.model} {show(model.final.score)}"
        for model in models
        if model.final.score is not None
    ]
    follow = " Intervals follow." if scored.values_only else ""
    return plain(f"Final now: {', '.join(finals)}.{follow}", 400) if finals else ""


def _find(visit: Visit, seq: int) -> GivenReview | None:
    return visit.results.reviews().given(seq)


def save_review(visit: Visit, queue: str) -> Answer:
    """Keep a word on an item, score with it, and go to the next item."""
    if visit.site.read_only:
        raise Forbidden("The store is read-only.")
    item = _posted(visit)
    word, note = visit.form.get("word", ""), visit.form.get("note", "").strip()
    who = RunReviewer(visit.results, visit.site.store, visit.run, visit.session.author)
    if queue == AUDIT and not _is_drawn(visit, item):
        raise QueryError("the item was not drawn; expected one of the audit queue")
    try:
        review = review_of(item, word, note, queue)
    except UsageError as error:
        if word not in item.words:
            raise
        return _ask_reason(visit, item, queue, str(error))
    prior = _number(visit, "prior", 0)
    try:
        saved = write_review(who, item, review, prior)
    except EventConflict as conflict:
        raise Conflict(_both_texts(conflict, review)) from None
    visit.site.leases.give_back(visit.session.author)
    return Redirect(f"/runs/{visit.run}/review/{queue}?saved={saved.event.seq}")


def _is_drawn(visit: Visit, item: ReviewedItem) -> bool:
    wanted = (item.base.reply, item.base.metric, item.base.item)
    return any(
        (one.drawn.reply, one.drawn.metric, one.drawn.item) == wanted
        for one in audit_items(visit.results, visit.run)
    )


def _both_texts(conflict: EventConflict, mine: Review) -> str:
    theirs = conflict.newest.read(Review)
    return (
        f"{conflict.newest.author} has decided this item meanwhile: {verdict_words(theirs.word)}"
        f"{': ' + theirs.note if theirs.note else ''}. Yours was not saved: "
        f"{verdict_words(mine.word)}{': ' + mine.note if mine.note else ''}. "
        "Open the queue again to decide about both."
    )


def _ask_reason(visit: Visit, item: ReviewedItem, queue: str, why: str) -> Page:
    """The same item again, with the chosen word and a request for the reason."""
    judged = verdict_words(item.base.judged) or "nothing"
    main = tag(
        "section",
        tag("h1", "Review"),
        notice(f"The judge said: {judged}. {why[:1].upper()}{why[1:]}; nothing was saved yet."),
        render_item(visit, item, queue, 0),
    )
    return Page("Review", main, run=visit.run_line(), tab="review", status=422)


def _posted(visit: Visit) -> ReviewedItem:
    form = visit.form
    place, rep = _number(visit, "place"), _number(visit, "rep")
    key = ItemKey(place, form.get("model", ""), rep, form.get("metric", ""), form.get("item", ""))
    return item_of(visit.results, visit.run_line().id, key)


def _number(visit: Visit, name: str, least: int = 1) -> int:
    raw = visit.form.get(name, "")
    if not (raw.isascii() and raw.isdecimal()) or len(raw) > MAX_DIGITS or int(raw) < least:
        raise QueryError(f"{name}={plain(raw, 20)!r}: expected a whole number from {least}")
    return int(raw)


def undo(visit: Visit, queue: str) -> Answer:
    """Take back a review of the same person; that is an event, too."""
    given = _find(visit, _number(visit, "saved"))
    if given is None or given.event.author != visit.session.author:
        raise NotFound("there is no such review of yours")
    review = given.review
    place = visit.results.place_of(visit.run_line().id, review.case_id)
    for key in () if place is None else _keys(visit, place, review):
        item = item_of(visit.results, visit.run, key)
        who = RunReviewer(visit.results, visit.site.store, visit.run, visit.session.author)
        try:
            saved = write_review(who, item, withdrawal_of(item, queue), given.event.seq)
        except EventConflict as conflict:
            raise Conflict(_both_texts(conflict, review)) from None
        return Redirect(f"/runs/{visit.run}/review/{queue}?saved={saved.event.seq}")
    raise NotFound("the run has this answer no longer")


def _keys(visit: Visit, place: int, review: Review) -> Sequence[ItemKey]:
    return [
        ItemKey(place, answer.model, answer.run, review.metric, review.item)
        for answer in visit.results.case(visit.run, place).view.answers
        if visit.results.reply_key(visit.run, review.case_id, answer.model, answer.run).hex()
        == review.reply
    ]


def draw(visit: Visit) -> Answer:
    """Draw a random sample of verdicts."""
    if visit.site.read_only:
        raise Forbidden("The store is read-only.")
    number = _number(visit, "number")
    if number > MAX_DRAW:
        raise QueryError(f"number={number}: expected at most {show_count(MAX_DRAW, 'item')}")
    draw_audit(
        RunReviewer(visit.results, visit.site.store, visit.run_line().id, visit.session.author),
        number,
    )
    return Redirect(f"/runs/{visit.run}/review/{AUDIT}")


def download_verdicts(visit: Visit) -> Answer:
    """Return what people decided as a file of verdicts."""
    lines = visit.results.verdicts_of_people(visit.run_line().id)
    return Download("people.jsonl", "application/jsonl", [lines])


def _routes_of(queue: str) -> Sequence[Route]:
    path = f"/runs/{{run}}/review/{queue}"

    def show(visit: Visit) -> Answer:
        return show_queue(visit, queue)

    def list_all(visit: Visit) -> PageTable:
        return queue_table(visit, queue)

    def save(visit: Visit) -> Answer:
        return save_review(visit, queue)

    def take_back(visit: Visit) -> Answer:
        return undo(visit, queue)

    return (
        Route("GET", path, show, "review", query=ReviewQuery, table=list_all),
        Route("POST", path, save, "review"),
        Route("POST", f"{path}/undo", take_back, "review"),
    )


ROUTES = (
    *(route for queue in QUEUES for route in _routes_of(queue)),
    Route("POST", f"/runs/{{run}}/review/{AUDIT}/draw", draw, "review"),
    Route("POST", "/runs/{run}/export/verdicts", download_verdicts, "review", writes="log"),
)
