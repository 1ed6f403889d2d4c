"""One case: the transcript with quotes, expected outcome and replies, measures, verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from callscore.core.case import Turn, clock, turns
from callscore.core.judging import Verdict
from callscore.core.lazy import lazy_regex
from callscore.report.details.decoded_case import (
    DecodedAnswer,
    DecodedCase,
    FieldComparison,
    FieldValue,
    as_objects,
    compare_fields,
    has_reply,
)
from callscore.report.details.form_marks import CaseMarks, ComparedMarks
from callscore.report.html.answers_sections import model_plan, question_label
from callscore.report.html.parts import (
    chip,
    collapsible,
    figure,
    in_words,
    model_name,
    row,
    status_word,
    table,
)
from callscore.report.markup import Child, Html, join, tag, text
from callscore.report.numbers import show, show_count, show_money
from callscore.report.safe_text import plain
from callscore.report.svg.plan_graph import draw_plan, extract_plan

_QUOTED = lazy_regex(r"[\"“„«]([^\"“”„«»]{4,300})[\"”»]")
MIN_LENGTH = 4
EXPECTED = "expected"


class Quote(NamedTuple):
    """A quote: its text, its author, the item it is about, and the turn it names, if any."""

    text: str
    author: str
    item: str
    turn: str = ""


class Span(NamedTuple):
    """A part of the text of a turn, with the quotes that contain it."""

    start: int
    end: int
    quotes: tuple[Quote, ...]


class Focus(NamedTuple):
    """What a reader came for: a turn by its name, and an item by its id."""

    turn: str = ""
    item: str = ""


NO_FOCUS = Focus()


def find_quotations(reason: str) -> Iterator[str]:
    """Yield the quotations in a reason."""
    yield from _QUOTED.findall(reason)


def turn_name(turn: Turn, place: int) -> str:
    """Return the name of a turn in the `source` of a verdict: `t7`."""
    return f"t{turn.id if turn.id is not None else place + 1}"


def locate_quotes(
    turns: Sequence[Turn], quotes: Sequence[Quote]
) -> tuple[list[list[Span]], list[Quote]]:
    """Return the spans to highlight in each turn, and the quotes that no turn contains."""
    hits: list[list[tuple[int, int, Quote]]] = [[] for _ in turns]
    names = [turn_name(turn, place) for place, turn in enumerate(turns)]
    lowered = [_lower(turn.text) for turn in turns]
    lost = []
    for quote in quotes:
        wanted = _lower(quote.text.strip())
        if len(wanted) < MIN_LENGTH:
            continue
        order = sorted(range(len(turns)), key=lambda place: names[place] != quote.turn)
        for place in order:
            start = lowered[place].find(wanted)
            if start >= 0:
                hits[place].append((start, start + len(wanted), quote))
                break
        else:
            lost.append(quote)
    return [_split_spans(turn_hits) for turn_hits in hits], lost


def _lower(text: str) -> str:
    """The text in lower case, letter for letter: "İ".lower() has two, and would shift the rest."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)


def _split_spans(hits: Sequence[tuple[int, int, Quote]]) -> list[Span]:
    """Return spans that do not overlap, split where a quote begins or ends."""
    edges = sorted({edge for start, end, _ in hits for edge in (start, end)})
    spans = []
    for start, end in zip(edges, edges[1:], strict=False):
        over = tuple(quote for low, high, quote in hits if low <= start and end <= high)
        if over:
            spans.append(Span(start, end, over))
    return spans


MAX_VALUE_LENGTH = 1_500
MAX_REPLY_LENGTH = 4_000
MAX_TURN_LENGTH = 5_000
MAX_TURNS = 600
MAX_VERDICTS = 240
"""The most verdicts shown for a case, over all its answers."""
SCORES_SHOWN = 5
REASONS_SHOWN = 3
NO_MARKS = CaseMarks()


def render_case(
    case: DecodedCase, place: int, marks: CaseMarks = NO_MARKS, *, with_text: bool = True
) -> Html:
    """Return a case that is closed until clicked; `place` is its number in the data."""
    record = case.view.case
    body = [transcript_section(case, place), _answers(case, place, marks)]
    if not with_text:
        body = [_scores_only(case)]
    return tag(
        "details",
        tag(
            "summary",
            tag("span", plain(record.id, 80), class_="id"),
            chip(plain(record.task, 30)),
            chip(plain(record.lang, 20)) if record.lang else None,
            [chip(plain(one, 30)) for one in case.tags[:4]],
            tag("span", _summary(case), class_="scores"),
        ),
        tag("div", body, class_="body"),
        class_="case",
        id=f"case-{place}",
    )


def _summary(case: DecodedCase) -> Iterator[Child]:
    for decoded in case.answers[:SCORES_SHOWN]:
        yield tag(
            "span", f"{plain(answer_label(decoded, case), 24)} ", score_of(decoded), class_="score"
        )
    more = len(case.answers) - SCORES_SHOWN
    if more > 0:
        yield tag("span", f"and {more} more", class_="quiet")


def score_of(decoded: DecodedAnswer) -> Html:
    """Return the score of an answer, or its status."""
    result = decoded.answer.result
    if result.score is not None:
        return tag("b", show(result.score))
    return tag("b", status_word(result.status), class_=_tone(result.status))


def _tone(status: str) -> str:
    return "blocked" if status == "invalid" else "quiet"


def answer_label(decoded: DecodedAnswer, case: DecodedCase) -> str:
    """Return the model, with the number of the run if models were asked more than once."""
    answer = decoded.answer
    return f"{answer.model} · run {answer.run}" if case.has_repeats else answer.model


def _verdicts_of(decoded: DecodedAnswer, case: DecodedCase) -> Sequence[Verdict]:
    """Return the verdicts on an answer that are shown."""
    return decoded.answer.verdicts[: max(12, MAX_VERDICTS // max(1, len(case.answers)))]


def _scores_only(case: DecodedCase) -> Html:
    return table(
        ("Model", "Status", "Score", "Reasons"),
        [
            row(
                model_name(answer_label(decoded, case)),
                (
                    status_word(decoded.answer.result.status),
                    score_of(decoded),
                    plain("; ".join(_reason_codes(decoded)), 300),
                ),
            )
            for decoded in case.answers
        ],
        "Scores",
    )


def transcript_section(case: DecodedCase, place: int, focus: Focus = NO_FOCUS) -> Html:
    """Return the turns with the quotes of references and verdicts highlighted."""
    transcript = turns(case.view.case.transcript)
    marked, lost = locate_quotes(transcript[:MAX_TURNS], list(_quotes(case)))
    lines = [
        _turn(turn, number, spans, place, focus)
        for number, (turn, spans) in enumerate(zip(transcript, marked, strict=False))
    ]
    left = len(transcript) - len(lines)
    missing = [
        tag(
            "li",
            f"{model_name(quote.author)}, {plain(quote.item, 80)}: ",
            tag("q", plain(quote.text, 200)),
        )
        for quote in lost[:20]
        if quote.author != EXPECTED
    ]
    return tag(
        "div",
        tag("h3", "Transcript"),
        _legend(marked),
        tag("ol", lines, class_="turns"),
        tag("p", f"{show_count(left, 'more turn')} not shown.", class_="note") if left else None,
        collapsible("Quotes that are not in the transcript", tag("ul", missing))
        if missing
        else None,
        _instructions(case),
        class_="transcript",
        tabindex=0,
        role="region",
        aria_label="Transcript",
    )


def _legend(marked: Sequence[Sequence[Span]]) -> Html | None:
    """Return what the marks in a transcript mean; nothing if there are none."""
    authors = {quote.author for spans in marked for span in spans for quote in span.quotes}
    if not authors:
        return None
    people = tag("mark", "quoted by people", class_="gold") if EXPECTED in authors else None
    models = (
        tag("mark", "evidence for a model's answer", class_="model")
        if authors - {EXPECTED}
        else None
    )
    between = ", " if people is not None and models is not None else None
    return tag("p", people, between, models, class_="note legend")


def _instructions(case: DecodedCase) -> Html | None:
    """Return the instructions and tools in the prompt of the case, if it has any."""
    config = case.view.case.config
    instructions, tools = config.get("instructions"), config.get("tools")
    parts: list[Child] = []
    if isinstance(instructions, str) and instructions:
        parts.append(tag("pre", _truncate(instructions, MAX_REPLY_LENGTH), dir="auto"))
    if isinstance(tools, (list, tuple)) and tools:
        parts.append(tag("p", "Tools: ", plain(", ".join(map(str, tools)), MAX_VALUE_LENGTH)))
    return collapsible("Instructions and tools", parts) if parts else None


def _quotation(words: str, max_length: int) -> Html:
    return tag("q", plain(words, max_length), dir="auto")


def _quotes(case: DecodedCase) -> Iterator[Quote]:
    for expected in as_objects(case.expected.get("questions")):
        about = str(expected.get("question_id", ""))
        for words in find_quotations(str(expected.get("reason", ""))):
            yield Quote(words, EXPECTED, about)
    for decoded in case.answers:
        for verdict in _verdicts_of(decoded, case):
            if verdict.quote:
                yield Quote(verdict.quote, decoded.answer.model, verdict.item, verdict.source)


def _turn(turn: Turn, number: int, spans: Sequence[Span], place: int, focus: Focus) -> Html:
    text = turn.text[:MAX_TURN_LENGTH]
    parts: list[Child] = []
    at = 0
    for span in spans:
        if span.end > len(text):
            break
        who = dict.fromkeys(
            f"{model_name(quote.author)} {plain(quote.item, 40)}" for quote in span.quotes
        )
        kinds = {"gold" if quote.author == EXPECTED else "model" for quote in span.quotes}
        if focus.item and any(quote.item == focus.item for quote in span.quotes):
            kinds.add("sought")
        kind = " ".join(sorted(kinds))
        sentence = "; ".join(list(who)[:8])
        parts += [
            text[at : span.start],
            tag("mark", text[span.start : span.end], title=sentence, class_=kind),
        ]
        at = span.end
    parts.append(text[at:])
    cut = len(turn.text) - len(text)
    return tag(
        "li",
        tag("span", clock(turn.start), class_="clock") if turn.start is not None else None,
        tag("b", plain(turn.speaker, 40)) if turn.speaker else None,
        " ",
        tag("span", parts, dir="auto"),
        f" … {cut} more characters" if cut > 0 else None,
        id=f"case-{place}-{plain(turn_name(turn, number), 20)}",
        class_="at" if focus.turn == turn_name(turn, number) else None,
    )


def _answers(case: DecodedCase, place: int, marks: CaseMarks) -> Html:
    return tag(
        "div",
        tag("h3", "Expected and given"),
        comparison_table(case, marks),
        plan_pictures(case),
        [
            raw_reply(decoded, case)
            for decoded in case.answers
            if decoded.given is None and decoded.answer.text
        ],
        measures_table(case),
        verdicts_table(case, place),
        class_="answers",
    )


def comparison_table(case: DecodedCase, marks: CaseMarks, focus: Focus = NO_FOCUS) -> Html:
    """Return the fields of the expected outcome next to those of each answer."""
    rows = compare_fields(case.expected, [decoded.given for decoded in case.answers])
    questions = {f"questions {one.id}": one for one in marks.questions}
    whole = [] if marks.whole is None else [_marks_row(marks.whole)]
    headings = ["Field", "Expected", *(_heading(decoded, case) for decoded in case.answers)]
    return table(
        headings,
        [
            *whole,
            *(
                _compared_row(one, questions.get(one.label.removesuffix(" · score")), focus)
                for one in rows
            ),
        ],
        f"Expected and given, {plain(case.view.case.id, 80)}",
        "compared",
    )


def _heading(decoded: DecodedAnswer, case: DecodedCase) -> Html:
    reasons = _reasons_of(decoded)
    first, others = reasons[:REASONS_SHOWN], reasons[REASONS_SHOWN:]
    more = tag("small", plain("; ".join(others), 1_500))
    return join(
        model_name(answer_label(decoded, case)),
        " ",
        score_of(decoded),
        tag("small", plain("; ".join(first), 300)) if first else None,
        collapsible(f"{len(others)} more", more) if others else None,
    )


def _reasons_of(decoded: DecodedAnswer) -> list[str]:
    """Return why an answer has its status, in words where the task has them."""
    result = decoded.answer.result
    error = [decoded.answer.error] if decoded.answer.error else []
    if not decoded.answer.differences:
        return [*_reason_codes(decoded), *error]
    flags = map(in_words, result.flags)
    return list(dict.fromkeys([*decoded.answer.differences, *flags, *error]))


def _reason_codes(decoded: DecodedAnswer) -> list[str]:
    """Return reasons and flags, which do not contain text of the call or the reply."""
    result = decoded.answer.result
    return [in_words(code) for code in dict.fromkeys([*result.reasons, *result.flags])]


def _compared_row(field: FieldComparison, marks: ComparedMarks | None, focus: Focus) -> Html:
    """Return the row of a field; a mark is shown in the words of its form, with the question."""
    if marks is not None:
        return _marks_row(marks, focus)
    label = plain(field.label.removeprefix("questions ").replace("_", " "), 120)
    return row(label, _compared_cells(field.expected, field.given))


def _marks_row(marks: ComparedMarks, focus: Focus = NO_FOCUS) -> Html:
    label = question_label(marks.id, marks.shown)
    is_sought = bool(focus.item) and marks.id == focus.item
    cells = _compared_cells(marks.expected, marks.given)
    return row(label, cells, "sought" if is_sought else "")


def _compared_cells(expected: str, given: Sequence[FieldValue | None]) -> list[Html]:
    first = tag("td", _truncate(expected), dir="auto", class_="expected")
    return [first, *(_field(one) for one in given)]


def _field(value: FieldValue | None) -> Html:
    if value is None:
        return tag("td", "—", class_="quiet")
    kind = {True: "right", False: "wrong", None: None}[value.same]
    return tag("td", _truncate(value.text), dir="auto", class_=kind)


def _truncate(value: str, max_length: int = MAX_VALUE_LENGTH) -> Html:
    more = len(value) - max_length
    if more <= 0:
        return text(value)
    return join(value[:max_length], tag("small", f"… {more} more characters"))


def plan_pictures(case: DecodedCase) -> Html | None:
    """Return the expected plan and those of the answers, if the case has a plan."""
    expected = extract_plan(case.expected)
    if expected is None:
        return None
    drawn = [figure(draw_plan("Expected plan", expected), tag("b", "Expected"))]
    drawn += [
        model_plan(answer_label(decoded, case), extract_plan(decoded.given), expected)
        for decoded in case.answers
        if has_reply(decoded)
    ]
    return tag("div", drawn, class_="pictures")


def raw_reply(decoded: DecodedAnswer, case: DecodedCase) -> Html:
    """Return a reply that could not be parsed."""
    label = f"Reply of {model_name(answer_label(decoded, case))}, not parsed"
    return collapsible(
        label, tag("pre", _truncate(decoded.answer.text or "", MAX_REPLY_LENGTH), dir="auto")
    )


def measures_table(case: DecodedCase) -> Html | None:
    """Return every measure of each answer, and its cost."""
    slugs = dict.fromkeys(
        slug for decoded in case.answers for slug in decoded.answer.result.metrics
    )
    if not slugs:
        return None
    rows = [
        row(
            plain(slug, 60),
            [_measure(decoded.answer.result.metrics.get(slug)) for decoded in case.answers],
        )
        for slug in slugs
    ]
    costs = [decoded.answer.cost_usd for decoded in case.answers]
    if any(cost is not None for cost in costs):
        rows.append(row("cost", ["—" if cost is None else show_money(cost) for cost in costs]))
    headings = ["Measure", *(model_name(answer_label(decoded, case)) for decoded in case.answers)]
    return collapsible("Measures", table(headings, rows, "Measures of this case"))


def _measure(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.4g}"


def verdicts_table(case: DecodedCase, place: int) -> Html | None:
    """Return the verdicts on the answers, with quotes that link to their turns."""
    names = {
        turn_name(turn, number)
        for number, turn in enumerate(turns(case.view.case.transcript)[:MAX_TURNS])
    }
    rows = [
        _verdict_row(model_name(answer_label(decoded, case)), verdict, place, names)
        for decoded in case.answers
        for verdict in _verdicts_of(decoded, case)
    ]
    if not rows:
        return None
    more = sum(len(decoded.answer.verdicts) for decoded in case.answers) - len(rows)
    headings = ("Model", "Metric", "Item", "Verdict", "Quote", "By")
    label = f"Verdicts ({len(rows)})"
    note = tag("p", f"{more} more not shown.", class_="note") if more else None
    return collapsible(label, table(headings, rows, "Verdicts of this case", "verdicts"), note)


def _verdict_row(who: str, verdict: Verdict, place: int, names: set[str]) -> Html:
    word = plain(verdict.verdict or "", 80).replace("_", " ")
    if verdict.value is not None:
        word = f"{word} {show(verdict.value)}".strip()
    about = plain(f"{verdict.item} {verdict.text}".strip(), 200)
    quote: Child = _quotation(verdict.quote, 300) if verdict.quote else None
    if verdict.source in names:
        content = quote or plain(verdict.source, 20)
        quote = tag("a", content, href=f"#case-{place}-{verdict.source}")
    by = plain(verdict.by, 60) + (" (estimate)" if verdict.approximate else "")
    note = tag("small", plain(verdict.note, 300)) if verdict.note else None
    metric = verdict.metric.partition(".")[2] or verdict.metric
    return row(who, (plain(metric, 60), about, join(word, note), quote, by))
