"""Scoring stored outputs without a judge: cases per CPU second, and memory from 1k to 100k cases.

Three workloads, all with the four tasks mixed, the case results written and the scorecard as JSON.
*Brief* calls are as small as a case can be: one question, one entity, one sentence, one fact.
*Short* calls are one or two sentences long. *Sample* calls are the bundled ones with the answers of
one sample model, repeated under new ids: 8 to 16 turns in three languages. The floor beside them
reads the same files, computes a token F1 and writes one line a case, with nothing checked.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

from bench.measuring import best_of, usage_of

Json = dict[str, Any]

MODEL = "sample-large"
CASES = 10_000
TASKS = ("qa", "entity", "text", "translation")
FLOOR = """
import json, sys
cases, outputs, results = sys.argv[1:]
with open(cases) as c, open(outputs) as o, open(results, "w") as r:
    for case_line, output_line in zip(c, o):
        case, output = json.loads(case_line), json.loads(output_line)
        expected = set(json.dumps(case["expected_outcome"]).split())
        given = set(output["output"].split())
        same = len(expected & given)
        score = 2 * same / (len(expected) + len(given))
        r.write(json.dumps({"id": case["id"], "score": score}) + "\\n")
"""


def brief_records(number: int) -> tuple[Json, Json]:
    """One case of a task in turn with one item of everything, and an answer nearly right."""
    task = TASKS[number % len(TASKS)]
    expected: Json
    if task == "qa":
        item = {"question_id": "Q1", "max_score": 5, "type": "SCORE", "reason": "She says hello."}
        expected = {"questions": [{**item, "score": 5}]}
        answer: Json = {"questions": [{**item, "score": 4}]}
    elif task == "entity":
        expected = {
            "detected_keywords": ["refund"],
            "detected_topics": ["billing"],
            "valid_entity_set": ["refund", "billing", "card"],
        }
        answer = {**expected, "detected_keywords": ["refund", "card"]}
    elif task == "text":
        sentence = {"sentence_id": 1, "text": "I want a refund."}
        expected = {
            "sentiment": [{**sentence, "label": "negative"}],
            "summary": {
                "call_purpose": "refund",
                "highlights": ["wants a refund"],
                "call_extracted_info": {"amount": f"${number}"},
            },
            "emotion": {"anger": 60, "neutral": 40},
        }
        answer = {**expected, "sentiment": [{**sentence, "label": "neutral"}]}
    else:
        pair = {"source_id": 1, "source_text": f"Quiero {number} euros"}
        rest: Json = {"domain_terms_handled": [], "named_entities_handled": []}
        human, other = f"I want {number} euros", f"I would like {number} euros"
        expected, answer = (
            {
                "full_translation": text,
                "sentence_translations": [{**pair, "translated_text": text}],
                **rest,
            }
            for text in (human, other)
        )
    case = {
        "id": f"case-{number}",
        "task": task,
        "transcript": "I want a refund.",
        "config": {"target_language": "en"},
        "expected_outcome": expected,
    }
    return case, {"case_id": case["id"], "model": MODEL, "output": json.dumps(answer)}


def short_records(number: int) -> tuple[Json, Json]:
    """One short case of a task in turn, and an answer that is right in most respects."""
    task = TASKS[number % len(TASKS)]
    words = f"word{number % 97}", f"word{number % 89}"
    said = f"Agent: Good morning, this is {words[0]}. Customer: I want a refund of ${number}."
    expected: Json
    if task == "qa":
        items = [
            {
                "question_id": f"Q{i}",
                "score": 5,
                "max_score": 5,
                "type": "PASS_FAIL",
                "reason": said,
            }
            for i in (1, 2)
        ]
        expected = {"questions": items}
        answer: Json = {"questions": [items[0], {**items[1], "score": 0, "reason": ""}]}
    elif task == "entity":
        expected = {
            "detected_keywords": ["refund", words[0]],
            "detected_topics": ["billing"],
            "valid_entity_set": ["refund", "billing", *words],
        }
        answer = {**expected, "detected_keywords": ["refund", words[1]]}
    elif task == "text":
        expected = {
            "sentiment": [
                {"sentence_id": i, "text": said, "label": "neutral"} for i in range(1, 4)
            ],
            "summary": {
                "call_purpose": f"refund of ${number}",
                "highlights": [f"refund {words[0]}"],
                "call_extracted_info": {"name": words[0]},
            },
            "emotion": {"anger": 60, "neutral": 40},
        }
        answer = {**expected, "emotion": {"anger": 10, "neutral": 90}}
    else:
        sentence = {
            "source_id": 1,
            "source_text": f"Quiero {words[0]}, {number} euros",
            "translated_text": f"I want {words[0]}, {number} euros",
        }
        expected = {
            "full_translation": sentence["translated_text"],
            "sentence_translations": [sentence],
            "domain_terms_handled": [{"term": words[0], "handled_as": words[0]}],
            "named_entities_handled": [],
        }
        other = {**sentence, "translated_text": f"I would like {words[0]}, {number} euros"}
        answer = {**expected, "sentence_translations": [other]}
    case = {
        "id": f"case-{number}",
        "task": task,
        "transcript": said,
        "config": {"target_language": "en"},
        "expected_outcome": expected,
    }
    return case, {"case_id": case["id"], "model": MODEL, "output": json.dumps(answer)}


def sample_records() -> Callable[[int], tuple[Json, Json]]:
    """The bundled sample, repeated, each time under its own id."""
    sample = resources.files("callscore.demo").joinpath("calls")

    def records(name: str) -> list[Json]:
        text = sample.joinpath(f"{name}.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    originals = records("cases")
    answers = {r["case_id"]: r for r in records("outputs") if r["model"] == MODEL}

    def numbered(number: int) -> tuple[Json, Json]:
        case = originals[number % len(originals)]
        new_id = f"{case['id']}#{number}"
        return {**case, "id": new_id}, {**answers[case["id"]], "case_id": new_id}

    return numbered


def write_workload(
    folder: Path, name: str, cases: int, records: Callable[[int], tuple[Json, Json]]
) -> tuple[Path, Path]:
    """So many cases and their outputs, in two files."""
    paths = folder / f"{name}-cases-{cases}.jsonl", folder / f"{name}-outputs-{cases}.jsonl"
    with paths[0].open("w", encoding="utf-8") as c, paths[1].open("w", encoding="utf-8") as o:
        for number in range(cases):
            case, answer = records(number)
            c.write(json.dumps(case, ensure_ascii=False) + "\n")
            o.write(json.dumps(answer, ensure_ascii=False) + "\n")
    return paths


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results = str(folder / "results.jsonl")
        ours = [sys.executable, "-m", "callscore", "score", "--results", results, "--json", "-"]
        workloads = ("brief", brief_records), ("short", short_records), ("sample", sample_records())
        for kind, records in workloads:
            cases, outputs = write_workload(folder, kind, CASES, records)
            size = (cases.stat().st_size + outputs.stat().st_size) / CASES
            scored = best_of(3, [*ours, str(cases), "--outputs", str(outputs)]).cpu_seconds
            command = [sys.executable, "-c", FLOOR, str(cases), str(outputs), results]
            floor = best_of(3, command).cpu_seconds
            print(f"{kind} calls, {size:,.0f} bytes a case and output, {CASES:,} of them")
            print(f"  ours              {CASES / scored:10,.0f} cases a CPU second, start included")
            print(f"  floor (token F1)  {CASES / floor:10,.0f} cases a CPU second")
            print(f"  ours / floor      {scored / floor:10.2f}")
        peaks = []
        for number in (1_000, 100_000):
            cases, outputs = write_workload(folder, "short", number, short_records)
            peaks.append(usage_of([*ours, str(cases), "--outputs", str(outputs)]).peak_mb)
            print(f"peak memory, {number:>7,} cases {peaks[-1]:8.1f} MB")
        print(f"growth from 1k to 100k      {peaks[1] - peaks[0]:8.1f} MB")
