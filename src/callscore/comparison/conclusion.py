"""The conclusion of a comparison: what separates the two, and which of them to take    C-138"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from callscore.comparison.inputs import Competitor
from callscore.core.comparison import RowDifference
from callscore.core.scorecard import DecisionLine, ModelContrast, ModelScore, Scorecard
from callscore.core.signature import parts_of
from callscore.core.spec import Spec
from callscore.evaluate.scorecards import share_estimates
from callscore.report.decision_lines import decision_lines
from callscore.report.decision_statements import describe_separation, few_pairs
from callscore.report.names import marked_name, origins_of
from callscore.report.numbers import show_count
from callscore.scorecard.decision import ModelDifference, difference
from callscore.scorecard.ranking import rank
from callscore.stats.power import LEAST_PAIRS


class Conclusion(NamedTuple):
    """What a comparison concludes."""

    distinguishable: bool | None
    """Whether the Final Scores differ by more than chance; None if that is unknown."""
    sentence: str
    decision: Sequence[DecisionLine]


def conclude(
    first: Competitor, second: Competitor, final: RowDifference | None, spec: Spec, unit: str
) -> Conclusion:
    """Conclude by the rule of every scorecard, on a card of the two models        C-138

    Two models of one card are as far apart as that card says.
    """
    card = _card_of_two(first, second, final, spec)
    lines = decision_lines(card, spec, first.decide)
    one, other = (model.model for model in card.models)
    if final is None or final.difference is None:
        nothing = "There is no Final Score to compare; see the rows below."
        return Conclusion(None, nothing, lines)
    origins = origins_of(card.models)
    names = marked_name(other, origins), marked_name(one, origins)
    if not card.contrasts:
        where = "above" if final.difference > 0 else "below"
        sentence = (
            f"{names[0]} is {abs(final.difference):.3f} {where} {names[1]}; without the results of "
            f"single {unit}s, whether this is more than chance is unknown."
        )
        return Conclusion(None, sentence, lines)
    above = difference(card, other, one)
    apart = describe_separation(above, *names, unit=unit) + _detectable(final, above, unit)
    calls = final.calls or card.contrasts[0].calls
    sentence = f"On {show_count(calls, unit)} that both answered, {apart}."
    return Conclusion(above.significant, sentence, lines)


def _detectable(final: RowDifference, above: ModelDifference, unit: str) -> str:
    if above.significant:
        return ""
    if 0 < final.discordant < LEAST_PAIRS:
        return f"; {few_pairs(final.discordant, unit)}"
    if final.detectable is None:
        return ""
    return f"; this many {unit}s can show differences of {final.detectable:.3f} or more"


def _card_of_two(
    first: Competitor, second: Competitor, final: RowDifference | None, spec: Spec
) -> Scorecard:
    """A scorecard of the two models; without calls it has no contrast and no intervals."""
    models = [first.score, second.score]
    if models[0].model == models[1].model:
        models = [msgspec.structs.replace(m.score, model=m.label) for m in (first, second)]
    if _is_judged_alike(first.card, second.card):
        models = share_estimates(models)
    contrasts = _contrasts(first, second, final, models)
    return msgspec.structs.replace(
        first.card,
        models=models,
        ranking=rank(models, spec),
        zeroed_ranking=[],
        contrasts=contrasts,
        intervals=first.card.intervals if contrasts else None,
        race=msgspec.UNSET,
        documents=msgspec.UNSET,
    )


def _is_judged_alike(one: Scorecard, other: Scorecard) -> bool:
    """Whether the same values await a verdict in both: an estimate is one for both        C-125"""
    found = [parts_of(card.signature) for card in (one, other)]
    return all(found[0].get(part) == found[1].get(part) for part in ("judge", "data"))


def _contrasts(
    first: Competitor,
    second: Competitor,
    final: RowDifference | None,
    models: Sequence[ModelScore],
) -> Sequence[ModelContrast]:
    names = [model.model for model in models]
    if first.card is second.card:
        found = [p for p in first.card.contrasts if {p.first, p.second} == set(names)]
        if any(pair.of == "final" for pair in found):
            return found
    if final is None or final.difference is None or not final.calls:
        return []
    return [
        ModelContrast(
            of="final",
            first=names[0],
            second=names[1],
            difference=final.difference,
            ci95=final.ci95,
            significant=bool(final.significant),
            calls=final.calls,
            calls_needed=final.calls_needed,
            deviation=final.deviation,
            claim=final.claim,
        )
    ]
