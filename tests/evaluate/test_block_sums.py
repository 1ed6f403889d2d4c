"""The order of adding: cases in a sub-block, sub-blocks in a block, then blocks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from builders import Json
from callscore.config.score import ScoreConfig
from callscore.core.blocks import BLOCK, BlockSize
from callscore.embeddings.encoder import CosineEmbedder
from callscore.evaluate.judge_setup import open_judge_runner
from callscore.evaluate.scorer import Sinks
from callscore.evaluate.scoring_pass import open_pass
from callscore.evaluate.sums import Tallies
from callscore.scorecard.tally import TaskTally
from encoders import TableEncoder
from random_calls.dataset import make_dataset
from scored_calls import write_records
from translation_cases import outcome

SIZE = BlockSize(sub_block=7, sub_blocks=2)


@pytest.fixture(scope="module")
def data() -> tuple[list[Json], list[Json], list[Json]]:
    dice = Random(11)
    found = make_dataset(dice, per_task=12)
    return dice.sample(found.cases, len(found.cases)), found.outputs, found.verdicts


def tallies_of(
    folder: Path, data: tuple[list[Json], list[Json], list[Json]], size: BlockSize = BLOCK
) -> Tallies:
    """The tallies of a scoring pass over these cases."""
    cases, outputs, verdicts = data
    ids = {case["id"] for case in cases}
    config = ScoreConfig(
        cases=[write_records(folder, "cases", cases)],
        outputs=[write_records(folder, "out", [o for o in outputs if o["case_id"] in ids])],
        verdicts=[write_records(folder, "said", [v for v in verdicts if v["case_id"] in ids])],
    )
    with closing(open_pass(config, Sinks(lambda result: None), blocks=size)) as scoring:
        return scoring.finish().tallies


def plain(tally: TaskTally) -> Any:
    """Everything in a tally, to the last digit."""
    assert tally.contributions is not None
    kept = tally.contributions.whole()
    kept.complete()
    columns = {slug: column._rows() for slug, column in kept.columns.items()}
    rest = msgspec.structs.replace(tally, contributions=None)
    return rest, kept.keys, kept.flags, kept.spend, columns, kept.open


def test_a_block_is_sixteen_sub_blocks_of_256_cases() -> None:
    assert BLOCK == (256, 16) and BLOCK.cases == 4096


def test_the_sums_are_those_of_sub_blocks_scored_alone_and_joined_in_order(
    tmp_path: Path, data: tuple[list[Json], list[Json], list[Json]]
) -> None:
    cases, outputs, verdicts = data
    blocks: list[Tallies] = []
    for first in range(0, len(cases), SIZE.sub_block):
        part = cases[first : first + SIZE.sub_block]
        alone = tallies_of(tmp_path, (part, outputs, verdicts))
        if first % SIZE.cases == 0:
            blocks.append(alone)
        else:
            _join(blocks[-1], alone)
    total = blocks[0]
    for block in blocks[1:]:
        _join(total, block)
    found = tallies_of(tmp_path, data, SIZE)
    assert {model: sorted(of) for model, of in found.items()} == {
        model: sorted(of) for model, of in total.items()
    }
    for model, of_tasks in found.items():
        for task, tally in of_tasks.items():
            assert plain(tally) == plain(total[model][task])


def _join(tallies: Tallies, others: Tallies) -> None:
    for model, of_tasks in others.items():
        for task, tally in of_tasks.items():
            own = tallies.setdefault(model, {})
            own[task] = own[task] + tally if task in own else tally


def test_another_order_of_adding_would_change_last_digits(
    tmp_path: Path, data: tuple[list[Json], list[Json], list[Json]]
) -> None:
    """Else the test above could not fail."""
    in_blocks, at_once = tallies_of(tmp_path, data, SIZE), tallies_of(tmp_path, data)
    pairs = [
        (tally.metrics[slug].total, at_once[model][task].metrics[slug].total)
        for model, of_tasks in in_blocks.items()
        for task, tally in of_tasks.items()
        for slug in tally.metrics
    ]
    assert all(one == pytest.approx(other, rel=1e-12) for one, other in pairs)
    assert any(one != other for one, other in pairs)


class CrowdEncoder(TableEncoder):
    """Vectors that depend on how many texts are encoded together, as those of models do."""

    def __init__(self) -> None:
        super().__init__({})

    async def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        self.asked.append(list(texts))
        return [(1.0, len(text), 1 / len(texts)) for text in texts]


def verdicts_of(folder: Path, cases: Sequence[Json], size: BlockSize) -> list[object]:
    """What an embedder that is cached says about these cases."""
    config = ScoreConfig(
        cases=[write_records(folder, "cases", cases)], judge="offline", embedder="chrf"
    )
    found: list[object] = []
    with open_judge_runner(config) as judge_runner:
        judge_runner.embedder = CosineEmbedder(CrowdEncoder())
        sinks = Sinks(lambda result: None, None, found.append, judge_runner=judge_runner)
        with closing(open_pass(config, sinks, blocks=size)) as scoring:
            scoring.finish()
    return found


def test_a_block_forgets_the_vectors_of_the_blocks_before_it(tmp_path: Path) -> None:
    people, model = ["I want a refund", "and my card"], ["I would like it", "also a card"]
    cases = [
        {
            "id": f"case-{number}",
            "task": "translation",
            "transcript": "Quiero",
            "config": {"target_language": "en"},
            "expected_outcome": outcome(people[:number]),
            "model_output": outcome(model[:number]),
        }
        for number in (1, 2)
    ]
    one_by_one, together = BlockSize(1, 1), BlockSize(2, 1)
    alone = [
        *verdicts_of(tmp_path, cases[:1], together),
        *verdicts_of(tmp_path, cases[1:], together),
    ]
    assert verdicts_of(tmp_path, cases, one_by_one) == alone
    assert verdicts_of(tmp_path, cases, together) != alone  # or the first could not fail
