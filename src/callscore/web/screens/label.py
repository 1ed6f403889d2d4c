"""Label: calls in the words of a form, one key per question; two people blind, then agreement."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from callscore.core.case import Turn, turns
from callscore.core.errors import UsageError
from callscore.core.labelling import CallTranscript, LabelItem
from callscore.report.html.parts import chip, row, table
from callscore.report.markup import Child, Html, join, tag
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain
from callscore.results.port import QueryError
from callscore.uploads.data_folder import CASES, CONFIG, EVAL, DataFolder, DataSet
from callscore.uploads.label_book import (
    RESOLVED,
    Agreement,
    GivenLabel,
    LabelBook,
    PersonLabels,
    progress,
    quoted,
    read_quotes,
)
from callscore.web.page import command, empty
from callscore.web.screen import (
    Answer,
    Download,
    Forbidden,
    NotFound,
    Page,
    Redirect,
    Route,
    Visit,
    element,
    link,
)
from callscore.web.tables import export_form

KEYS = 9
"""Options that have a digit as their key; more become a list."""
SCRIPT = Html('<script src="/static/label.js" defer></script>')


class LabelQuery(msgspec.Struct, frozen=True):
    """The item that is asked, by its number in the call; 0 is the first open one."""

    item: int = 0


def show_sets(visit: Visit) -> Answer:
    """Return the data sets that can be labelled."""
    if visit.site.data is None:
        words = f"{visit.site.command} serve --data DIR"
        return Page("Label", empty("Labels need a folder of yours:", words))
    folder = DataFolder(visit.site.data)
    found = [folder.get(number) for number in folder.numbers()]
    ready = [data for data in found if (data.folder / CONFIG).exists() and not data.names("marks")]
    rows = []
    for data in ready:
        counts = progress(LabelBook(data), visit.session.author)
        done = sum(said for said, _ in counts.values())
        total = sum(all_ for _, all_ in counts.values())
        name = link(f"Data set {data.number}", f"/label/{data.number}")
        rows.append(row(name, [show_count(len(counts), "call"), f"{done} of {total}"]))
    listed: Html = tag(
        "p", "Send calls and a form, and write the transcripts: ", link("Data", "/data")
    )
    if rows:
        listed = table(("Data set", "Calls", "Your answers"), rows, "Data sets to label")
    return Page("Label", tag("section", tag("h1", "Label"), listed))


def _book(visit: Visit) -> tuple[DataSet, LabelBook]:
    if visit.site.data is None:
        raise NotFound("labels need a folder: start the server with --data DIR")
    try:
        data = DataFolder(visit.site.data).get(visit.numbers["set"])
        return data, LabelBook(data)
    except UsageError as error:
        raise NotFound(str(error)) from None


def _call(visit: Visit, book: LabelBook) -> CallTranscript:
    number = visit.numbers["call"]
    if number > len(book.calls):
        raise NotFound(f"there is no call {number}; the data set has {len(book.calls)}")
    return book.calls[number - 1]


def show_set(visit: Visit) -> Answer:
    """Return the calls of a data set, the progress of the person, and the agreement at the end."""
    data, book = _book(visit)
    counts = progress(book, visit.session.author)
    rows = []
    for number, call in enumerate(book.calls, start=1):
        done, total = counts[call.name]
        state = chip("done", "good") if done == total else f"{done} of {total}"
        rows.append(row(link(plain(call.name, 80), f"/label/{data.number}/{number}"), [state]))
    main = tag(
        "section",
        tag("p", link("All data sets", "/label")),
        tag("h1", f"Label data set {data.number}"),
        export_form("Your answers as a sheet", f"/label/{data.number}/sheet"),
        table(("Call", "Your answers"), rows, "Calls"),
        _agreement(visit, data, book),
    )
    return Page(f"Label data set {data.number}", main)


def _agreement(visit: Visit, data: DataSet, book: LabelBook) -> Html:
    """How far people agree; until they have finished, only how many have."""
    finished = book.finished()
    found = book.agreement(visit.session.author)
    told: list[Child] = []
    if found is None:
        told.append(
            tag(
                "p",
                f"{_count_people(len(finished))} finished. Agreement is shown to those who have "
                "finished, once two have.",
                class_="note",
            )
        )
    else:
        told += _compared(data, book, found)
    if finished and visit.session.may("review"):
        told.append(_write_form(data))
    return tag("section", tag("h2", "Agreement"), told, id="agreement")


def _count_people(number: int) -> str:
    return "1 person has" if number == 1 else f"{number} people have"


def _compared(data: DataSet, book: LabelBook, found: Agreement) -> list[Child]:
    share = "n/a" if found.share is None else f"{found.share:.0%}"
    kappa = "n/a" if found.kappa is None else f"{found.kappa:.2f}"
    people = plain(", ".join(found.people), 200)
    resolved = book.person(RESOLVED)
    rows = []
    numbers = {item.key: number for number, item in enumerate(book.job.items, start=1)}
    for one in found.disagreements:
        decided = resolved.of(one.item)
        options = [
            element("button", option, name="answer", value=option) for option in one.item.options
        ]
        form = element(
            "form", element("input", type="hidden", name="item", value=numbers[one.item.key]),
            options, action=f"/label/{data.number}/resolve", method="post", class_="options",
        )  # fmt: skip
        answers = plain(" / ".join(one.answers), 120)
        state = chip(f"decided: {decided.answer}", "good") if decided is not None else form
        rows.append(
            row(plain(one.item.call_id, 60), [plain(one.item.question, 200), answers, state])
        )
    headings = ("Call", "Question", "Answers", "Decision")
    return [
        tag("p", f"{people}: the same answer on {share} of {found.pairs} pairs, κ {kappa}."),
        table(headings, rows, "Disagreements") if rows else tag("p", "They agree on everything."),
    ]


def _write_form(data: DataSet) -> Html:
    done = (data.folder / CASES).exists()
    return tag(
        "div",
        element("form", tag("button", "Write cases"), action=f"/label/{data.number}/write",
                method="post"),
        tag("p", chip("written", "good"), " ", command(f"callscore run {data.folder / EVAL}"))
        if done
        else None,
    )  # fmt: skip


def show_call(visit: Visit) -> Answer:
    """Return a call with its transcript and the question that is asked."""
    data, book = _book(visit)
    call = _call(visit, book)
    items = book.items_of(call)
    person = book.person(visit.session.author)
    at = _asked(visit, items, person)
    given = [person.of(item) for item in items]
    said = tag(
        "ol",
        [_turn(turn, place, given) for place, turn in enumerate(turns(call.transcript))],
        class_="said",
        tabindex=0,
        aria_label="Transcript",
    )
    main = tag(
        "section",
        tag("p", link(f"Data set {data.number}", f"/label/{data.number}")),
        tag("h1", plain(call.name, 80)),
        tag(
            "div",
            said,
            tag("div", _question(visit, items, at, given[at]), _listed(visit, items, given, at)),
            class_="labelling",
        ),
        SCRIPT,
    )
    return Page(f"Label {plain(call.name, 60)}", main)


def _asked(visit: Visit, items: Sequence[LabelItem], person: PersonLabels) -> int:
    number = visit.query_as(LabelQuery).item
    if number > len(items) or number < 0:
        raise QueryError(f"item={number}: expected a number from 1 to {len(items)}")
    if number:
        return number - 1
    return next((at for at, item in enumerate(items) if person.of(item) is None), 0)


def _turn(turn: Turn, place: int, given: Sequence[GivenLabel | None]) -> Html:
    quotes = [
        quote for label in given if label is not None for quote in label.quotes
        if quote.turn == place
    ]  # fmt: skip
    parts = [tag("mark", text) if is_ else text for text, is_ in quoted(turn.text, quotes)]
    speaker = tag("b", plain(turn.speaker or "?", 40))
    return tag("li", speaker, " ", tag("span", parts, dir="auto", data_turn=place))


def _question(visit: Visit, items: Sequence[LabelItem], at: int, given: GivenLabel | None) -> Html:
    """The question with its options as buttons, a comment, and the way to skip it."""
    item = items[at]
    section = tag("p", plain(item.section, 100), class_="note") if item.section else None
    options: list[Child] = []
    if len(item.options) > KEYS or not item.options:
        options.append(_long_choice(item, given))
    else:
        for digit, option in enumerate(item.options, start=1):
            chosen = given is not None and given.answer == option
            options.append(
                element("button", tag("kbd", digit), " ", option, name="answer", value=option,
                        data_key=str(digit), aria_pressed="true" if chosen else None)
            )  # fmt: skip
    comment = given.comment if given is not None else ""
    quotes = msgspec.json.encode(given.quotes).decode() if given is not None else "[]"
    return element(
        "form",
        section,
        tag("h2", f"{at + 1} of {len(items)}: {plain(item.question, 400)}", dir="auto"),
        tag("p", plain(item.help, 600), class_="note", dir="auto") if item.help else None,
        tag("blockquote", item.text, dir="auto") if item.text else None,
        element("input", type="hidden", name="item", value=at + 1),
        element("input", type="hidden", name="quotes", value=quotes),
        tag("label", "Comment ", tag("textarea", comment, name="comment", rows=2, dir="auto")),
        tag("button", tag("kbd", "e"), " Quote the selection", type="button", data_quote=True,
            data_key="e", hidden=True),
        tag("div", options, class_="options"),
        element("button", tag("kbd", "0"), " Cannot tell", name="skip", value="true", data_key="0"),
        action=visit.path,
        method="post",
        class_="question",
        data_draft=_draft(visit, at + 1, given),
    )  # fmt: skip


def _draft(visit: Visit, number: int, given: GivenLabel | None) -> str:
    """Return the name of a draft: of an item of a person, since the answer that is saved."""
    saved = "" if given is None else sha256(msgspec.json.encode(given)).hexdigest()[:16]
    return f"{visit.path}:{number}:{visit.session.author}:{saved}"


def _long_choice(item: LabelItem, given: GivenLabel | None) -> Html:
    answer = given.answer if given is not None else ""
    if not item.options:
        entry = element("input", type="text", name="answer", value=answer, dir="auto")
        return tag("label", "Answer ", entry, " ", tag("button", "Save"))
    choices = [tag("option", one, value=one, selected=one == answer) for one in item.options]
    return tag("label", "Answer ", tag("select", choices, name="answer"), tag("button", "Save"))


def _listed(
    visit: Visit, items: Sequence[LabelItem], given: Sequence[GivenLabel | None], at: int
) -> Html:
    """All questions of the call with the person's own answers."""
    entries = []
    for number, (item, label) in enumerate(zip(items, given, strict=True), start=1):
        state: Child = "open"
        if label is not None:
            state = tag("b", label.answer) if label.answer else "cannot tell"
        current = "true" if number - 1 == at else None
        name = link(plain(item.question, 120), visit.url(item=number), aria_current=current)
        saved = None if label is None else _draft(visit, number, None)
        entries.append(tag("li", name, ": ", state, data_saved=saved))
    step = visit.numbers["call"]
    following = visit.path.rpartition("/")[0] + f"/{step + 1}"
    return join(
        tag("ol", entries, class_="answers-given"),
        link("Next call", following, data_key="j") if all(given) else None,
    )


def give_label(visit: Visit) -> Answer:
    """Keep an answer, and go to the next open question."""
    _, book = _book(visit)
    call = _call(visit, book)
    items = book.items_of(call)
    item = items[_number(visit, len(items)) - 1]
    answer = "" if "skip" in visit.form else visit.form.get("answer", "").strip()
    if not answer and "skip" not in visit.form:
        raise UsageError("there is no answer; expected one of the options, or `cannot tell`")
    label = GivenLabel(
        item.call_id, item.part, item.item, answer, visit.form.get("comment", "").strip(),
        read_quotes(visit.form.get("quotes", "")),
    )  # fmt: skip
    book.give(visit.session.author, item, label)
    person = book.person(visit.session.author)
    is_done = all(person.of(one) is not None for one in items)
    last = visit.numbers["call"] == len(book.calls)
    base, _, number = visit.path.rpartition("/")
    if is_done:
        return Redirect(base if last else f"{base}/{int(number) + 1}")
    return Redirect(visit.path)


def _number(visit: Visit, most: int) -> int:
    raw = visit.form.get("item", "")
    if not raw.isdecimal() or not 1 <= int(raw) <= most:
        raise QueryError(f"item={plain(raw, 20)!r}: expected a number from 1 to {most}")
    return int(raw)


def resolve(visit: Visit) -> Answer:
    """Decide an item on which people disagree."""
    data, book = _book(visit)
    if book.agreement(visit.session.author) is None:
        raise Forbidden("Decisions need two people who have finished, and you are one of them.")
    item = book.job.items[_number(visit, len(book.job.items)) - 1]
    answer = visit.form.get("answer", "")
    book.give(RESOLVED, item, GivenLabel(item.call_id, item.part, item.item, answer))
    return Redirect(f"/label/{data.number}#agreement")


def write_cases(visit: Visit) -> Answer:
    """Write the cases that `callscore annotate` writes, and a first eval file."""
    from callscore.first_eval import Choices, write_files

    data, book = _book(visit)
    book.write_cases()
    path = data.folder / EVAL
    if not path.exists():
        write_files(path, Choices(data=CASES))
    return Redirect(f"/label/{data.number}#agreement")


def download_sheet(visit: Visit) -> Answer:
    """Return the person's own answers as a label sheet."""
    _, book = _book(visit)
    return Download("labels.csv", "text/csv", [book.sheet(visit.session.author)])


ROUTES = (
    Route("GET", "/label", show_sets, "label"),
    Route("GET", "/label/{set}", show_set, "label"),
    Route("POST", "/label/{set}/sheet", download_sheet, "label", writes="log"),
    Route("POST", "/label/{set}/resolve", resolve, "review", writes="data"),
    Route("POST", "/label/{set}/write", write_cases, "review", writes="data"),
    Route("GET", "/label/{set}/{call}", show_call, "label", query=LabelQuery),
    Route("POST", "/label/{set}/{call}", give_label, "label", writes="data"),
)
