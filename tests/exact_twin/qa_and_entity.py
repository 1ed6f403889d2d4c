"""QA and Entity measures in fractions (003 Tasks 1 and 2)."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from exact_twin.exact import (
    ABSENT,
    TOLERANCE,
    UNDEFINED,
    WAITING,
    Exact,
    Json,
    Values,
    Words,
    by_id,
    contains_words,
    count,
    is_absent,
    is_empty,
    n1,
    n2,
    number,
    share,
    spoken_text,
    vacuous,
)

EVIDENCE = "qa.evidence_backed_reasoning"
POINTS = {"vague": 0, "differs": 1, "absent": 1, "as_described": 2, "cannot_tell": 0}
TIME_ALONE = re.compile(r"(at )?\d\d:\d\d\.?", re.IGNORECASE)


def qa(case: Json, answer: Json, words: Words) -> Values:
    expected = {n1(str(q["question_id"])): q for q in case["expected_outcome"]["questions"]}
    given = by_id(answer["questions"], "question_id", list(expected))
    asked = {key: q for key, q in expected.items() if q["score"] is not None}
    gaps = [_gap(q, given.get(key)) for key, q in asked.items()]
    correct = sum(_is_correct(q, given.get(key)) for key, q in asked.items())
    pass_fail = {key: q for key, q in asked.items() if q["type"] == "PASS_FAIL"}
    passed = sum(_is_false_pass(q, given.get(key)) for key, q in pass_fail.items())
    evidence = _evidence(asked, given, words)
    wrong = share(passed, len(pass_fail)) if pass_fail else UNDEFINED
    return {
        "qa.question_score_accuracy": share(correct, len(asked)) if asked else UNDEFINED,
        "qa.score_gap_accuracy": share(len(gaps) - sum(gaps), len(gaps)) if asked else UNDEFINED,
        EVIDENCE: ABSENT if is_absent(case, "reason") else evidence,
        "qa.false_pass_rate": wrong._replace(value=None if not pass_fail else 100 * _value(wrong)),
    }


def _value(exact: Exact) -> Fraction:
    assert exact.value is not None
    return exact.value


def _given_scores(question: Json, item: Json | None) -> tuple[Fraction | None, Fraction | None]:
    """The model's score and its own maximum."""
    if item is None:
        return None, None
    return number(item["score"]), number(item["max_score"])


def _is_correct(question: Json, item: Json | None) -> bool:
    score, maximum = _given_scores(question, item)
    top, wanted = Fraction(str(question["max_score"])), Fraction(str(question["score"]))
    if score is None or maximum != top or not 0 <= score <= top:
        return False
    margin = top / 10 if question["type"] == "SCORE" else Fraction(0)
    return abs(score - wanted) <= margin + TOLERANCE


def _gap(question: Json, item: Json | None) -> Fraction:
    score, maximum = _given_scores(question, item)
    top, wanted = Fraction(str(question["max_score"])), Fraction(str(question["score"]))
    if score is None or maximum != top:
        return Fraction(1)
    return min(Fraction(1), abs(score - wanted) / top)


def _is_false_pass(question: Json, item: Json | None) -> bool:
    score, maximum = _given_scores(question, item)
    if score is None or question["score"] != 0:
        return False
    own = maximum is not None and maximum > 0 and score >= maximum - TOLERANCE
    return own or score >= Fraction(str(question["max_score"])) - TOLERANCE


def _evidence(asked: dict[str, Json], given: dict[str, Json], words: Words) -> Exact:
    points = [
        _points(q, given.get(key), words.get((EVIDENCE, key), ())) for key, q in asked.items()
    ]
    if not points:
        return UNDEFINED
    if None in points:
        return WAITING
    return share(sum(point or 0 for point in points), 2 * len(points))


def _points(question: Json, item: Json | None, lines: Any) -> int | None:
    reason = item.get("reason") if item is not None else None
    if not isinstance(reason, str) or is_empty(reason) or TIME_ALONE.fullmatch(reason):
        return 0
    points = [POINTS[line["verdict"]] for line in lines if line["verdict"] in POINTS]
    if not points and question.get("reason") and n2(reason) == n2(question["reason"]):
        return 2
    return min(points) if points else None


def entity(case: Json, answer: Json, words: Words) -> Values:
    expected, config = case["expected_outcome"], case["config"]
    aliases = {n2(f): n2(name) for name, fs in config.get("aliases", {}).items() for f in fs}
    listed = _configured(config)
    has_list = listed is not None or not is_absent(case, "valid_entity_set")
    configured = _entity_keys(listed or expected.get("valid_entity_set", ()), aliases)
    known = configured | _entity_keys(expected.get("valid_entity_set", ()), aliases)
    values: Values = {}
    found: dict[str, set[Any]] = {}
    wanted: dict[str, set[Any]] = {}
    for kind in ("keyword", "topic"):
        name = f"detected_{kind}s"
        wanted[kind] = _entity_keys(expected.get(name, ()), aliases)
        found[kind] = set() if is_absent(case, name) else _entity_keys(answer[name], aliases)
        known |= wanted[kind]
        detection = _detection(wanted[kind], found[kind])
        for measure, exact in zip(("precision", "recall", "f1"), detection, strict=True):
            values[f"entity.{kind}_{measure}"] = ABSENT if is_absent(case, name) else exact
    total = sum(map(len, found.values()))
    listed_total = sum(len(keys & configured) for keys in found.values())
    is_silent = not total and any(wanted.values())
    adherence = share(listed_total, total) if total else vacuous(0 if is_silent else 1)
    values["entity.config_adherence"] = adherence if has_list else ABSENT
    said = n2(spoken_text(case))
    reported = found["keyword"] | found["topic"]
    made_up = [key for key in reported - known if not _is_spoken(key, said)]
    values["entity.fabricated_count"] = count(len(made_up))
    values["entity.cross_language_match_rate"] = _cross_language(case, aliases, wanted, found)
    return values


def _configured(config: Json) -> list[str] | None:
    if "keywords" in config or "topics" in config:
        return [*config.get("keywords", ()), *config.get("topics", ())]
    return list(config["entities"]) if "entities" in config else None


def _entity_keys(forms: Any, aliases: dict[str, str]) -> set[Any]:
    """Each entity once; a value that is not a text is a separate entity (C-41)."""
    keys: set[Any] = set()
    for form in forms:
        if not isinstance(form, str):
            keys.add((type(form), form))
        elif n2(form):
            keys.add(aliases.get(n2(form), n2(form)))
    return keys


def _is_spoken(key: Any, said: str) -> bool:
    return isinstance(key, str) and contains_words(key, said)


def _detection(wanted: set[Any], found: set[Any]) -> tuple[Exact, Exact, Exact]:
    """The table of C-13."""
    if not wanted and not found:
        return vacuous(1), vacuous(1), vacuous(1)
    hits = len(wanted & found)
    precision = share(hits, len(found)) if found else UNDEFINED
    recall = share(hits, len(wanted)) if wanted else UNDEFINED
    return precision, recall, share(2 * hits, len(wanted) + len(found))


def _language(tag: Any) -> str:
    primary = str(tag).split("-")[0].lower()
    return primary if len(primary) in (2, 3) and primary.isalpha() else ""


def _cross_language(
    case: Json, aliases: dict[str, str], wanted: dict[str, set[Any]], found: dict[str, set[Any]]
) -> Exact:
    given = case["config"].get("entity_language")
    spoken_language = _language(case.get("lang", ""))
    if given is None or not spoken_language:
        return UNDEFINED
    by_entity = given if isinstance(given, dict) else None
    tags = {aliases.get(n2(e), n2(e)): tag for e, tag in (by_entity or {}).items()}
    hits = total = 0
    for kind, keys in wanted.items():
        for key in keys:
            language = _language(tags.get(key, "") if by_entity is not None else given)
            if language and language != spoken_language:
                total += 1
                hits += key in found[kind]
    return share(hits, total) if total else UNDEFINED
