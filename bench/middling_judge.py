"""How many verdicts of a middling judge are accepted, on the bundled calls."""

from __future__ import annotations

from pathlib import Path

import msgspec

import callscore
from bench.measuring import sized
from callscore.core.case import Failed
from callscore.core.judging import JudgeRequest, JudgeResult
from callscore.judges.fakes import LiteralModel, MiddlingModel
from callscore.judges.judge_prompt import MOST_ITEMS, Asking
from callscore.judges.llm import LLMJudge

CALLS = Path(callscore.__file__).parent / "demo" / "calls"
SIZES = (MOST_ITEMS, 12, 6)[: sized(3, 1)]


class Counting:
    """A judge whose verdicts are counted, beside those of a judge that makes no mistakes."""

    def __init__(self, by: LLMJudge) -> None:
        self.name, self.signature, self._by = by.name, by.signature, by
        self._right = LLMJudge(LiteralModel())
        self.items = self.accepted = self.right = 0

    async def judge(self, given: JudgeRequest) -> JudgeResult | Failed:
        answer, truth = await self._by.judge(given), await self._right.judge(given)
        self.items += len(given.questions)
        if isinstance(answer, JudgeResult) and isinstance(truth, JudgeResult):
            words = {(v.metric, v.item): v.verdict for v in truth.verdicts}
            self.accepted += len(answer.verdicts)
            self.right += sum(words.get((v.metric, v.item)) == v.verdict for v in answer.verdicts)
        return answer


def main() -> None:
    print(f"{'items per request':>18} {'items':>6} {'accepted':>9} {'right':>6} {'requests':>9}")
    lines = (CALLS / "outputs.jsonl").read_text(encoding="utf-8").splitlines()
    outputs = [msgspec.json.decode(line) for line in lines[: sized(len(lines), 12)]]
    for size in SIZES:
        counted = Counting(LLMJudge(MiddlingModel(), asking=Asking(items_per_request=size)))
        card = callscore.score(
            CALLS / "cases.jsonl",
            outputs,
            judge=counted,
            embedder="none",
            intervals=False,
        )
        assert card.judging is not None
        numbers = (size, counted.items, counted.accepted, counted.right, card.judging.requests)
        print("{:18} {:6} {:9} {:6} {:9}".format(*numbers))
