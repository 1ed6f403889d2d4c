"""Calls with answers of which code can decide nothing: what a judge is asked in the worst case."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from bench.labelled import labelled
from bench.measuring import sized
from callscore.core.case import Case, Malformed, Reply, Turn, turns
from callscore.core.judging import JudgeRequest
from callscore.evaluate.judging import judge_request_of
from callscore.suites.calls.benchmarks.layer import CallBenchmarks
from callscore.suites.calls.spec import make_settings
from callscore.suites.calls.structure import split_sentences
from callscore.suites.registry import Catalog

CALLS = sized(100, 2)
MOST_HIGHLIGHTS, MOST_QUESTIONS = 6, 10
SHORTEST_SENTENCE = 40


class ProviderResponse(NamedTuple):
    """A call, and an answer in other words than the human's."""

    case: Case
    answer: Mapping[str, Any]

    @property
    def transcript(self) -> str:
        """The call as people show it to a model: who says what."""
        spoken = turns(self.case.transcript)
        return "\n".join(f"{turn.speaker}: {turn.text}" for turn in spoken)

    def judge_requests(self, *, benchmarks: bool) -> Sequence[JudgeRequest]:
        """What a judge is shown: once for the answer and, with benchmarks, once for the case."""
        task = Catalog().tasks()[self.case.task]
        reference = task.reference(self.case)
        reply = Reply(json.dumps(self.answer))
        output = task.read(reference, reply)
        assert not isinstance(output, Malformed), output
        asked = list(task.ask(reference, output))
        frozen: Sequence[Any] = ()
        if benchmarks:
            layer = CallBenchmarks(make_settings())
            asked += layer.ask(layer.view(self.case, reference, output, reply))
            frozen = layer.ask_case(self.case)
        return [
            judge_request_of(self.case, worded, reply if questions is asked else None)
            for questions in (asked, frozen)
            if (worded := [question for question in questions if question.offered])
        ]


def short_summaries() -> Iterator[ProviderResponse]:
    """Bank calls of about a minute, with the summaries of their data set."""
    for case in _cases("text_harper"):
        answer = json.loads(json.dumps(case.expected_outcome))
        summary = answer["summary"]
        summary["call_purpose"] = _reworded(summary["call_purpose"])
        summary["highlights"] = [_reworded(text) for text in summary["highlights"]]
        fields = summary["call_extracted_info"]
        summary["call_extracted_info"] = {name: _reworded(text) for name, text in fields.items()}
        yield ProviderResponse(case, answer)


def sales_summaries() -> Iterator[ProviderResponse]:
    """Sales calls; purpose and highlights are the sentences of the summaries."""
    for case in _cases("summary_judge_summedits_salescall"):
        (reference,) = case.expected_outcome["reference_summaries"]
        given = [_reworded(text) for text in split_sentences(case.model_output["summary"])]
        yield _summarised(case, list(split_sentences(reference)), given)


def talk_summaries() -> Iterator[ProviderResponse]:
    """Airline contacts, what was said alone; highlights are sentences of the agent."""
    return map(_recounted, _talks())


def long_summaries() -> Iterator[ProviderResponse]:
    """The same contacts with all that the agent looked up and did."""
    return map(_recounted, _cases("qa_tau_airline"))


def _recounted(case: Case) -> ProviderResponse:
    spoken = [*_said(case, "customer")[:1], *_said(case, "agent")[: MOST_HIGHLIGHTS - 1]]
    return _summarised(case, spoken, [_reworded(text) for text in spoken])


def short_forms() -> Iterator[ProviderResponse]:
    """Bank calls of about a minute, forms of two or three questions."""
    return _forms("qa_harper_record")


def step_forms() -> Iterator[ProviderResponse]:
    """Written service dialogues with forms of about eight questions."""
    return _forms("qa_star_flow")


def talk_forms() -> Iterator[ProviderResponse]:
    """Airline contacts, what was said alone, with a form of up to ten questions."""
    return map(_examined, _talks())


def long_forms() -> Iterator[ProviderResponse]:
    """The same contacts with all that the agent looked up and did."""
    return map(_examined, _cases("qa_tau_airline"))


def _examined(case: Case) -> ProviderResponse:
    said = _all_said(case, "agent")[:MOST_QUESTIONS]
    form = [
        {
            "question_id": f"Q{number}",
            "score": 1,
            "max_score": 1,
            "type": "PASS_FAIL",
            "reason": f'The agent says: "{text}"',
        }
        for number, text in enumerate(said, start=1)
    ]
    asked = [
        {"question_id": f"Q{number}", "question": "Did the agent take this step as agreed?"}
        for number, _ in enumerate(said, start=1)
    ]
    changed = {"config": {"questions": asked}, "expected_outcome": {"questions": form}}
    return _marked(msgspec.structs.replace(case, expected_parts=None, **changed))


def translations() -> Iterator[ProviderResponse]:
    """Dialogues with travellers, in four languages."""
    for case in _cases("translation_xrisawoz"):
        answer = json.loads(json.dumps(case.expected_outcome))
        for sentence in answer["sentence_translations"]:
            sentence["translated_text"] = _turned(sentence["translated_text"])
        answer["full_translation"] = "\n".join(
            sentence["translated_text"] for sentence in answer["sentence_translations"]
        )
        yield ProviderResponse(case, answer)


SAMPLES: Mapping[str, Callable[[], Iterator[ProviderResponse]]] = {
    "text, bank": short_summaries,
    "text, sales": sales_summaries,
    "text, talk": talk_summaries,
    "text, contact": long_summaries,
    "qa, bank": short_forms,
    "qa, steps": step_forms,
    "qa, talk": talk_forms,
    "qa, contact": long_forms,
    "translation": translations,
}


def _cases(name: str) -> Iterator[Case]:
    for line in (labelled(f"{name}.jsonl") or ())[:CALLS]:
        yield msgspec.convert(line, type=Case)


def _talks() -> Iterator[Case]:
    for case in _cases("qa_tau_airline"):
        spoken = [turn for turn in turns(case.transcript) if turn.speaker in ("agent", "customer")]
        yield msgspec.structs.replace(case, transcript=spoken)


def _said(case: Case, speaker: str) -> list[str]:
    """The first sentence that says something of every turn of a speaker."""
    spoken = [turn for turn in turns(case.transcript) if turn.speaker == speaker]
    first = [_most_informative(turn)[:1] for turn in spoken]
    return list(dict.fromkeys(text for found in first for text in found))


def _all_said(case: Case, speaker: str) -> list[str]:
    """Every sentence of a speaker that says something."""
    spoken = [turn for turn in turns(case.transcript) if turn.speaker == speaker]
    return list(dict.fromkeys(text for turn in spoken for text in _most_informative(turn)))


def _most_informative(turn: Turn) -> list[str]:
    return [text for text in split_sentences(turn.text) if len(text) >= SHORTEST_SENTENCE]


def _forms(name: str) -> Iterator[ProviderResponse]:
    return map(_marked, _cases(name))


def _marked(case: Case) -> ProviderResponse:
    questions = case.expected_outcome["questions"]
    given = [{**question, "reason": _reworded(question["reason"])} for question in questions]
    return ProviderResponse(case, {"questions": given})


def _summarised(case: Case, expected: Sequence[str], given: Sequence[str]) -> ProviderResponse:
    def summary(texts: Sequence[str]) -> dict[str, Any]:
        told = {"call_purpose": texts[0], "highlights": list(texts[1:] or texts)}
        return {"summary": {**told, "call_extracted_info": {}}}

    changed = msgspec.structs.replace(
        case,
        task="text",
        config={},
        expected_outcome=summary(expected),
        expected_parts={"sentiment": "absent", "emotion": "absent"},
    )
    return ProviderResponse(changed, summary(given))


def _reworded(text: str) -> str:
    """The same, said so that no comparison by code holds."""
    return f"It was said: {text}"


def _turned(text: str) -> str:
    """A sentence with its first word last."""
    first, _, rest = text.partition(" ")
    return f"{rest} {first}" if rest else f"{first} {first}"
