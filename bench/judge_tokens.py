"""Requests and tokens of the judge a case, beside what DeepEval sends for the same measures.

Ours are counted from the requests that the code builds. DeepEval's are counted from its own code
before a scripted model where `deepeval` is installed, else taken from `KEPT`. Tokens are those of
`tiktoken` where its vocabulary can be had, else four characters each, on both sides alike.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import fmean, quantiles
from typing import NamedTuple

from bench.judge_calls import SAMPLES, ProviderResponse
from callscore.judges.evidence import QuoteSources, leaves_of, text_of
from callscore.judges.judge_items import JudgeItem, sort_questions
from callscore.judges.judge_prompt import Composer, JudgePrompt, entry_keys
from callscore.judges.judge_reply import parse_answer
from callscore.judges.rubric import CANNOT_TELL, Place, built_in_library
from callscore.metrics.text import is_word_char

AIM = 5
KEPT = Path(__file__).with_name("deepeval-4.3.1.json")
ENCODING = "o200k_base"
CHARACTERS_A_TOKEN = 4
STRICT_EVERY, STRICT_TURNS_EVERY = 5, 2
"""One item in five, and every other turn, gets the strictest word of its rubric; the rest get the
kindest, which needs most quoting."""
TRANSLATION = "translation"
OF_TURNS = ("needed", "used")
QUOTE_LENGTH = 54
"""Characters of a quote; where the text is shorter, all of it."""


class Cost(NamedTuple):
    """Requests, and tokens of what is sent and of what is answered."""

    requests: float
    sent: float
    answered: float

    @property
    def tokens(self) -> float:
        return self.sent + self.answered


class Row(NamedTuple):
    """A set of measures: its calls, whether benchmarks are asked, DeepEval's ways to the same."""

    sample: str
    benchmarks: bool
    items: Sequence[str]
    leanest: Sequence[str]

    @property
    def is_full(self) -> bool:
        """Whether it holds all that is asked of an answer of its task."""
        return self.benchmarks or self.sample == TRANSLATION

    @property
    def name(self) -> str:
        return f"{self.sample}{' + benchmarks' if self.benchmarks else ''}"


MODELS = 3
TEXT, LEAN_TEXT = ("text",), ("text_by_g_eval",)
QA, LEAN_QA = ("qa",), ("qa_by_g_eval",)
TEXTS, FORMS = ("bank", "sales", "talk", "contact"), ("bank", "steps", "talk", "contact")
ROWS = (
    *(Row(f"text, {calls}", False, TEXT, LEAN_TEXT) for calls in TEXTS),
    *(
        Row(
            f"text, {calls}", True, (*TEXT, "text_benchmarks"), (*LEAN_TEXT, "text_benchmarks_lean")
        )
        for calls in TEXTS
    ),
    *(Row(f"qa, {calls}", False, QA, LEAN_QA) for calls in FORMS),
    *(
        Row(f"qa, {calls}", True, (*QA, "qa_benchmarks"), (*LEAN_QA, "qa_benchmarks_lean"))
        for calls in FORMS
    ),
    Row(TRANSLATION, False, ("translation",), ("translation_by_g_eval",)),
)


def main() -> None:
    print(f"tokens: {_counting()}; DeepEval: {_deepeval()}\n")
    calls = {name: list(make()) for name, make in SAMPLES.items()}
    for name, answered in calls.items():
        if answered:
            print(f"{name:14} {len(answered)} calls, tokens of transcript: {_spread(answered)}")
    print(f"\n{'':28}{'ours':>20}{'DeepEval, item by item':>36}{'one G-Eval a measure':>34}")
    measured = [_measured(row, calls[row.sample]) for row in ROWS if calls[row.sample]]
    for one in measured:
        _line(one.row.name, one.first, one.beside)
        if one.row.benchmarks:
            _line("  each further answer", one.further, one.beside)
    _report_full([one for one in measured if one.row.is_full])


class Measured(NamedTuple):
    """The mean cost of a row: the first answer of a call, each further one, and DeepEval's."""

    row: Row
    first: Cost
    further: Cost
    beside: Sequence[Cost]


def _measured(row: Row, calls: Sequence[ProviderResponse]) -> Measured:
    asks = row.benchmarks
    return Measured(
        row,
        _mean(ours(one, benchmarks=asks) for one in calls),
        _mean(ours(one, benchmarks=asks, of_case=False) for one in calls),
        [deepeval_cost(row, calls, lean=lean) for lean in (False, True)],
    )


def _report_full(rows: Sequence[Measured]) -> None:
    """The sum over the rows of a full evaluation: all measures of every task, benchmarks too."""
    if not rows:
        return
    print("\na full evaluation: the rows with benchmarks and translation, one mean call each")
    beside = [_sum(one.beside[kind] for one in rows) for kind in range(2)]
    _line("one answer", _sum(one.first for one in rows), beside)
    each = [_mean([one.first, *[one.further] * (MODELS - 1)]) for one in rows]
    _line(f"each of {MODELS} models' answers", _sum(each), beside)


def ours(answered: ProviderResponse, *, benchmarks: bool, of_case: bool = True) -> Cost:
    """What judging one answer takes; with benchmarks, what its case takes once for all answers."""
    composer = Composer(built_in_library())
    made = [
        request
        for judge_request in answered.judge_requests(benchmarks=benchmarks)[
            : None if of_case else 1
        ]
        for request in composer.compose(
            judge_request, sort_questions(judge_request, built_in_library()).asked
        )
    ]
    sent = (tokens(message.content) for request in made for message in request.prompt.messages)
    schemas = (tokens(_compact(request.prompt.schema)) for request in made)
    replies = (tokens(answer(one)) for one in made)
    return Cost(len(made), sum(sent) + sum(schemas), sum(replies))


def answer(request: JudgePrompt) -> str:
    """An answer to a request that its reader accepts, as long as a careful one would be."""
    items = [
        {"id": key, **_entry(asked, number, request)}
        for number, (key, asked) in enumerate(request.items.items(), start=1)
    ]
    text = json.dumps({"items": items}, ensure_ascii=False)
    assert parse_answer(text, request).is_clean, parse_answer(text, request).problems()
    return text


def _entry(asked: JudgeItem, number: int, request: JudgePrompt) -> Mapping[str, str]:
    word, sources = _word(asked, number), request.sources
    places = asked.rubric.evidence.get(word)
    told = {
        "expected_outcome_field": _field(sources.expected_fields, number),
        "model_output_field": _field(sources.output_fields, number),
        "quote": "",
        "quote_from": "none",
        "verdict": word,
    }
    if places:
        source, text = _passage(places[0], asked, number, sources)
        told |= {"quote": _quoted(text), "quote_from": source}
        if places[0] == "field":
            leaf = next(
                path for path, held in sources.expected_fields.items() if text_of(held) == text
            )
            told["expected_outcome_field"] = leaf
    keys = entry_keys(has_answer=sources.output is not None)
    return {key: value for key, value in told.items() if key in keys}


def _field(fields: Mapping[str, object], number: int) -> str:
    """One of the fields that hold a text themselves, another for every item."""
    longest = sorted(fields, key=lambda path: path.count(".") + path.count("["))[
        -len(fields) // 2 :
    ]
    return longest[number % len(longest)] if longest else "none"


def _word(asked: JudgeItem, number: int) -> str:
    if asked.canary is not None:
        return asked.canary.verdicts[0]
    words = [word for word in asked.rubric.words if word != CANNOT_TELL]
    every = STRICT_TURNS_EVERY if asked.rubric.name in OF_TURNS else STRICT_EVERY
    return words[0 if number % every else -1]


def _passage(place: Place, asked: JudgeItem, number: int, sources: QuoteSources) -> tuple[str, str]:
    """One of the texts that may be quoted, another for every item."""
    if place == "answer":
        lines = [("model_output", line) for line in asked.own_texts.answer.split("\n")]
    elif place == "claim":
        lines = [("the claim", asked.text)]
    elif place == "field":
        texts = [text for text in leaves_of(sources.expected) if text]
        lines = [("expected_outcome", text) for text in texts]
    else:
        turns = [(f"turn {name[1:]}", text) for name, text in sources.turns.items()]
        lines = [turn for turn in turns if len(turn[1]) >= QUOTE_LENGTH]
        lines = lines or [max(turns, key=lambda turn: len(turn[1]))]
    return lines[number % len(lines)]


def _quoted(text: str) -> str:
    """The first words of a text."""
    end = min(len(text), QUOTE_LENGTH)
    while 0 < end < len(text) and is_word_char(text[end]):
        end -= 1
    return text[:end] or text


def theirs(answered: ProviderResponse, measures: Iterable[str]) -> Cost:
    """What DeepEval's code sends and is answered."""
    from bench import deepeval_requests

    sent = [one for name in measures for one in getattr(deepeval_requests, name)(answered)]
    input_tokens = sum(tokens(one.prompt) + tokens(one.schema) for one in sent)
    return Cost(len(sent), input_tokens, sum(tokens(one.answer) for one in sent))


def tokens(text: str) -> int:
    """The length of a text, as models count it."""
    return _counter()(text) if text else 0


@lru_cache(maxsize=1)
def _counter() -> Callable[[str], int]:
    if importlib.util.find_spec("tiktoken") is not None:
        import tiktoken

        try:
            encoding = tiktoken.get_encoding(ENCODING)
        except OSError:  # its vocabulary is fetched from a network that is not there
            pass
        else:
            return lambda text: len(encoding.encode(text, disallowed_special=()))
    return lambda text: -(-len(text) // CHARACTERS_A_TOKEN)


def _counting() -> str:
    return ENCODING if _counter()("supported_by_transcript") < AIM else "4 characters each"


def _deepeval() -> str:
    if importlib.util.find_spec("deepeval") is None:
        return f"as kept in {KEPT.name}"
    import deepeval

    return f"{deepeval.__version__}, its code run"


def _line(name: str, us: Cost, them: Sequence[Cost]) -> None:
    beside = "".join(_beside(cost, us.tokens / cost.tokens) for cost in them)
    print(f"{name:28}{_shown(us)}{beside}")


def deepeval_cost(row: Row, calls: Sequence[ProviderResponse], *, lean: bool) -> Cost:
    """The mean over calls: live, or as kept."""
    if importlib.util.find_spec("deepeval") is None:
        kept = json.loads(KEPT.read_text(encoding="utf-8"))[_counting()]
        return Cost(*kept[row.name]["lean" if lean else "items"])
    measures = row.leanest if lean else row.items
    return _mean(theirs(one, measures) for one in calls)


def keep() -> None:
    """Write DeepEval's figures, so that the table can be had without it."""
    calls = {name: list(make()) for name, make in SAMPLES.items()}
    figures = {
        row.name: {
            kind: [round(value, 1) for value in deepeval_cost(row, calls[row.sample], lean=lean)]
            for kind, lean in (("items", False), ("lean", True))
        }
        for row in ROWS
    }
    known = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    KEPT.write_text(json.dumps({**known, _counting(): figures}, indent=1) + "\n", encoding="utf-8")


def _mean(costs: Iterable[Cost]) -> Cost:
    return Cost(*(fmean(column) for column in zip(*costs, strict=True)))


def _sum(costs: Iterable[Cost]) -> Cost:
    return Cost(*(sum(column) for column in zip(*costs, strict=True)))


def _spread(calls: Sequence[ProviderResponse]) -> str:
    lengths = sorted(tokens(one.transcript) for one in calls)
    tenths = quantiles(lengths, n=10)
    return (
        f"mean {fmean(lengths):.0f}, tenths {tenths[0]:.0f} … {tenths[4]:.0f} … {tenths[8]:.0f}, "
        f"from {lengths[0]} to {lengths[-1]}"
    )


def _shown(cost: Cost) -> str:
    return f"{cost.requests:7.1f}{cost.sent:7.0f} +{cost.answered:5.0f}"


def _beside(cost: Cost, ratio: float) -> str:
    share = f"{ratio:.1f} x" if ratio > 1 else f"1/{1 / ratio:.1f}"
    return f"  |{_shown(cost)}{share:>7}{'' if ratio > 1 / AIM else ' met':4}"


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
