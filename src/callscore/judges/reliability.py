"""Tests a judge with changes of items that must, or must not, change the verdict.

`docs/judge.md`, "Test and calibrate a judge", lists the tests with their limits. Two are elsewhere:
prompts never name the author of an output, and `calibration` measures the agreement with people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from callscore.core.case import Failed
from callscore.core.judging import Judge, JudgeResult
from callscore.judges import probes
from callscore.judges.llm import HALVED, JudgeUsage
from callscore.judges.probes import Change, ProbeCase, ProbeItem
from callscore.judges.rubric import Rubric, built_in_library

# Single words decide gates, so these may change least. No limit is 0: models are not
# deterministic at temperature 0, either.
REPEATS = 5
FLIPS_ALLOWED, GATE_FLIPS_ALLOWED = 0.02, 0.005
CHANGES_ALLOWED, REPHRASED_ALLOWED = 0.02, 0.05
MIN_FLIPS_DETECTED, MIN_SWAPS_DETECTED = 0.95, 0.90

Words = Sequence[str | None]


class ReliabilityCheck(msgspec.Struct, frozen=True):
    """The result of one test: the number of items tried, and of those on which the judge failed."""

    name: str
    n: int
    failures: int
    limit: float
    limit_is: Literal["most", "least"] = "most"
    errors: int = 0
    """Items without a usable verdict; they neither pass nor fail."""

    @property
    def share(self) -> float | None:
        """failures / items; 1 - failures / items if the limit is a minimum"""
        if not self.n:
            return None
        failed = self.failures / self.n
        return failed if self.limit_is == "most" else 1 - failed

    @property
    def passed(self) -> bool | None:
        """None if nothing could be tried; False if most items have no usable verdict."""
        if self.share is None:
            return None
        if self.errors > self.n:
            return False
        return self.share <= self.limit if self.limit_is == "most" else self.share >= self.limit


class Reliability(msgspec.Struct, frozen=True):
    """The results of all tests of one judge."""

    judge: str
    accuracy: float | None
    """Share of the unchanged items with the true verdict."""
    checks: Sequence[ReliabilityCheck]
    last_failure: str | None = None
    """Why the judge gave no verdict, if it gave none; the last of several reasons."""
    unusable: Mapping[str, int] = {}
    """By reason: answers that could not be used, of `answers`."""
    answers: int = 0
    was_split: bool = False
    """Whether the judge could not cope with all items of a request at once."""
    was_tried: bool = True
    """Whether it gave a verdict on any unchanged item."""

    @property
    def passed(self) -> bool:
        """Whether every test was carried out and passed."""
        return all(check_reliability.passed for check_reliability in self.checks)


async def check_reliability(judge: Judge) -> Reliability:
    """Run every test on a judge; about thirty requests with the cases of `probes`."""
    return await _Tester(judge).run()


class _Tester:
    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._cases = probes.probe_cases()
        self._library = built_in_library()
        self._plain: list[Words] = []
        self._last_failure: str | None = None
        self._usage = JudgeUsage()
        self._was_split = False

    async def run(self) -> Reliability:
        self._plain = [await self._ask(case, case.items) for case in self._cases]
        checks = [
            *await self._check_repeats(),
            await self._check_order(),
            await self._check_invariance("layout", CHANGES_ALLOWED, probes.add_markdown),
            await self._check_verbosity(),
            await self._check_invariance("paraphrase", REPHRASED_ALLOWED, probes.rephrase),
            await self._check_sensitivity("label flip", MIN_FLIPS_DETECTED, probes.flip),
            await self._check_master_keys(),
            await self._check_sensitivity(
                "reference perturbation", MIN_SWAPS_DETECTED, probes.swap_reference
            ),
        ]
        was_tried = any(word is not None for words in self._plain for word in words)
        return Reliability(
            judge=self._judge.name,
            accuracy=self._accuracy(),
            checks=checks,
            last_failure=self._last_failure,
            unusable=self._usage.unusable,
            answers=self._usage.requests + self._usage.stored,
            was_split=self._was_split,
            was_tried=was_tried,
        )

    def _accuracy(self) -> float | None:
        right = [
            word is not None and self._agree(item, word, item.truth)
            for case, words in zip(self._cases, self._plain, strict=True)
            for item, word in zip(case.items, words, strict=True)
        ]
        return sum(right) / len(right) if right else None

    async def _check_repeats(self) -> Sequence[ReliabilityCheck]:
        """Send the same requests again; items that decide a gate are reported separately."""
        tried: dict[bool, list[bool | None]] = {False: [], True: []}
        for case, plain in zip(self._cases, self._plain, strict=True):
            for repeat in range(1, REPEATS):
                words = await self._ask(case, case.items, repeat)
                for item, before, after in zip(case.items, plain, words, strict=True):
                    gates = before in self._rubric(item).second_opinion
                    tried[gates].append(self._differs(item, before, after))
        return [
            _make_check("repeat", tried[False], FLIPS_ALLOWED),
            _make_check("repeat, gate items", tried[True], GATE_FLIPS_ALLOWED),
        ]

    async def _check_order(self) -> ReliabilityCheck:
        found: list[bool | None] = []
        for case, plain in zip(self._cases, self._plain, strict=True):
            reverse = probes.reverse_items(case)
            words = list(reversed(await self._ask(reverse, reverse.items)))
            found += map(self._differs, case.items, plain, words)
        return _make_check("order", found, CHANGES_ALLOWED)

    async def _check_invariance(self, name: str, limit: float, change: Change) -> ReliabilityCheck:
        """Test a change that must not matter."""
        found = [self._differs(i, before, after) for i, before, after in await self._try(change)]
        return _make_check(name, found, limit)

    async def _check_sensitivity(self, name: str, limit: float, change: Change) -> ReliabilityCheck:
        """Test a change that must make a passing item fail."""
        found = [
            None if after is None else self._passes(item, after)
            for item, before, after in await self._try(change)
            if before is not None and self._passes(item, before)
        ]
        return msgspec.structs.replace(_make_check(name, found, limit), limit_is="least")

    async def _check_verbosity(self) -> ReliabilityCheck:
        """Test that words without content do not help."""
        found = [
            None
            if before is None or after is None
            else self._rubric(item).worth(after) > self._rubric(item).worth(before)
            for item, before, after in await self._try(
                lambda item: probes.pad(item, self._rubric(item))
            )
        ]
        return _make_check("verbosity", found, CHANGES_ALLOWED)

    async def _check_master_keys(self) -> ReliabilityCheck:
        found: list[bool | None] = []
        for key in probes.MASTER_KEYS:
            tried = await self._try(self._text_replacement(key))
            found += [None if after is None else self._passes(i, after) for i, _, after in tried]
        return _make_check("master keys", found, 0.0)

    def _text_replacement(self, key: str) -> Change:
        return lambda item: probes.replace_text(item, self._rubric(item), key)

    async def _try(self, change: Change) -> Sequence[tuple[ProbeItem, str | None, str | None]]:
        """Judge every item that can be changed; returns it with its verdicts before and after."""
        tried: list[tuple[ProbeItem, str | None, str | None]] = []
        for case, plain in zip(self._cases, self._plain, strict=True):
            pairs = [
                (item, change(item), before) for item, before in zip(case.items, plain, strict=True)
            ]
            changed = [(item, new, before) for item, new, before in pairs if new is not None]
            words = await self._ask(case, [new for _, new, _ in changed])
            tried += [
                (item, before, after)
                for (item, _, before), after in zip(changed, words, strict=True)
            ]
        return tried

    async def _ask(self, case: ProbeCase, items: Sequence[ProbeItem], repeat: int = 0) -> Words:
        """The judge's verdict on every item; None if there is none."""
        judge_request = probes.probe_request(case, items, self._library)
        answer: JudgeResult | Failed = await self._judge.judge(
            msgspec.structs.replace(judge_request, repeat=repeat)
        )
        self._usage += JudgeUsage.of(answer)
        if isinstance(answer, Failed):
            self._last_failure = answer.why
            return [None] * len(items)
        self._was_split |= HALVED in answer.flags
        for void in answer.void:
            self._last_failure = void.why
        given = {(verdict.metric, verdict.item): verdict.verdict for verdict in answer.verdicts}
        return [given.get((question.metric, question.item)) for question in judge_request.questions]

    def _rubric(self, item: ProbeItem) -> Rubric:
        return self._library.rubrics[item.rubric]

    def _passes(self, item: ProbeItem, word: str) -> bool:
        return self._rubric(item).worth(word) == 1

    def _agree(self, item: ProbeItem, one: str, other: str) -> bool:
        rubric = self._rubric(item)
        return rubric.counts_as(one) == rubric.counts_as(other)

    def _differs(self, item: ProbeItem, before: str | None, after: str | None) -> bool | None:
        if before is None or after is None:
            return None
        return not self._agree(item, before, after)


def _make_check(name: str, found: Sequence[bool | None], limit: float) -> ReliabilityCheck:
    tried = [failed for failed in found if failed is not None]
    return ReliabilityCheck(name, len(tried), sum(tried), limit, errors=len(found) - len(tried))
