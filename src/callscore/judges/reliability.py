"""The reliability suite: items changed in ways that must, or must not, change the verdict (JUDGE
§5).

Two tests of the list are elsewhere: that no author is shown is a property of the prompts, and
agreement with people is `calibration`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from callscore.core.case import Failed
from callscore.core.judging import Judge, JudgeResult
from callscore.judges import probes
from callscore.judges.probes import Change, ProbeCase, ProbeItem
from callscore.judges.rubric import Library, Rubric, shipped

REPEATS = 5
FLIPS_ALLOWED, GATE_FLIPS_ALLOWED = 0.02, 0.005
CHANGES_ALLOWED, REPHRASED_ALLOWED = 0.02, 0.05
FLIPS_SEEN, GROUND_SEEN = 0.95, 0.90

Words = Sequence[str | None]


class Check(msgspec.Struct, frozen=True):
    """One test of the suite: the items it tried, and those on which the judge failed."""

    name: str
    n: int
    failures: int
    limit: float
    limit_is: Literal["most", "least"] = "most"
    errors: int = 0
    """Items without a usable verdict; they neither pass nor fail."""

    @property
    def share(self) -> float | None:
        """failures / items, or the detected share if the limit is a minimum."""
        if not self.n:
            return None
        failed = self.failures / self.n
        return failed if self.limit_is == "most" else 1 - failed

    @property
    def passed(self) -> bool | None:
        """None if nothing could be tried."""
        if self.share is None:
            return None
        return self.share <= self.limit if self.limit_is == "most" else self.share >= self.limit


class Reliability(msgspec.Struct, frozen=True):
    """The whole suite on one judge."""

    judge: str
    accuracy: float | None
    """Share of the unchanged items with the true verdict."""
    checks: Sequence[Check]
    last_failure: str | None = None
    """Why the judge gave no verdict, if it gave none; the last of several reasons."""
    was_tried: bool = True
    """Whether it gave a verdict on any unchanged item."""

    @property
    def passed(self) -> bool:
        """Whether every test was carried out and passed."""
        return all(check.passed for check in self.checks)


async def check(
    judge: Judge, cases: Sequence[ProbeCase] | None = None, library: Library | None = None
) -> Reliability:
    """Run every test on a judge; about thirty requests with the built-in cases."""
    suite = _Suite(judge, cases or probes.probe_cases(), library or shipped())
    return await suite.run()


class _Suite:
    def __init__(self, judge: Judge, cases: Sequence[ProbeCase], library: Library) -> None:
        self._judge = judge
        self._cases = cases
        self._library = library
        self._plain: list[Words] = []
        self._last_failure: str | None = None

    async def run(self) -> Reliability:
        self._plain = [await self._words(case, case.items) for case in self._cases]
        checks = [
            *await self._repeat(),
            await self._order(),
            await self._changed("layout", CHANGES_ALLOWED, probes.laid_out),
            await self._verbosity(),
            await self._changed("paraphrase", REPHRASED_ALLOWED, probes.rephrased),
            await self._seen("label flip", FLIPS_SEEN, probes.flipped),
            await self._master_keys(),
            await self._seen("reference perturbation", GROUND_SEEN, probes.on_other_ground),
        ]
        was_tried = any(word is not None for words in self._plain for word in words)
        name, accuracy = self._judge.name, self._accuracy()
        return Reliability(name, accuracy, checks, self._last_failure, was_tried)

    def _accuracy(self) -> float | None:
        right = [
            word is not None and self._same(item, word, item.truth)
            for case, words in zip(self._cases, self._plain, strict=True)
            for item, word in zip(case.items, words, strict=True)
        ]
        return sum(right) / len(right) if right else None

    async def _repeat(self) -> Sequence[Check]:
        """The same request again; items that decide a gate are reported separately."""
        tried: dict[bool, list[bool | None]] = {False: [], True: []}
        for case, plain in zip(self._cases, self._plain, strict=True):
            for repeat in range(1, REPEATS):
                words = await self._words(case, case.items, repeat)
                for item, before, after in zip(case.items, plain, words, strict=True):
                    gates = before in self._rubric(item).second_opinion
                    tried[gates].append(self._differs(item, before, after))
        return [
            _check("repeat", tried[False], FLIPS_ALLOWED),
            _check("repeat, gate items", tried[True], GATE_FLIPS_ALLOWED),
        ]

    async def _order(self) -> Check:
        found: list[bool | None] = []
        for case, plain in zip(self._cases, self._plain, strict=True):
            turned = probes.reversed_order(case)
            words = list(reversed(await self._words(turned, turned.items)))
            found += map(self._differs, case.items, plain, words)
        return _check("order", found, CHANGES_ALLOWED)

    async def _changed(self, name: str, limit: float, change: Change) -> Check:
        """Changes that must not matter."""
        found = [self._differs(i, before, after) for i, before, after in await self._try(change)]
        return _check(name, found, limit)

    async def _seen(self, name: str, limit: float, change: Change) -> Check:
        """Changes that must make a passing item fail."""
        found = [
            None if after is None else self._passes(item, after)
            for item, before, after in await self._try(change)
            if before is not None and self._passes(item, before)
        ]
        return msgspec.structs.replace(_check(name, found, limit), limit_is="least")

    async def _verbosity(self) -> Check:
        """Words without content must not help."""
        found = [
            None
            if before is None or after is None
            else self._rubric(item).worth(after) > self._rubric(item).worth(before)
            for item, before, after in await self._try(
                lambda item: probes.padded(item, self._rubric(item))
            )
        ]
        return _check("verbosity", found, CHANGES_ALLOWED)

    async def _master_keys(self) -> Check:
        found: list[bool | None] = []
        for key in probes.MASTER_KEYS:
            tried = await self._try(self._emptying(key))
            found += [None if after is None else self._passes(i, after) for i, _, after in tried]
        return _check("master keys", found, 0.0)

    def _emptying(self, key: str) -> Change:
        return lambda item: probes.emptied(item, self._rubric(item), key)

    async def _try(self, change: Change) -> Sequence[tuple[ProbeItem, str | None, str | None]]:
        """Every item that can be changed, with its verdicts before and after."""
        tried: list[tuple[ProbeItem, str | None, str | None]] = []
        for case, plain in zip(self._cases, self._plain, strict=True):
            pairs = [
                (item, change(item), before) for item, before in zip(case.items, plain, strict=True)
            ]
            changed = [(item, new, before) for item, new, before in pairs if new is not None]
            words = await self._words(case, [new for _, new, _ in changed])
            tried += [
                (item, before, after)
                for (item, _, before), after in zip(changed, words, strict=True)
            ]
        return tried

    async def _words(self, case: ProbeCase, items: Sequence[ProbeItem], repeat: int = 0) -> Words:
        """The judge's verdict on every item; None if there is none."""
        judge_request = probes.judge_request_of(case, items, self._library)
        answer: JudgeResult | Failed = await self._judge.judge(
            msgspec.structs.replace(judge_request, repeat=repeat)
        )
        if isinstance(answer, Failed):
            self._last_failure = answer.why
            return [None] * len(items)
        given = {(verdict.metric, verdict.item): verdict.verdict for verdict in answer.verdicts}
        return [given.get((question.metric, question.item)) for question in judge_request.questions]

    def _rubric(self, item: ProbeItem) -> Rubric:
        return self._library.rubrics[item.rubric]

    def _passes(self, item: ProbeItem, word: str) -> bool:
        return self._rubric(item).worth(word) == 1

    def _same(self, item: ProbeItem, one: str, other: str) -> bool:
        rubric = self._rubric(item)
        return rubric.counts_as(one) == rubric.counts_as(other)

    def _differs(self, item: ProbeItem, before: str | None, after: str | None) -> bool | None:
        if before is None or after is None:
            return None
        return not self._same(item, before, after)


def _check(name: str, found: Sequence[bool | None], limit: float) -> Check:
    tried = [failed for failed in found if failed is not None]
    return Check(name, len(tried), sum(tried), limit, errors=len(found) - len(tried))
