"""C-25, C-130: what is asked is what is scored; each test carries its entry's id."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

import callscore
from builders import Json, entity_case, output, qa_case, question, score, text_case, text_outcome
from calls_suite import all_tasks
from callscore.core.case import Case, Prompt
from callscore.core.provider import ProviderResponse
from callscore.core.scorecard import Scorecard
from callscore.evaluate.cases import NamesInData
from callscore.providers.baseline import BaselineProvider
from callscore.providers.simulated import SimulatedProvider
from callscore.providers.wire_format import fits_output_format
from callscore.suites.registry import noise_of, rules_of
from commands import run
from eval_files import eval_file
from perfect_answers import document, perfect_answer
from shared_cases import BUNDLED, CASES, shared_file
from test_real_data import FILES

SPEC = Path(__file__).parents[3] / "shared" / "spec" / "call-intelligence-v6.md"
RATES = ("percent", "count")


def prompts_of(cases: Sequence[Json], folder: Path) -> list[tuple[Case, Prompt]]:
    """The prompts of a data set, as a run sends them."""
    path = folder / "cases.jsonl"
    path.write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
    known = all_tasks(NamesInData([path]))
    read = [msgspec.convert(case, Case) for case in cases]
    return [(case, known[case.task].prompt(case)) for case in read]


def assert_perfect(card: Scorecard) -> None:
    (model,) = card.models
    assert model.blockers == [] and model.blocked_calls == 0
    for name, task in model.tasks.items():
        assert task.status != "invalid"
        assert task.ungated_score in (None, pytest.approx(1))
        for slug, metric in task.metrics.items():
            if metric.value is not None:
                assert metric.value == (0 if metric.unit in RATES else 1), slug
        if task.n:
            assert task.metrics[f"{name}.structure"].value == 1


def without_config(cases: Iterable[Json]) -> list[Json]:
    return [{**case, "config": {}} for case in cases]


def lines_of(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def samples_of_the_framework() -> list[Json]:
    """The framework's own sample outcomes, each as a case of its own."""
    if not SPEC.is_file():
        pytest.skip("the shared specification is not here")
    blocks = re.findall(r"```json\n(.*?)```", SPEC.read_text(encoding="utf-8"), re.DOTALL)
    keys = {
        "questions": "qa",
        "detected_keywords": "entity",
        "sentiment": "text",
        "full_translation": "translation",
    }
    outcomes = [json.loads(block) for block in blocks]
    cases = [
        {
            "id": task,
            "task": task,
            "transcript": "Agent: Good morning.\nCustomer: I was charged twice, KYC is done.",
            "config": {},
            "expected_outcome": outcome,
        }
        for outcome in outcomes
        for key, task in keys.items()
        if key in outcome
    ]
    assert [case["task"] for case in cases] == list(keys.values())
    return cases


DATA_SETS: dict[str, Any] = {
    "the framework": samples_of_the_framework,
    "the bundled sample": lambda: lines_of(BUNDLED),
    **{name: lambda name=name: lines_of(shared_file(f"{name}.jsonl")) for name in FILES},
}
every_data_set = pytest.mark.parametrize("name", DATA_SETS)
with_and_without_config = pytest.mark.parametrize(
    "config", [True, False], ids=["config", "no config"]
)


@every_data_set
@with_and_without_config
def test_c130_a_perfect_answer_in_the_prompts_own_schema_scores_one(
    tmp_path: Path, name: str, config: bool
) -> None:
    cases = DATA_SETS[name]()
    cases = cases if config else without_config(cases)
    asked = prompts_of(cases, tmp_path)
    outputs = [output(case.id, perfect_answer(case, prompt)) for case, prompt in asked]
    assert_perfect(callscore.score([*cases], outputs, intervals=False))


@every_data_set
@with_and_without_config
def test_c130_the_baseline_is_never_blocked_by_structure(
    tmp_path: Path, name: str, config: bool
) -> None:
    cases = DATA_SETS[name]()
    cases = cases if config else without_config(cases)
    provider = BaselineProvider("b", rules_of)
    outputs = []
    for case, prompt in prompts_of(cases, tmp_path):
        answered = asyncio.run(provider.attempt(provider.request_for(case, prompt, 1)))
        assert isinstance(answered, ProviderResponse)
        outputs.append(output(case.id, answered.reply.text))
    (model,) = callscore.score([*cases], outputs, intervals=False).models
    structure = {name: task.metrics.get(f"{name}.structure") for name, task in model.tasks.items()}
    assert {found.value for found in structure.values() if found and found.n} == {1.0}


@every_data_set
def test_c130_simulated_answers_without_any_fault_are_perfect(tmp_path: Path, name: str) -> None:
    cases = without_config(DATA_SETS[name]())
    provider = SimulatedProvider("s", "s", {}, noise_of)
    outputs = []
    for case, prompt in prompts_of(cases, tmp_path):
        answered = asyncio.run(provider.attempt(provider.request_for(case, prompt, 1)))
        assert isinstance(answered, ProviderResponse)
        outputs.append(output(case.id, answered.reply.text))
    assert_perfect(callscore.score([*cases], outputs, intervals=False))


def test_c130_the_real_files_are_all_here() -> None:
    if not CASES.is_dir():
        pytest.skip("the real calls are not here")
    assert set(FILES) <= set(DATA_SETS)


def prompt_of(case: Json, folder: Path) -> Prompt:
    ((_, prompt),) = prompts_of([case], folder)
    return prompt


def secrets(value: Any, key: str = "") -> Iterable[str]:
    """The values of a reference that a prompt must not hold."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from secrets(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from secrets(inner, key)
    elif isinstance(value, str) and key not in KNOWN and len(value) > SHORTEST_SECRET:
        yield value


KNOWN = {"question_id", "type", "question", "text", "source_text", "valid_entity_set"}
SHORTEST_SECRET = 12


@every_data_set
def test_c130_no_value_of_the_reference_is_in_the_prompt(tmp_path: Path, name: str) -> None:
    for case, prompt in prompts_of(without_config(DATA_SETS[name]()), tmp_path):
        sent = document(prompt)
        said = json.dumps([sent["transcript"], sent["config"].get("entities")], ensure_ascii=False)
        asked = [
            item.get("text") or item.get("source_text")
            for item in sent["config"].get("sentences", ())
        ]
        told = json.dumps([sent, prompt.schema], ensure_ascii=False)
        for secret in secrets(case.expected_outcome):
            written = json.dumps(secret, ensure_ascii=False)[1:-1]
            assert written in said or secret in asked or written not in told, secret


def test_c130_sentences_are_asked_by_the_ids_of_the_reference(tmp_path: Path) -> None:
    nine = [
        {"sentence_id": f"s{n}", "text": f"Sentence {n}.", "label": "positive"} for n in range(9)
    ]
    case = text_case(text_outcome(sentiment=nine), transcript="A: One.\nB: Two.\nA: Three.")
    asked = document(prompt_of(case, tmp_path))["config"]["sentences"]
    assert asked == [{"sentence_id": f"s{n}", "text": f"Sentence {n}."} for n in range(9)]


def test_c130_the_config_says_how_a_sentence_reads_and_the_reference_which_are_asked(
    tmp_path: Path,
) -> None:
    two = [{"sentence_id": n, "text": "", "label": "neutral"} for n in (2, 3)]
    config = {"sentences": [{"id": n, "text": f"No. {n}", "speaker": "A"} for n in (1, 2)]}
    case = text_case(text_outcome(sentiment=two), config=config, transcript="A: x\nB: y\nA: z")
    assert document(prompt_of(case, tmp_path))["config"]["sentences"] == [
        {"speaker": "A", "sentence_id": 2, "text": "No. 2"},
        {"sentence_id": 3, "text": "z"},
    ]


def test_c130_sentences_that_are_just_the_turns_are_not_sent_twice(tmp_path: Path) -> None:
    turns = [{"sentence_id": 1, "text": "I was charged twice", "label": "negative"}]
    case = text_case(text_outcome(sentiment=turns))
    assert "sentences" not in document(prompt_of(case, tmp_path))["config"]


def test_c130_a_question_is_asked_in_the_words_of_the_config_on_the_scale_of_the_form(
    tmp_path: Path,
) -> None:
    asked = [
        {"question_id": "Q2", "question": "Polite?", "max_score": 10, "type": "SCORE"},
        {"question_id": "Q9", "question": "Nobody marked this", "max_score": 5, "type": "SCORE"},
    ]
    case = qa_case([question("Q1"), question("Q2", 3, kind="SCORE")], config={"questions": asked})
    assert document(prompt_of(case, tmp_path))["config"]["questions"] == [
        {"question_id": "Q1", "max_score": 5, "type": "PASS_FAIL"},
        {"question_id": "Q2", "question": "Polite?", "max_score": 5, "type": "SCORE"},
    ]


def test_c130_entities_are_chosen_from_the_references_list_where_the_config_has_none(
    tmp_path: Path,
) -> None:
    case = entity_case(["refund"], [], ["refund", "loan"])
    assert document(prompt_of(case, tmp_path))["config"]["entities"] == ["refund", "loan"]
    assert document(prompt_of({**case, "config": {}}, tmp_path))["config"]["entities"] == [
        "refund",
        "loan",
    ]
    own = document(prompt_of({**case, "config": {"keywords": ["refund"]}}, tmp_path))["config"]
    assert own == {"keywords": ["refund"]}


def test_c130_fields_are_those_of_the_config_and_those_scored(tmp_path: Path) -> None:
    case = text_case(config={"required_fields": ["resolution", "order"]})
    prompt = prompt_of(case, tmp_path)
    fields = ["resolution", "order", "customer_name"]
    assert document(prompt)["config"]["required_fields"] == fields
    assert prompt.schema is not None
    info = prompt.schema["properties"]["summary"]["properties"]["call_extracted_info"]
    assert info["required"] == list(info["properties"]) == fields


def test_c130_emotions_are_the_union_over_the_data_set(tmp_path: Path) -> None:
    others = [{"anger": 60, "zeal": 40}, {"joy": 1}, {"neutral": 2, "anger": 1}]
    cases = [text_case(text_outcome(emotion=one), f"c{n}") for n, one in enumerate(others)]
    for _, prompt in prompts_of(cases, tmp_path):
        assert prompt.schema is not None
        emotions = ["anger", "neutral", "joy", "zeal"]
        assert document(prompt)["config"]["emotions"] == emotions
        assert prompt.schema["properties"]["emotion"]["required"] == emotions


def test_c130_a_run_asks_and_scores_by_the_emotions_of_its_whole_data_set(tmp_path: Path) -> None:
    others = [{"anger": 60, "zeal": 40}, {"joy": 1}, {"neutral": 2, "anger": 1}]
    cases = [text_case(text_outcome(emotion=one), f"c{n}") for n, one in enumerate(others)]
    lines = "\n".join(map(json.dumps, cases))
    (tmp_path / "cases.jsonl").write_text(lines, encoding="utf-8")
    path = eval_file(tmp_path, [{"name": "rules", "provider": "baseline"}])
    for limit in ([], ["--limit", "1"]):
        card = tmp_path / "card.json"
        done = run("run", path, "--json", card, *limit)
        assert done.returncode == 0, done.stderr
        text = json.loads(card.read_bytes())["models"][0]["tasks"]["text"]
        assert text["metrics"]["text.structure"]["value"] == 1
        assert text["metrics"]["text.missing_labels"]["value"] == 0


def test_c130_the_order_of_the_cases_changes_no_prompt(tmp_path: Path) -> None:
    cases = [
        text_case(text_outcome(emotion=one), f"c{n}")
        for n, one in enumerate([{"zeal": 1}, {"awe": 1}, {"anger": 1}])
    ]
    forward = {case.id: prompt for case, prompt in prompts_of(cases, tmp_path)}
    backward = {case.id: prompt for case, prompt in prompts_of(cases[::-1], tmp_path)}
    assert forward == backward


def test_c130_schemas_of_all_tasks_can_be_kept_to_the_letter(tmp_path: Path) -> None:
    for case, prompt in prompts_of(lines_of(BUNDLED), tmp_path):
        assert prompt.schema is not None and fits_output_format(prompt.schema), case.task


@pytest.mark.parametrize(
    ("part", "left"),
    [("emotion", ["sentiment", "summary"]), ("sentiment", ["summary", "emotion"])],
)
def test_c130_a_part_that_the_reference_lacks_is_not_asked_for(
    tmp_path: Path, part: str, left: list[str]
) -> None:
    outcome = text_outcome()
    del outcome[part]
    prompt = prompt_of(text_case(outcome, expected_parts={part: "absent"}), tmp_path)
    assert prompt.schema is not None
    assert list(prompt.schema["properties"]) == left
    form: list[str] = document(prompt)["form"]
    assert list(dict.fromkeys(path.split(".")[0].removesuffix("[]") for path in form)) == left


def test_c130_keys_of_the_references_own_are_asked_for(tmp_path: Path) -> None:
    form = {"questions": [{**question(), "severity": "high"}]}
    case = {**qa_case([question()]), "expected_outcome": form}
    prompt = prompt_of(case, tmp_path)
    assert document(prompt)["form"] == [
        f"questions[].{key}"
        for key in ("question_id", "max_score", "type", "reason", "score", "severity")
    ]
    assert_perfect(callscore.score([case], [output("c1", perfect_answer(*_only(case, prompt)))]))


def _only(case: Json, prompt: Prompt) -> tuple[Case, Prompt]:
    return msgspec.convert(case, Case), prompt


TWO = {"anger": 60, "neutral": 40}
FIVE = {"anger": 60, "neutral": 40, "joy": 0, "fear": 0, "sadness": 0}


def structure_with(reference: Json, answer: Json, folder: Path, **config: Any) -> float | None:
    case = text_case(text_outcome(emotion=reference), config=config)
    given = text_outcome(emotion=answer)
    return score([case], [output("c1", given)], folder).value("text.structure")


@pytest.mark.parametrize(
    ("reference", "answer", "config", "structure"),
    [
        pytest.param(TWO, FIVE, {"emotions": list(FIVE)}, 1, id="all that were asked for"),
        pytest.param(TWO, TWO, {"emotions": list(FIVE)}, 1, id="those of the reference"),
        pytest.param(TWO, {**TWO, "joy": 0}, {"emotions": list(FIVE)}, 1, id="between both"),
        pytest.param(TWO, {"anger": 1}, {"emotions": list(FIVE)}, 0, id="one of both is missing"),
        pytest.param(TWO, {**FIVE, "awe": 0}, {"emotions": list(FIVE)}, 0, id="nobody's"),
        pytest.param(TWO, FIVE, {}, 0, id="nobody asked for five"),
        pytest.param(FIVE, {k: FIVE[k] for k in list(FIVE)[:3]}, {}, 0, id="fear is missing"),
        pytest.param(FIVE, TWO, {"emotions": list(TWO)}, 1, id="only those asked for"),
    ],
)
def test_c25_emotions_asked_for_and_those_of_the_reference_both_pass(
    tmp_path: Path, reference: Json, answer: Json, config: Json, structure: int
) -> None:
    assert structure_with(reference, answer, tmp_path, **config) == structure


def test_c25_an_emotion_that_the_reference_leaves_out_counts_as_zero(tmp_path: Path) -> None:
    case = text_case(text_outcome(emotion=TWO), config={"emotions": list(FIVE)})
    joyful = text_outcome(emotion={**FIVE, "joy": 90})
    scored = score([case], [output("c1", joyful)], tmp_path)
    assert scored.value("text.dominant_emotion") == 0


def test_c25_the_emotions_of_other_references_may_be_answered(tmp_path: Path) -> None:
    cases = [text_case(text_outcome(emotion=one), f"c{n}") for n, one in enumerate([TWO, FIVE])]
    outputs = [output(case["id"], text_outcome(emotion=FIVE)) for case in cases]
    assert score(cases, outputs, tmp_path).value("text.structure") == 1


def test_c25_a_field_asked_for_may_be_filled_though_the_reference_lacks_it(tmp_path: Path) -> None:
    answer = text_outcome()
    answer["summary"]["call_extracted_info"]["order"] = ""
    case = text_case(config={"required_fields": ["order"]})
    assert score([case], [output("c1", answer)], tmp_path).value("text.structure") == 1
    assert score([text_case()], [output("c1", answer)], tmp_path).value("text.structure") == 0
