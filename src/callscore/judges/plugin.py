"""A judge of another package: its mistakes make items void, or are failures of the judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from callscore.core.case import Failed
from callscore.core.judging import Item, Judge, JudgeRequest, JudgeResult, Unjudged, Verdict
from callscore.core.plugins import PluginError, check_members, load_plugin, plugin_errors
from callscore.judges.rubric import CANNOT_TELL


class PluginJudge:
    """Checks what the judge of a package returns; the rest of the program can rely on it."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.name = judge.name

    @property
    def signature(self) -> str:
        """That of the judge."""
        return self._judge.signature

    async def judge(self, request: JudgeRequest) -> JudgeResult | Failed:
        """The verdicts that can be used; an exception is a failure of the judge (C-102)."""
        try:
            with plugin_errors(self.name, with_message=False):
                result: Any = await self._judge.judge(request)
        except PluginError as error:
            return Failed("judge", str(error))
        if isinstance(result, Failed):
            return result
        if not isinstance(result, JudgeResult):
            kind = type(result).__name__
            return Failed("judge", f"{self.name} returned {kind}; expected JudgeResult or Failed")
        wrong = dict(_problems(request, result))
        if not wrong:
            return result
        kept = [verdict for verdict in result.verdicts if _item(verdict) not in wrong]
        void = [Unjudged(item, why) for item, why in wrong.items()]
        return msgspec.structs.replace(result, verdicts=kept, void=[*result.void, *void])


def plugin_judge(name: str) -> Judge:
    """The judge that a package offers under a name; raises PluginError."""
    what = f"judge {name!r}"
    make = load_plugin("callscore.judges", name)
    with plugin_errors(what):
        made = make()
    check_members(made, what, Judge)
    return PluginJudge(made)


def _item(verdict: Verdict) -> Item:
    return Item(verdict.metric, verdict.item)


def _problems(request: JudgeRequest, result: JudgeResult) -> Iterator[tuple[Item, str]]:
    """The items with a verdict that cannot be used, and why."""
    offered = {Item(each.metric, each.item): each.offered for each in request.questions}
    for verdict in result.verdicts:
        item = _item(verdict)
        if item not in offered:
            yield item, f"a verdict on {verdict.item!r}, which was not asked about"
        elif verdict.verdict not in (*offered[item], CANNOT_TELL):
            words = ", ".join(offered[item])
            yield item, f"the verdict {verdict.verdict!r} was not offered; expected {words}"
