"""The same answers give the same bytes, wherever, whenever and in whatever order (R-23, R-24)."""

from __future__ import annotations

import asyncio
import json
import random
from importlib import resources
from pathlib import Path

import pytest

from builders import form, output, question
from callscore.core.case import Case
from callscore.core.judging import JudgeRequest, JudgeResult, Question
from callscore.evaluate.judging import DEFAULT_CONCURRENCY, JudgeRunner
from commands import run_in_new_process
from eval_files import cases_file, eval_file, remote_model, right_answer
from fake_judges import ScriptedJudge
from stub_servers import FaultyChat, serving

ENVIRONMENTS = [
    {"LC_ALL": "C", "TZ": "UTC"},
    {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8", "TZ": "Europe/Berlin"},
    {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "TZ": "Asia/Kolkata"},
    {"LC_ALL": "C.utf8", "PYTHONUTF8": "0", "TZ": "America/St_Johns"},
]


def test_r23_no_locale_and_no_time_zone_changes_a_byte(tmp_path: Path) -> None:
    cases = cases_file(tmp_path, 3)
    outputs = tmp_path / "outputs.jsonl"
    lines = [output(f"c{n}", form(question(reason="Iıİi said ₹1,5")), "m") for n in range(3)]
    outputs.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    found = []
    for number, environment in enumerate(ENVIRONMENTS):
        card, results = tmp_path / f"card{number}", tmp_path / f"results{number}"
        done = run_in_new_process(
            *("score", cases, "--outputs", outputs, "--judge", "offline"),
            *("--json", card, "--results", results),
            env=environment,
        )
        assert done.returncode == 0, done.stderr
        found.append((card.read_bytes(), results.read_bytes()))
    assert len(set(found)) == 1


def test_r23_no_order_of_a_set_changes_a_byte_of_the_records(tmp_path: Path) -> None:
    demo = resources.files("callscore.demo") / "calls"
    found = []
    for seed in ("1", "2"):
        records = tmp_path / f"records{seed}"
        done = run_in_new_process(
            *("score", demo / "cases.jsonl", "--outputs", demo / "outputs.jsonl"),
            *("--verdicts", demo / "verdicts.jsonl", "--records", records),
            env={"PYTHONHASHSEED": seed},
        )
        assert done.returncode == 0, done.stderr
        found.append(records.read_bytes())
    assert found[0] == found[1]


def same_from_the_store(folder: Path, times: int) -> None:
    cases_file(folder, 30)
    dice, found = random.Random(24), set()
    with serving(FaultyChat(right_answer)) as stub:
        for number in range(times):
            limits = {"concurrency": dice.choice([1, 2, 7, 64])}
            models = [remote_model(stub.url, name, limits=limits) for name in "ab"]
            path = eval_file(folder, dice.sample(models, 2))
            card, results = folder / f"card{number}", folder / f"results{number}"
            seed = {"PYTHONHASHSEED": str(dice.randint(0, 4_000_000_000))}
            done = run_in_new_process("run", path, "--json", card, "--results", results, env=seed)
            assert done.returncode == 0, done.stderr
            found.add((card.read_bytes(), results.read_bytes()))
    assert len(found) == 1


def test_r24_no_hash_seed_and_no_number_of_workers_changes_a_byte(tmp_path: Path) -> None:
    same_from_the_store(tmp_path, 3)


@pytest.mark.slow
def test_r24_twenty_runs_give_the_same_bytes(tmp_path: Path) -> None:
    same_from_the_store(tmp_path, 20)


class SlowJudge(ScriptedJudge):
    """Takes its time, and counts how many wait for it at once."""

    def __init__(self) -> None:
        super().__init__(lambda question: "same")
        self.waiting = self.most_waiting = 0
        self.order: list[str] = []

    async def judge(self, judge_request: JudgeRequest) -> JudgeResult:
        self.waiting += 1
        self.most_waiting = max(self.most_waiting, self.waiting)
        await asyncio.sleep(0.001)
        self.waiting -= 1
        self.order.append(judge_request.questions[0].item)
        found = await super().judge(judge_request)
        assert isinstance(found, JudgeResult)
        return found


@pytest.mark.parametrize("concurrency", [None, 64])
def test_r20_a_slow_judge_is_never_asked_more_than_it_may_and_nobody_starves(
    concurrency: int | None,
) -> None:
    judge = SlowJudge()
    judge_runner = JudgeRunner(judge, None, concurrency=concurrency)
    case = Case("c1", "text", "Agent: hello", {}, {})

    async def judge_all() -> None:
        questions = [Question("text.call_intent", str(n), "a", "b", ("same",)) for n in range(500)]
        await asyncio.gather(*(judge_runner.ask(case, [question]) for question in questions))

    asyncio.run(judge_all())
    assert judge.most_waiting == (concurrency or DEFAULT_CONCURRENCY)
    assert judge.order == [str(n) for n in range(500)]
