"""The decision in words: one line per statement, the most important first        C-138"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from callscore.core.race import RaceCard
from callscore.core.scorecard import AS_RECOMMENDED, Decide, DecisionLine, Scorecard
from callscore.core.spec import TOLERANCE, Spec
from callscore.report.cells import Tone
from callscore.report.decision_facts import CardFacts, describe_obstacles
from callscore.report.decision_statements import Statement, describe_separation, describe_unseen
from callscore.report.layout import Line, StyledText, paragraph
from callscore.report.names import join_words
from callscore.report.numbers import show, show_count
from callscore.report.race_text import (
    describe_guarantee,
    race_exits,
    race_name,
    race_result,
    unfinished_rivals,
)
from callscore.scorecard.decision import (
    Choice,
    Doubt,
    ModelDifference,
    calls_of,
    choose,
    closest_first,
    considered,
    could_still_pass,
    decisive_final,
    failing_rows,
    final_floor,
    is_in_question,
    is_kept_out,
)
from callscore.stats.power import ALPHA, calls_for_claim

ROWS_NAMED = 2
OF_CALLS: Collection[Doubt] = ("few_calls", "no_intervals")
"""Doubts that a tie does not name: that models cannot be distinguished says it."""


def with_decision(card: Scorecard, spec: Spec, decide: Decide = AS_RECOMMENDED) -> Scorecard:
    """The same card with its decision in words."""
    return msgspec.structs.replace(card, decision=decision_lines(card, spec, decide))


def decision_lines(
    card: Scorecard, spec: Spec, decide: Decide = AS_RECOMMENDED
) -> list[DecisionLine]:
    """Return what a card decides, and what that rests on, the most important first        C-138"""
    if not card.models:
        return []
    facts = CardFacts(card, spec, decide)
    if card.race is not msgspec.UNSET:
        return list(_race(facts, card.race))
    choice = choose(card, decide)
    lines = [*_choice(facts, choice)]
    if len(card.models) > 1:
        lines += [*_best_quality(facts, choice), *_first_rank(facts)]
    lines += _kept_out(facts)
    if choice.word != "NOT DECIDED":
        lines += _open_models(facts, [m.model for m in considered(card) if could_still_pass(m)])
        lines += _not_compared(facts, choice)
    return [*lines, *_how_sure(facts, choice)]


def _race(facts: CardFacts, race: RaceCard) -> Iterator[DecisionLine]:
    """State what a race decides; it recommends only if every cheaper model is decided    C-138"""
    rivals = unfinished_rivals(facts.card, race, facts.decide)
    if race.decision is not None and not rivals:
        yield from _race_choice(facts, race.decision)
    result = race_result(race, rivals, facts.decide.margin)
    best = None if race.decision is None else facts.card.model(race.decision)
    if best is not None and best.blockers:
        why = "best in the race, but kept out; the other models were not finished"
        result = DecisionLine("NOT DECIDED", result.models, why)
    yield result
    if best is not None and is_kept_out(best, facts.decide.allow_fail):
        yield from _kept_out(facts, [best.model])
    yield from race_exits(race)
    yield DecisionLine("HOW SURE", [], describe_guarantee(race))
    for other in race.all[1:]:  # decided by itself: the two kinds of data have no common score
        found = race_result(other, [], facts.decide.margin)
        yield DecisionLine(found.word, found.models, f"{race_name(other.drawn)}: {found.why}")


def _race_choice(facts: CardFacts, winner: str) -> Iterator[DecisionLine]:
    """State the recommendation: by the rule if several were finished, else the winner."""
    choice = choose(facts.card, facts.decide)
    if winner not in choice.candidates:
        return
    if len(choice.candidates) > 1:
        yield from _choice(facts, choice)
        return
    parts = ["best quality, and no cheaper model is as good", _numbers(facts, choice)]
    if doubts := "; ".join(_doubt(facts, choice, doubt) for doubt in choice.doubts):
        parts.append(f"Not certain: {doubts}")
    word = "LIKELY" if doubts else "RECOMMENDED"
    yield DecisionLine(word, [winner], ". ".join(parts))


def _choice(facts: CardFacts, choice: Choice) -> Iterator[DecisionLine]:
    """State what to take, why, and every doubt        C-138 rules 2 and 3"""
    if choice.word == "NOT DECIDED":
        yield from _open_models(facts, choice.models)
        return
    if choice.word == "NONE PASSES":
        yield DecisionLine(choice.word, choice.models, _why_none(facts, choice.models))
        return
    parts = [_reason(facts, choice), _numbers(facts, choice), *_weak_rows(facts, choice)]
    if labels := facts.labels(choice.models[0]):
        parts[1] += f", {labels}"
    known = [one for one in choice.doubts if choice.word != "TIE" or one not in OF_CALLS]
    doubts = [*_not_shown(facts, choice), *(_doubt(facts, choice, one) for one in known)]
    if doubts:
        parts.append(f"Not certain: {'; '.join(doubts)}")
    yield DecisionLine(choice.word, choice.models, ". ".join(parts))


def _reason(facts: CardFacts, choice: Choice) -> str:
    chosen = choice.models[0]
    if len(choice.candidates) == 1:
        return _reason_of_one(facts, chosen, choice.word)
    if len(choice.models) > 1:
        these = facts.these_calls(chosen)
        return f"cannot be distinguished with {these}{_why_tied(facts, choice)}"
    if choice.basis == "efficiency":
        return "best cost efficiency, as decide says"
    if choice.basis == "quality":
        return f"best quality; {_why_quality(facts, choice)}"
    return _reason_of_price(facts, choice)


def _reason_of_one(facts: CardFacts, name: str, word: str) -> str:
    rows = _failing(facts, name) or "no row rated Fail"
    others = [model for model in considered(facts.card) if model.model != name]
    if others and all(is_kept_out(other, facts.decide.allow_fail) for other in others):
        return f"the only one of {len(others) + 1} models that passes: no blocker, {rows}"
    return f"{'' if word == 'PASSES' else 'passes: '}no blocker, {rows}"


def _failing(facts: CardFacts, name: str) -> str:
    """Return `3 rows rated Fail`; empty if there is none."""
    rows = len(failing_rows(facts.card.model(name)))
    return f"{show_count(rows, 'row')} rated Fail" if rows else ""


def _why_tied(facts: CardFacts, choice: Choice) -> str:
    """Return why prices do not separate the models of a tie."""
    if choice.basis == "quality":
        return f"; {_why_quality(facts, choice)}"
    if choice.basis == "efficiency":
        return " by cost efficiency, as decide says"
    best = choice.candidates[0]
    cheaper = "" if best in choice.models else f", less than {facts.name(best)}"
    return f", and they cost the same{cheaper}"


def _why_quality(facts: CardFacts, choice: Choice) -> str:
    """Return why prices do not count: unknown, all zero, or decide says so."""
    if facts.decide.by == "quality":
        return "by quality, as decide says"
    unknown = [name for name in choice.candidates if facts.cost(name) is None]
    if unknown:
        names = facts.names(unknown)
        return f"by quality alone, as the price of {names} is unknown (--cost or price sets it)"
    return "by quality alone, as all are free"


def _reason_of_price(facts: CardFacts, choice: Choice) -> str:
    chosen, best = choice.models[0], choice.candidates[0]
    cost = facts.cost(chosen) or 0.0
    if chosen != best:
        share = cost / (facts.cost(best) or 1.0)
        price = f"at {100 * share:.2g} % of its price" if share else "and free"
        above, margin = facts.above(best, chosen), facts.decide.margin
        if above.ci95 is None:
            return f"{above.value:.3f} below {facts.name(best)}, {price}"
        if above.is_at_most(margin) is False:
            return f"cannot be distinguished from {facts.name(best)}, {price}"
        return f"not worse than {facts.name(best)} by more than {margin:g}, {price}"
    others = choice.candidates[1:]
    cheaper = [name for name in others if (facts.cost(name) or 0.0) < cost - TOLERANCE]
    if not cheaper:
        return f"best quality and lowest price of {len(others) + 1} models that pass"
    below = facts.above(best, cheaper[0])
    if not below.significant and below.ci95 is not None:
        chance = f"{below.value:.3f} lower, which may be chance"
        return f"best quality; {facts.name(cheaper[0])} is cheaper and {chance}"
    worse = f"{facts.name(cheaper[0])} is" if len(cheaper) == 1 else f"{len(cheaper)} are"
    return f"best quality; {worse} cheaper and worse"


def _numbers(facts: CardFacts, choice: Choice) -> str:
    """Return Final and price; for a cheaper model also those of the best one."""
    chosen, best = choice.models[0], choice.candidates[0]
    if chosen != best and len(choice.models) == 1:
        scores = f"{facts.score(chosen)} against {facts.score(best)}"
        return f"{facts.heading} {scores}, {facts.price(chosen, best, joint=' against ')}"
    scores = join_words(dict.fromkeys(facts.score(name) for name in choice.models))
    return f"{facts.heading} {scores}, {facts.price(*choice.models)}"


def _weak_rows(facts: CardFacts, choice: Choice) -> Iterator[str]:
    """Name the rows without a rating, which neither pass nor fail, and those allowed to fail."""
    name = choice.models[0]
    if len(choice.candidates) > 1 and (failing := _failing(facts, name)):
        yield f"{failing}, as decide allows"
    rated = {s for s, rule in facts.spec.metrics.items() if rule.bands and rule.template_row}
    rows = [
        facts.spec.metrics[slug].label
        for task in facts.card.model(name).tasks.values()
        for slug, metric in task.metrics.items()
        if metric.rating is None and metric.decides and slug in rated
    ]
    if rows:
        more = len(rows) - ROWS_NAMED
        yield f"Not rated: {', '.join(rows[:ROWS_NAMED])}" + (f", {more} more" if more > 0 else "")


def _not_shown(facts: CardFacts, choice: Choice) -> Iterator[str]:
    """Say what the claim limits do not show yet, and how many calls would show it."""
    if choice.is_shown or len(choice.models) > 1 or "no_intervals" in choice.doubts:
        return
    if choice.basis == "efficiency":
        yield "no limit is known for a ratio of score and price"
        return
    chosen, margin = choice.models[0], facts.decide.margin
    others = [name for name in choice.candidates if name != chosen]
    above = max((facts.above(name, chosen) for name in others), key=_highest)
    alpha = ALPHA / max(1, len(choice.candidates) - 1)
    needed = calls_for_claim(margin - above.value, above.deviation or 0.0, 1 - alpha)
    these = facts.these_calls(chosen)
    if above.upper_claim is None:
        yield "no limit was computed for it"
    elif needed is not None and needed > calls_of(facts.card.model(chosen)):
        is_equal = abs(above.value) <= TOLERANCE
        holds = (
            "if they are equal" if is_equal else f"if the difference of {-above.value:+.3f} holds"
        )
        yield f"{these} cannot show it, about {needed:,} {facts.unit}s would show it {holds}"
    else:
        yield f"{these} cannot show it"


def _highest(above: ModelDifference) -> float:
    """The highest value of a difference that its limits leave open."""
    if above.upper_claim is not None:
        return above.upper_claim
    return above.value if above.ci95 is None else above.ci95[1]


def _doubt(facts: CardFacts, choice: Choice, doubt: Doubt) -> str:
    model, judging = facts.card.model(choice.models[0]), facts.card.judging
    is_offline = judging is not None and (judging.judge or "").startswith("offline")
    why = "built-in rules replace a judge" if is_offline else "some rows are approximate"
    floor = show(final_floor(model) or 0.0)
    texts: dict[Doubt, str] = {
        "estimate": f"an estimate, {why}",
        "few_calls": f"only {show_count(calls_of(model), facts.unit)}",
        "no_intervals": "no intervals were computed",
        "floor": f"this data cannot separate it from reading nothing ({floor})",
    }
    return texts[doubt]


def _why_none(facts: CardFacts, models: Sequence[str]) -> str:
    final = facts.card.model(models[0]).final
    score = (
        final.zeroed_final if final.score is None else decisive_final(facts.card.model(models[0]))
    )
    remark = " with blocked calls counted as 0 (not official)" if final.score is None else ""
    shown = "" if score is None else f", {facts.heading} {show(score)}{remark}"
    if len(models) == 1:
        return f"it is kept out{shown}"
    number = "both" if len(models) == 2 else f"all {len(models)}"
    return f"{number} are kept out; the closest is {facts.name(models[0])}{shown}"


def _open_models(facts: CardFacts, names: Sequence[str]) -> Iterator[DecisionLine]:
    """Name what is missing for a Final, once for all models that lack the same        C-82"""
    reasons = {line.model: line.reason or "" for line in facts.ranking}
    by_reason: dict[str, list[str]] = {}
    for name in names:
        by_reason.setdefault(reasons.get(name, ""), []).append(name)
    judging = facts.card.judging
    is_judged = judging is not None and judging.judge is not None
    for reason, models in by_reason.items():
        tasks = facts.card.model(models[0]).tasks.values()
        waits = any(task.n == task.cases and task.status == "incomplete" for task in tasks)
        remedy = ", which --judge or --verdicts gives" if waits and not is_judged else ""
        yield DecisionLine("NOT DECIDED", models, reason + remedy)


def _not_compared(facts: CardFacts, choice: Choice) -> Iterator[DecisionLine]:
    """Name the models in question that cannot be compared with the others    C-79, C-125"""
    for line in facts.ranking:
        model = facts.card.model(line.model)
        if line.model in choice.candidates or model not in considered(facts.card):
            continue
        if is_in_question(model, facts.decide.allow_fail):
            estimate = "an estimate, which is not compared with official scores"
            yield DecisionLine("NOT DECIDED", [line.model], line.reason or estimate)


def _best_quality(facts: CardFacts, choice: Choice) -> Iterator[DecisionLine]:
    scores = {model.model: decisive_final(model) or 0.0 for model in considered(facts.card)}
    ranked = [line for line in facts.ranking if line.model in scores and line.quality_rank]
    ranked = [line for line in ranked if not line.estimate] or ranked
    if not ranked:
        return
    top = max(scores[line.model] for line in ranked)
    best = [line.model for line in ranked if scores[line.model] >= top - TOLERANCE]
    why = f"{facts.heading} {facts.score(best[0])}"
    if best != choice.models:
        why += f", {facts.price(*best)}"
    if not is_in_question(facts.card.model(best[0]), facts.decide.allow_fail):
        why += "; kept out, see below"
    yield DecisionLine("BEST QUALITY", best, why)


def _first_rank(facts: CardFacts) -> Iterator[DecisionLine]:
    """State the framework's first rank, and how many of its rows are rated Fail        C-86"""
    first = [line for line in facts.ranking if line.rank == 1]
    first = [line for line in first if not line.estimate] or first
    if not first:
        return
    models = [line.model for line in first]
    score = show(facts.card.model(models[0]).final.score or 0.0)
    why = f"by cost efficiency, {facts.heading} {score} at {facts.price(*models)}"
    failing = _failing(facts, models[0])
    yield DecisionLine("RANK 1", models, "; ".join(filter(None, [why, failing])))


def _kept_out(facts: CardFacts, only: Sequence[str] = ()) -> Iterator[DecisionLine]:
    """State what keeps models out, the closest first        C-138 rule 4"""
    reasons = {line.model: line.reason or "" for line in facts.ranking}
    models = [m for m in considered(facts.card) if not only or m.model in only]
    for model in sorted(models, key=closest_first):
        if is_kept_out(model, facts.decide.allow_fail):
            why = describe_obstacles(
                model,
                facts.spec,
                tolerance=facts.call_gate_tolerance,
                allow_fail=facts.decide.allow_fail,
            )
            yield DecisionLine("OUT", [model.model], why or reasons.get(model.model, ""))


def _how_sure(facts: CardFacts, choice: Choice) -> Iterator[DecisionLine]:
    """State the calls, the share that may fail unseen, and what separates first and second."""
    calls = max(calls_of(facts.card.model(name)) for name in choice.models)
    if not calls:
        return
    parts = [describe_unseen(calls, facts.unit)]
    first = choice.models[0]
    others = [name for name in choice.candidates if name != first]
    if others and facts.card.intervals is not None:
        second = choice.models[1] if len(choice.models) > 1 else others[0]
        names = (facts.name(first), facts.name(second))
        parts.append(describe_separation(facts.above(first, second), *names, unit=facts.unit))
    yield DecisionLine("HOW SURE", [], "; ".join(parts))


STYLES: Mapping[Tone, str] = {
    "plain": "",
    "good": "green",
    "middling": "yellow",
    "bad": "red",
    "blocked": "bold red",
    "quiet": "dim",
}
KEYWORD_WIDTH = 17
"""The indentation of the sentences."""
NARROWEST = 20


def statement_lines(statements: Sequence[Statement], width: int) -> Iterator[Line]:
    """Yield the lines of all statements."""
    for statement in statements:
        style = STYLES[statement.tone]
        keyword = StyledText(f"{statement.keyword:<{KEYWORD_WIDTH}}", f"bold {style}".strip())
        indent = StyledText(" " * KEYWORD_WIDTH)
        sentences = [StyledText(statement.text, "dim" if statement.tone == "quiet" else "")]
        for number, line in enumerate(paragraph(sentences, max(NARROWEST, width - KEYWORD_WIDTH))):
            yield [indent if number else keyword, *line]
