"""One case: transcript with evidence, the expected outcome next to each model's, verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from callscore.core.case import Turn, turns
from callscore.core.judging import Verdict
from callscore.report.details.answers import ReadAnswer, ReadCase, is_answered, objects
from callscore.report.details.compared import Compared, Field, compared
from callscore.report.details.evidence import GOLD, Quote, Span, quoted, spans, turn_name
from callscore.report.details.plans import plan_of
from callscore.report.html.answers_sections import model_plan
from callscore.report.html.parts import chip, figure, folded, name, row, table
from callscore.report.markup import Child, Html, join, tag, text
from callscore.report.numbers import show, show_count, show_money
from callscore.report.safe_text import plain
from callscore.report.svg.plan_graph import plan_graph

LONGEST_VALUE = 1_500
LONGEST_REPLY = 4_000
LONGEST_TURN = 5_000
MOST_TURNS = 600
MOST_VERDICTS = 240
"""Verdicts shown of a case, shared by its answers."""
SCORES_SHOWN = 5


def case_html(case: ReadCase, place: int, *, with_text: bool = True) -> Html:
    """A case that opens on request; `place` is its number in the data."""
    found = case.view.case
    body = [_transcript(case, place), _answers(case, place)] if with_text else [_scores_only(case)]
    return tag(
        "details",
        tag(
            "summary",
            tag("span", plain(found.id, 80), class_="id"),
            chip(plain(found.task, 30)),
            chip(plain(found.lang, 20)) if found.lang else None,
            [chip(plain(one, 30)) for one in case.tags[:4]],
            tag("span", _summary(case), class_="scores"),
        ),
        tag("div", body, class_="body"),
        class_="case",
        id=f"case-{place}",
    )


def _summary(case: ReadCase) -> Iterator[Child]:
    for read in case.answers[:SCORES_SHOWN]:
        yield tag("span", f"{plain(_who(read, case), 24)} ", _score(read), class_="score")
    more = len(case.answers) - SCORES_SHOWN
    if more > 0:
        yield tag("span", f"and {more} more", class_="quiet")


def _score(read: ReadAnswer) -> Html:
    result = read.answer.result
    if result.score is not None:
        return tag("b", show(result.score))
    return tag("b", result.status.replace("_", " "), class_=_tone(result.status))


def _tone(status: str) -> str:
    return "blocked" if status == "invalid" else "quiet"


def _who(read: ReadAnswer, case: ReadCase) -> str:
    """The model, with the number of the run where models answered more than once."""
    answer = read.answer
    return f"{answer.model} · run {answer.run}" if case.has_repeats else answer.model


def _verdicts_of(read: ReadAnswer, case: ReadCase) -> Sequence[Verdict]:
    """As many verdicts on an answer as are shown."""
    return read.answer.verdicts[: max(12, MOST_VERDICTS // max(1, len(case.answers)))]


def _scores_only(case: ReadCase) -> Html:
    return table(
        ("Model", "Status", "Score", "Reasons"),
        [
            row(
                name(_who(read, case)),
                (read.answer.result.status, _score(read), plain("; ".join(_codes(read)), 300)),
            )
            for read in case.answers
        ],
        "Scores",
    )


def _transcript(case: ReadCase, place: int) -> Html:
    said = turns(case.view.case.transcript)
    marked, lost = spans(said[:MOST_TURNS], list(_quotes(case)))
    lines = [
        _turn(turn, number, found, place)
        for number, (turn, found) in enumerate(zip(said, marked, strict=False))
    ]
    left = len(said) - len(lines)
    missing = [
        tag(
            "li", f"{name(quote.who)}, {plain(quote.about, 80)}: ", tag("q", plain(quote.text, 200))
        )
        for quote in lost[:20]
        if quote.who != GOLD
    ]
    return tag(
        "div",
        tag("h3", "Transcript"),
        tag("ol", lines, class_="turns"),
        tag("p", f"{show_count(left, 'more turn')} not shown.", class_="note") if left else None,
        folded("Quotes that are not in the transcript", tag("ul", missing)) if missing else None,
        _instructions(case),
        class_="transcript",
    )


def _instructions(case: ReadCase) -> Html | None:
    """The instructions and tools in the prompt besides the transcript, if the case has them."""
    config = case.view.case.config
    instructions, tools = config.get("instructions"), config.get("tools")
    parts: list[Child] = []
    if isinstance(instructions, str) and instructions:
        parts.append(tag("pre", _cut(instructions, LONGEST_REPLY), dir="auto"))
    if isinstance(tools, (list, tuple)) and tools:
        parts.append(tag("p", "Tools: ", plain(", ".join(map(str, tools)), LONGEST_VALUE)))
    return folded("Instructions and tools", parts) if parts else None


def _quotation(words: str, longest: int) -> Html:
    return tag("q", plain(words, longest), dir="auto")


def _quotes(case: ReadCase) -> Iterator[Quote]:
    for expected in objects(case.expected.get("questions")):
        about = str(expected.get("question_id", ""))
        for words in quoted(str(expected.get("reason", ""))):
            yield Quote(words, GOLD, about)
    for read in case.answers:
        for verdict in _verdicts_of(read, case):
            if verdict.quote:
                yield Quote(verdict.quote, read.answer.model, verdict.item, verdict.source)


def _turn(turn: Turn, number: int, found: Sequence[Span], place: int) -> Html:
    said = turn.text[:LONGEST_TURN]
    parts: list[Child] = []
    at = 0
    for span in found:
        if span.end > len(said):
            break
        who = dict.fromkeys(f"{name(quote.who)} {plain(quote.about, 40)}" for quote in span.quotes)
        kind = " ".join(sorted({"gold" if quote.who == GOLD else "model" for quote in span.quotes}))
        sentence = "; ".join(list(who)[:8])
        parts += [
            said[at : span.start],
            tag("mark", said[span.start : span.end], title=sentence, class_=kind),
        ]
        at = span.end
    parts.append(said[at:])
    cut = len(turn.text) - len(said)
    return tag(
        "li",
        tag("span", _clock(turn.start), class_="at") if turn.start is not None else None,
        tag("b", plain(turn.speaker, 40)) if turn.speaker else None,
        " ",
        tag("span", parts, dir="auto"),
        f" … {cut} more characters" if cut > 0 else None,
        id=f"case-{place}-{plain(turn_name(turn, number), 20)}",
    )


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes:02d}:{rest:02d}"


def _answers(case: ReadCase, place: int) -> Html:
    return tag(
        "div",
        tag("h3", "Expected and given"),
        _comparison(case),
        _plans(case),
        [_unread(read, case) for read in case.answers if read.given is None and read.answer.text],
        _measures(case),
        _verdicts(case, place),
        class_="answers",
    )


def _comparison(case: ReadCase) -> Html:
    rows = compared(case.expected, [read.given for read in case.answers])
    asked = {
        f"questions {one.get('question_id')} · score": str(one.get("question", ""))
        for one in objects(case.view.case.config.get("questions"))
    }
    headings = ["Field", "Expected", *(_heading(read, case) for read in case.answers)]
    return table(
        headings,
        [_compared_row(one, asked.get(one.label, "")) for one in rows],
        f"Expected and given, {plain(case.view.case.id, 80)}",
        "compared",
    )


def _heading(read: ReadAnswer, case: ReadCase) -> Html:
    reasons = _reasons(read)
    return join(
        name(_who(read, case)),
        " ",
        _score(read),
        tag("small", plain("; ".join(reasons), 300)) if reasons else None,
    )


def _reasons(read: ReadAnswer) -> list[str]:
    result = read.answer.result
    error = [read.answer.error] if read.answer.error else []
    if not read.answer.differences:
        return [*_codes(read), *error]
    return list(dict.fromkeys([*read.answer.differences, *result.flags, *error]))


def _codes(read: ReadAnswer) -> list[str]:
    """The reasons without any value that was said or answered."""
    result = read.answer.result
    return list(dict.fromkeys([*result.reasons, *result.flags]))


def _compared_row(found: Compared, asked: str) -> Html:
    cells = [tag("td", _cut(found.expected), dir="auto", class_="expected")]
    cells += [_field(one) for one in found.given]
    label = plain(found.label.replace("_", " "), 120)
    return row(join(label, tag("small", plain(asked, 200)) if asked else None), cells)


def _field(found: Field | None) -> Html:
    if found is None:
        return tag("td", "—", class_="quiet")
    kind = {True: "right", False: "wrong", None: None}[found.same]
    return tag("td", _cut(found.shown), dir="auto", class_=kind)


def _cut(shown: str, longest: int = LONGEST_VALUE) -> Html:
    more = len(shown) - longest
    if more <= 0:
        return text(shown)
    return join(shown[:longest], tag("small", f"… {more} more characters"))


def _plans(case: ReadCase) -> Html | None:
    expected = plan_of(case.expected)
    if expected is None:
        return None
    drawn = [figure(plan_graph("Expected plan", expected), tag("b", "Expected"))]
    drawn += [
        model_plan(_who(read, case), plan_of(read.given), expected)
        for read in case.answers
        if is_answered(read)
    ]
    return tag("div", drawn, class_="pictures")


def _unread(read: ReadAnswer, case: ReadCase) -> Html:
    label = f"Reply of {name(_who(read, case))}, as it came"
    return folded(label, tag("pre", _cut(read.answer.text or "", LONGEST_REPLY), dir="auto"))


def _measures(case: ReadCase) -> Html | None:
    slugs = dict.fromkeys(slug for read in case.answers for slug in read.answer.result.metrics)
    if not slugs:
        return None
    rows = [
        row(
            plain(slug, 60),
            [_measure(read.answer.result.metrics.get(slug)) for read in case.answers],
        )
        for slug in slugs
    ]
    costs = [read.answer.cost_usd for read in case.answers]
    if any(cost is not None for cost in costs):
        rows.append(row("cost", ["—" if cost is None else show_money(cost) for cost in costs]))
    headings = ["Measure", *(name(_who(read, case)) for read in case.answers)]
    return folded("Measures", table(headings, rows, "Measures of this case"))


def _measure(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.4g}"


def _verdicts(case: ReadCase, place: int) -> Html | None:
    names = {
        turn_name(turn, number)
        for number, turn in enumerate(turns(case.view.case.transcript)[:MOST_TURNS])
    }
    rows = [
        _verdict_row(name(_who(read, case)), verdict, place, names)
        for read in case.answers
        for verdict in _verdicts_of(read, case)
    ]
    if not rows:
        return None
    more = sum(len(read.answer.verdicts) for read in case.answers) - len(rows)
    headings = ("Model", "Metric", "Item", "Verdict", "Quote", "By")
    label = f"Verdicts ({len(rows)})"
    note = tag("p", f"{more} more not shown.", class_="note") if more else None
    return folded(label, table(headings, rows, "Verdicts of this case", "verdicts"), note)


def _verdict_row(who: str, verdict: Verdict, place: int, names: set[str]) -> Html:
    said = plain(verdict.verdict or "", 80).replace("_", " ")
    if verdict.value is not None:
        said = f"{said} {show(verdict.value)}".strip()
    about = plain(f"{verdict.item} {verdict.text}".strip(), 200)
    quote: Child = _quotation(verdict.quote, 300) if verdict.quote else None
    if verdict.source in names:
        shown = quote or plain(verdict.source, 20)
        quote = tag("a", shown, href=f"#case-{place}-{verdict.source}")
    by = plain(verdict.by, 60) + (" (estimate)" if verdict.approximate else "")
    note = tag("small", plain(verdict.note, 300)) if verdict.note else None
    metric = verdict.metric.partition(".")[2] or verdict.metric
    return row(who, (plain(metric, 60), about, join(said, note), quote, by))
