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

from bench.judge_calls import SAMPLES, Answered
from callscore.judges.prompt import Composer, Request
from callscore.judges.rubric import CANNOT_TELL, shipped
from callscore.judges.sheet import Asked, sort_questions

AIM = 5
KEPT = Path(__file__).with_name("deepeval-4.3.1.json")
ENCODING = "o200k_base"
CHARACTERS_A_TOKEN = 4
STRICT_EVERY, STRICT_TURNS_EVERY = 5, 2
"""One item in five, and every other turn, gets the strictest word of its rubric; the rest get the
kindest, which needs most quoting."""
OF_TURNS = ("needed", "used")
QUOTE = "and then the agent says that it will be refunded today"


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
    def name(self) -> str:
        return f"{self.sample}{' + benchmarks' if self.benchmarks else ''}"


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
    Row("translation", False, ("translation",), ("translation_by_g_eval",)),
)


def main() -> None:
    print(f"tokens: {_counting()}; DeepEval: {_deepeval()}\n")
    calls = {name: list(make()) for name, make in SAMPLES.items()}
    for name, answered in calls.items():
        if answered:
            print(f"{name:14} {len(answered)} calls, tokens of transcript: {_spread(answered)}")
    print(f"\n{'':28}{'ours':>20}{'DeepEval, item by item':>36}{'one G-Eval a measure':>34}")
    for row in ROWS:
        if calls[row.sample]:
            _report(row, calls[row.sample])


def ours(answered: Answered, *, benchmarks: bool, of_case: bool = True) -> Cost:
    """What judging one answer takes; with benchmarks, what its case takes once for all answers."""
    composer = Composer(shipped())
    made = [
        request
        for dossier in answered.dossiers(benchmarks=benchmarks)[: None if of_case else 1]
        for request in composer.requests(dossier, sort_questions(dossier, shipped()).asked)
    ]
    sent = (tokens(message.content) for request in made for message in request.prompt.messages)
    schemas = (tokens(_compact(request.prompt.schema)) for request in made)
    return Cost(len(made), sum(sent) + sum(schemas), sum(tokens(answer(one)) for one in made))


def answer(request: Request) -> str:
    """An answer to a request, as long as a careful one would be."""
    items = [
        _entry(key, asked, number)
        for number, (key, asked) in enumerate(request.sheet.items(), start=1)
    ]
    return _compact({"items": items})


def _entry(key: str, asked: Asked, number: int) -> Mapping[str, str]:
    words = [word for word in asked.rubric.words if word != CANNOT_TELL]
    every = STRICT_TURNS_EVERY if asked.rubric.name in OF_TURNS else STRICT_EVERY
    word = words[0 if number % every else -1]
    places = asked.rubric.evidence.get(word)
    quote = QUOTE if places else ""
    source = {"turn": "t12", "field": "ref:summary.highlights[1]", "answer": "answer"}
    where = source[places[0]] if places else "none"
    return {"id": key, "quote": quote, "source": where, "verdict": word}


def theirs(answered: Answered, measures: Iterable[str]) -> Cost:
    """What DeepEval's code sends and is answered."""
    from bench import deepeval_requests

    sent = [one for name in measures for one in getattr(deepeval_requests, name)(answered)]
    read = sum(tokens(one.prompt) + tokens(one.schema) for one in sent)
    return Cost(len(sent), read, sum(tokens(one.answer) for one in sent))


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


def _report(row: Row, calls: Sequence[Answered]) -> None:
    us = _mean(ours(one, benchmarks=row.benchmarks) for one in calls)
    them = [deepeval_cost(row, calls, lean=lean) for lean in (False, True)]
    _line(row.name, us, them)
    if row.benchmarks:
        further = _mean(ours(one, benchmarks=True, of_case=False) for one in calls)
        _line("  each further answer", further, them)


def _line(name: str, us: Cost, them: Sequence[Cost]) -> None:
    beside = "".join(_beside(cost, us.tokens / cost.tokens) for cost in them)
    print(f"{name:28}{_shown(us)}{beside}")


def deepeval_cost(row: Row, calls: Sequence[Answered], *, lean: bool) -> Cost:
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


def _spread(calls: Sequence[Answered]) -> str:
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
