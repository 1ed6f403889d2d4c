"""C-01 … C-22: levels, states, arithmetic, untrusted JSON; each test carries its entry's id."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from builders import (
    Json,
    entity_case,
    entity_output,
    evidence_verdicts,
    form,
    output,
    qa_case,
    question,
    score,
    text_case,
    text_outcome,
    translation_case,
    translation_outcome,
)
from calls_suite import formula_for, template
from callscore.core.case import Case, Reply
from callscore.core.errors import DataError
from callscore.core.judging import NO_VERDICTS
from callscore.core.spec import Band, Rating, holds, rate
from callscore.metrics.rounding import half_up
from callscore.metrics.text import n1, n2
from callscore.report.cells import scorecard_rows
from callscore.report.numbers import show, show_near_limits
from callscore.scorecard.formula import score_case
from callscore.suites.calls import spec
from callscore.suites.calls.entity.task import EntityTask
from callscore.suites.calls.items import match_items
from entity_cases import unchecked_reference


def good(case_id: str = "c1") -> dict[str, object]:
    return output(case_id, form(question()))


def claims(case_id: str, total: int, fabricated: int) -> list[dict[str, object]]:
    return [
        {
            "case_id": case_id,
            "model": "m",
            "metric": "text.fabrication_free",
            "item": f"claim:{i}",
            "text": f"claim {i}",
            "verdict": "not_found" if i <= fabricated else "supported_by_transcript",
        }
        for i in range(1, total + 1)
    ]


def test_c01_a_provider_failure_is_an_error_and_a_refusal_is_invalid(tmp_path: Path) -> None:
    cases = [qa_case([question()], "down"), qa_case([question()], "refused")]
    outputs = [
        {"case_id": "down", "model": "m", "error": "HTTP 503 five times"},
        output("refused", "I cannot help"),
    ]
    down, refused = score(cases, outputs, tmp_path).results
    assert (down["status"], down["score"]) == ("error", None)
    assert (refused["status"], refused["reasons"]) == ("invalid", ["qa.structure"])
    assert refused["flags"] == ["refusal"]


def test_c02_one_case_gives_the_model_the_result_of_the_case(tmp_path: Path) -> None:
    expected = [question("Q1", 0), question("Q2")]
    given = form(question("Q1", 5), question("Q2"))
    scored = score([qa_case(expected)], [output("c1", given)], tmp_path)
    case = scored.results[0]
    assert (case["status"], case["reasons"]) == ("invalid", ["qa.false_pass_rate"])
    task = scored.task()
    assert (task.status, task.reasons) == ("invalid", ["qa.false_pass_rate"])
    assert task.ungated_score == case["ungated_score"]
    assert {slug: metric.value for slug, metric in task.metrics.items()} == case["metrics"]


def outcome_of_many_facts() -> Json:
    """An outcome that states so much that no claim of these tests is padding (C-136)."""
    outcome = text_outcome()
    fields = outcome["summary"]["call_extracted_info"]
    fields |= {f"detail {number}": f"value {number}" for number in range(10)}
    return outcome


def test_c03_one_fabricated_fact_in_two_thousand_blocks_the_call_alone(tmp_path: Path) -> None:
    ids = [f"c{i}" for i in range(100)]
    verdicts = [v for i, cid in enumerate(ids) for v in claims(cid, 20, fabricated=int(i == 0))]
    scored = score(
        [text_case(outcome_of_many_facts(), cid) for cid in ids],
        [output(cid, outcome_of_many_facts()) for cid in ids],
        tmp_path,
        verdicts,
    )
    assert scored.results[0]["status"] == "invalid"
    assert scored.results[0]["metrics"]["text.hallucination_rate"] == pytest.approx(5)
    assert scored.value("text.hallucination_rate") == pytest.approx(0.05)
    assert scored.task("text").status == "valid"
    assert scored.task("text").blocked_calls == 1


@pytest.mark.parametrize(("tolerance", "status"), [(0, "invalid"), (0.02, "valid")])
def test_c03_one_broken_json_leaves_the_rows_and_lowers_the_score(
    tmp_path: Path, tolerance: float, status: str
) -> None:
    ids = [f"c{i}" for i in range(100)]
    outputs = [output(cid, text_outcome() if cid != "c7" else "{broken") for cid in ids]
    scored = score(
        [text_case(case_id=cid) for cid in ids],
        outputs,
        tmp_path,
        settings={"call_gate_tolerance": tolerance},
    )
    task = scored.task("text")
    assert task.status == status
    rows = {slug: (m.value, m.n) for slug, m in task.metrics.items() if m.unit != "count"}
    assert rows.pop("text.structure") == (0.99, 100)
    assert rows.pop("text.hallucination_rate") == (0, 99)
    assert set(rows.values()) == {(1.0, 99)}
    assert task.metrics["text.fabrication_free"].gate_value == 1
    assert task.ungated_score == pytest.approx(0.99)
    assert task.unblocked_share == pytest.approx(0.99)
    official, unofficial = (task.score, task.zeroed_score)[:: 1 if tolerance else -1]
    assert (official, unofficial) == (0.99, None)
    assert task.metrics["text.structure"].rating == ("Fail" if tolerance else "Blocker")


def test_c03_three_missing_labels_block_the_call_and_change_no_row(tmp_path: Path) -> None:
    outcome = text_outcome()
    outcome["sentiment"] = [
        {"sentence_id": i, "text": f"sentence {i}", "label": "neutral"} for i in range(50)
    ]
    given = {**outcome, "sentiment": outcome["sentiment"][:47]}
    scored = score([text_case(outcome)], [output("c1", given)], tmp_path)
    assert scored.task("text").status == "invalid"
    assert scored.task("text").reasons == ["text.missing_labels"]
    assert scored.value("text.sentiment_accuracy") == 0.94
    assert scored.rating("text.missing_labels") == "Blocker"
    assert scored.value("text.fabrication_free") == 1
    assert scored.value("text.dominant_emotion") == 1
    assert scored.task("text").zeroed_score == 0


def test_c03_a_wrong_intent_leaves_the_sentiment_of_its_call_alone(tmp_path: Path) -> None:
    wrong = text_outcome()
    wrong["summary"] = {**wrong["summary"], "call_purpose": ""}
    ids = [f"c{i}" for i in range(10)]
    outputs = [output(cid, wrong if cid == "c3" else text_outcome()) for cid in ids]
    scored = score([text_case(case_id=cid) for cid in ids], outputs, tmp_path)
    assert scored.value("text.sentiment_accuracy") == 1.0
    assert scored.value("text.call_intent") == 0.9
    assert scored.task("text").reasons == ["text.call_intent"]


def test_c03_a_call_that_breaches_several_gates_is_listed_under_each(tmp_path: Path) -> None:
    given = entity_output(["boats", "planes", "trains"])
    case = entity_case(["refund"], configured=["refund"])
    scored = score([case], [output("c1", given)], tmp_path)
    breached = {blocker.metric: list(blocker.cases) for blocker in scored.model.blockers}
    assert breached == {"entity.fabricated_count": ["c1"], "entity.config_adherence": ["c1"]}
    adherence = scored.task("entity").metrics["entity.config_adherence"]
    assert (adherence.value, adherence.gate_value, adherence.rating) == (0.0, 0.0, "Blocker")
    assert [b.value for b in scored.model.blockers if b.metric == "entity.config_adherence"] == [0]


def test_c03_one_case_in_breach_of_a_call_gate_equals_the_model(tmp_path: Path) -> None:
    scored = score([text_case()], [output("c1", "{broken")], tmp_path)
    task, case = scored.task("text"), scored.results[0]
    assert (task.status, task.ungated_score) == (case["status"], case["ungated_score"])
    assert (task.ungated_score, task.zeroed_score, task.unblocked_share) == (None, 0, 0)


def test_c03_a_rate_that_is_half_judged_proves_no_breach(tmp_path: Path) -> None:
    other = text_outcome()
    other["summary"] = {**other["summary"], "highlights": ["Something new was said"]}
    scored = score(
        [text_case(case_id=i) for i in "ab"],
        [output("a", text_outcome()), output("b", other)],
        tmp_path,
        claims("a", 4, fabricated=1),
    )
    assert scored.results[0]["status"] == "invalid"
    assert scored.task("text").status == "incomplete"
    assert scored.rating("text.fabrication_free") is None


def test_c04_an_invalid_score_keeps_what_could_be_computed(tmp_path: Path) -> None:
    expected = [question(f"Q{i}", 0 if i == 1 else 5, kind="SCORE") for i in range(1, 20)]
    pass_fail = [question("P1", 0)] + [question(f"P{i}") for i in range(2, 21)]
    given = form(question("P1", 5), *pass_fail[1:], *expected)
    scored = score([qa_case([*pass_fail, *expected])], [output("c1", given)], tmp_path)
    case = scored.results[0]
    assert case["metrics"]["qa.false_pass_rate"] == pytest.approx(5)
    assert case["score"] is None
    assert case["ungated_score"] is not None
    assert case["reasons"] == ["qa.false_pass_rate"]


@pytest.mark.parametrize(("gates", "expected"), [("all", None), ("formula_only", 0.9856)])
def test_c05_every_marked_row_is_a_gate(gates: str, expected: float | None) -> None:
    # 47 of 50 distinct entities are configured: adherence 0.94, all of them expected. A data set
    # that expects what it does not configure is refused (C-131), so this is a case by itself.
    names = [f"word{i}" for i in range(50)]
    given = entity_case(names, configured=names[:47], transcript=" ".join(names))
    task = EntityTask(spec.make_settings())
    reference = unchecked_reference(msgspec.convert(given, Case))
    answer = task.read(reference, Reply(msgspec.json.encode(entity_output(names))))
    result = score_case(
        formula_for("entity", spec.make_settings({"gates": gates})),
        task.measure(reference, answer, NO_VERDICTS),
    )
    assert result.values["entity.config_adherence"] == pytest.approx(0.94)
    assert result.score == (None if expected is None else pytest.approx(expected))
    assert list(result.reasons) == (["entity.config_adherence"] if gates == "all" else [])


def test_c06_the_mean_over_calls_is_official_and_the_pooled_value_stands_beside_it(
    tmp_path: Path,
) -> None:
    def of(case_id: str, right: int, total: int) -> tuple[dict[str, object], dict[str, object]]:
        expected = [question(f"Q{i}") for i in range(total)]
        given = [question(f"Q{i}", 5 if i < right else 4) for i in range(total)]
        return qa_case(expected, case_id), output(case_id, form(*given))

    pairs = [of("a", 1, 2), of("b", 9, 10)]
    scored = score([case for case, _ in pairs], [given for _, given in pairs], tmp_path)
    accuracy = scored.task().metrics["qa.question_score_accuracy"]
    assert accuracy.value == pytest.approx(0.70)
    assert accuracy.micro == pytest.approx(10 / 12)
    assert accuracy.macro == accuracy.value
    means = [result["ungated_score"] for result in scored.results]
    assert scored.task().ungated_score == pytest.approx(sum(means) / 2)


def test_c06_calls_with_nothing_to_count_do_not_dilute_a_pooled_rate(tmp_path: Path) -> None:
    plain, term = ("c1 source", "uno"), ("the KYC", "el KYC")

    def case(case_id: str, source: str, target: str, terms: list[dict[str, str]]) -> Any:
        expected = translation_outcome(source, target) | {"domain_terms_handled": terms}
        return translation_case(source, target) | {"id": case_id, "expected_outcome": expected}

    cases = [case(f"c{i}", *plain, []) for i in range(9)]
    cases.append(case("c9", *term, [{"term": "KYC", "handled_as": "KYC"}]))
    outputs = [output(c["id"], c["expected_outcome"]) for c in cases[:9]]
    wrong = translation_outcome("the KYC", "el control") | {
        "domain_terms_handled": [{"term": "KYC", "handled_as": "KYC"}]
    }
    scored = score(cases, [*outputs, output("c9", wrong)], tmp_path)
    terms = scored.task("translation").metrics["translation.domain_terms"]
    assert (terms.value, terms.micro, terms.macro) == (0.0, 0.0, 0.9)
    assert (terms.rating, terms.gate_value, terms.n) == ("Blocker", 0.0, 1)
    assert "translation.domain_terms" in scored.task("translation").reasons
    clean = score(cases[:9], outputs, tmp_path).task("translation")
    untouched = clean.metrics["translation.domain_terms"]
    assert (untouched.value, untouched.vacuous, untouched.gate_value) == (1.0, True, None)


@pytest.mark.parametrize("where", range(5))
def test_c06_a_fabricated_fact_weighs_the_same_in_every_call(tmp_path: Path, where: int) -> None:
    ids = [f"c{i}" for i in range(5)]
    verdicts = [v for i, cid in enumerate(ids) for v in claims(cid, 20, fabricated=int(i == where))]
    scored = score(
        [text_case(outcome_of_many_facts(), cid) for cid in ids],
        [output(cid, outcome_of_many_facts()) for cid in ids],
        tmp_path,
        verdicts,
    )
    assert scored.value("text.fabrication_free") == 0.99
    assert scored.value("text.hallucination_rate") == 1.0


def test_c06_two_valid_calls_give_their_mean(tmp_path: Path) -> None:
    def of(case_id: str, right: int) -> tuple[dict[str, object], dict[str, object]]:
        expected = [question(f"Q{i}", reason="") for i in range(10)]
        given = [question(f"Q{i}", 5 if i < right else 0, reason="") for i in range(10)]
        return qa_case(expected, case_id), output(case_id, form(*given))

    pairs = [of("a", 8), of("b", 6)]
    scored = score([case for case, _ in pairs], [given for _, given in pairs], tmp_path)
    first, second = (result["ungated_score"] for result in scored.results)
    assert scored.task().score == pytest.approx((first + second) / 2)


def test_c07_runs_are_averaged_within_the_case_first(tmp_path: Path) -> None:
    five = [question(f"Q{i}") for i in range(5)]
    cases = [qa_case([question()], "A"), qa_case(five, "B")]
    four_right = form(*five[:4], question("Q4", 4))
    outputs = [
        output("A", form(question())),
        output("A", form(question(score=0)), run=2),
        output("B", four_right),
        output("B", four_right, run=2),
    ]
    scored = score(cases, outputs, tmp_path)
    assert scored.value("qa.question_score_accuracy") == pytest.approx(0.65)
    assert "|repeats:2|" in scored.card.signature
    others = [output(case, four_right, "other") for case in ("A", "B")]
    assert "|repeats:1+2|" in score(cases, [*outputs, *others], tmp_path).card.signature
    assert [(r["case_id"], r["run"]) for r in scored.results] == [
        ("A", 1),
        ("A", 2),
        ("B", 1),
        ("B", 2),
    ]


def test_c07_the_counts_of_runs_are_pooled_with_equal_weights(tmp_path: Path) -> None:
    """Case a: 1 of 10 false passes in one of two runs; case b: none of 10, run once."""
    ten = [question(f"Q{i}", 0) for i in range(10)]
    wrong = form(question("Q0", 5), *ten[1:])
    outputs = [output("a", form(*ten)), output("a", wrong, run=2), output("b", form(*ten))]
    scored = score([qa_case(ten, "a"), qa_case(ten, "b")], outputs, tmp_path)
    rate = scored.task().metrics["qa.false_pass_rate"]
    assert rate.value == pytest.approx(100 * 0.5 / 20)
    assert rate.resolution == pytest.approx(5)


def test_c07_a_case_is_blocked_where_any_of_its_runs_is(tmp_path: Path) -> None:
    outputs = [
        output("a", text_outcome(), run=1),
        output("a", "{broken", run=2),
        output("b", text_outcome(), run=1),
        output("b", text_outcome(), run=2),
    ]
    scored = score([text_case(case_id=c) for c in "ab"], outputs, tmp_path)
    task = scored.task("text")
    assert task.unblocked_share == 0.5
    assert task.metrics["text.structure"].value == 0.75
    (blocker,) = scored.model.blockers
    assert (blocker.metric, blocker.share_of_runs) == ("text.structure", 0.25)
    assert (task.zeroed_score, task.ungated_score) == (0.5, 0.75)


def test_c08_comparisons_forgive_the_last_digits_of_floats() -> None:
    mean = (0.85 + 0.95 + 0.90) / 3
    assert rate(mean, (Band(Rating.GOOD, ">=", 0.90),), Rating.FAIL) is Rating.GOOD
    assert holds(abs(1.1 - 0.6), "<=", 0.5)
    assert holds(100 * 7 / 100, "<=", 7)


def test_c61_the_card_says_how_many_facts_are_behind_a_rate(tmp_path: Path) -> None:
    ids = ["a", "b"]
    verdicts = [verdict for case_id in ids for verdict in claims(case_id, 20, fabricated=0)]
    scored = score(
        [text_case(outcome_of_many_facts(), case_id) for case_id in ids],
        [output(case_id, outcome_of_many_facts()) for case_id in ids],
        tmp_path,
        verdicts,
    )
    found = scored.task("text").metrics
    assert found["text.fabrication_free"].facts == found["text.hallucination_rate"].facts == 40
    assert found["text.call_intent"].facts is None
    cells = {row.template.key: row.cells[0].text for row in scorecard_rows(scored.card, template())}
    assert cells["text.fabrication_free"] == "1.000 ✓ Good (40 facts)"


def test_c07_the_share_of_runs_in_breach_is_reported(tmp_path: Path) -> None:
    cases = [qa_case([question()], case_id) for case_id in ("a", "b")]
    answers = [good("a"), good("a"), good("b"), output("b", "no JSON")]
    outputs = [{**answer, "run": 1 + place % 2} for place, answer in enumerate(answers)]
    (blocker,) = score(cases, outputs, tmp_path).model.blockers
    assert (blocker.cases, blocker.share_of_runs) == (["b"], 0.25)
    once = score(cases, [good("a"), output("b", "no JSON")], tmp_path).model.blockers[0]
    assert once.share_of_runs is None


def test_c07_every_run_in_breach_counts_in_the_share_of_runs(tmp_path: Path) -> None:
    cases = [qa_case([question()], case_id) for case_id in ("a", "b")]
    broken = {"a": (1, 2), "b": (2,)}
    outputs = [
        {**(output(name, "no JSON") if run in broken[name] else good(name)), "run": run}
        for name in "ab"
        for run in (1, 2)
    ]
    (blocker,) = score(cases, outputs, tmp_path).model.blockers
    assert (blocker.cases, blocker.share_of_runs) == (["a", "b"], 0.75)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.9142, "0.914"), (0.8025, "0.803"), ((0.95 + 0.88 + 0.42 + 0.96) / 4, "0.803")],
)
def test_c09_ties_are_shown_away_from_zero(value: float, shown: str) -> None:
    assert show(value) == shown


def test_c09_a_missed_limit_never_looks_met() -> None:
    assert half_up(0.8996, 3) == "0.900"
    for slug in ("qa.question_score_accuracy", "qa.score_gap_accuracy"):  # Acceptable, Good
        bands = spec.load_spec().metrics[slug].bands
        assert show_near_limits(0.8996, "fraction", bands) == "<0.900"
        assert show_near_limits(0.9, "fraction", bands) == "0.900"


@pytest.mark.parametrize(
    ("value", "rating"), [(0.95, "Good"), (0.90, "Acceptable"), (0.8999, "Fail")]
)
def test_c10_lower_bounds_are_inclusive(value: float, rating: str) -> None:
    metric = spec.load_spec().metrics["qa.question_score_accuracy"]
    assert rate(value, metric.bands, metric.otherwise) == rating


@pytest.mark.parametrize(
    ("slug", "value", "rating"),
    [
        ("entity.config_adherence", 1, "Good"),
        ("entity.config_adherence", 0.995, "Acceptable"),
        ("entity.config_adherence", 0.95, "Acceptable"),
        ("entity.config_adherence", 0.9499, "Blocker"),
        ("text.hallucination_rate", 0, "Good"),
        ("text.hallucination_rate", 0.5, "Acceptable"),
        ("text.hallucination_rate", 2, "Acceptable"),
        ("text.hallucination_rate", 2.5, "Fail"),
        ("text.hallucination_rate", 3, "Fail"),
        ("text.hallucination_rate", 3.0001, "Blocker"),
        ("text.fabrication_free", 0.97, "Fail"),
        ("text.fabrication_free", 0.9699, "Blocker"),
        ("translation.critical_facts", 0.95, "Blocker"),
        ("translation.critical_facts", 0.97, "Acceptable"),
        ("translation.critical_facts", 1, "Good"),
        ("qa.false_pass_rate", 1, "Good"),
        ("qa.false_pass_rate", 3, "Acceptable"),
        ("entity.fabricated_count", 2, "Warning"),
        ("entity.fabricated_count", 3, "Blocker"),
        ("translation.completeness", 0.9499, "Fail"),
        ("translation.domain_terms", 0.8999, "Blocker"),
    ],
)
def test_c11_bands_leave_no_gap(slug: str, value: float, rating: str) -> None:
    metric = spec.load_spec().metrics[slug]
    assert rate(value, metric.bands, metric.otherwise) == rating


def test_c11_a_blocked_critical_fact_rate_keeps_its_printed_severity() -> None:
    severities = spec.load_spec().metrics["translation.critical_facts"].severities
    assert [
        severity.name for severity in severities if holds(0.95, severity.comparison, severity.limit)
    ]
    assert not [s for s in severities if holds(0.5, s.comparison, s.limit)]


def test_c12_a_mean_of_intents_is_rated_by_its_own_bands(tmp_path: Path) -> None:
    ids = ["a", "b", "c"]
    verdicts = [
        {
            "case_id": "c",
            "model": "m",
            "metric": "text.call_intent",
            "item": "call_purpose",
            "verdict": "same_domain_incomplete",
        }
    ]
    other = text_outcome()
    other["summary"] = {**other["summary"], "call_purpose": "Customer asking about billing"}
    outputs = [output("a", text_outcome()), output("b", text_outcome()), output("c", other)]
    scored = score([text_case(case_id=i) for i in ids], outputs, tmp_path, verdicts)
    assert scored.value("text.call_intent") == pytest.approx(5 / 6)
    assert scored.rating("text.call_intent") == "Acceptable"


def test_c12_a_share_of_right_emotions_has_no_rating(tmp_path: Path) -> None:
    wrong = text_outcome(emotion={"anger": 10, "neutral": 90})
    outputs = [output("a", text_outcome()), output("b", wrong)]
    scored = score([text_case(case_id=i) for i in "ab"], outputs, tmp_path)
    assert scored.value("text.dominant_emotion") == 0.5
    assert scored.rating("text.dominant_emotion") is None


@pytest.mark.parametrize(
    ("expected", "detected", "f1"), [([], [], 1.0), ([], ["x"], 0.0), (["x"], [], 0.0)]
)
def test_c13_empty_sets_have_agreed_values(
    tmp_path: Path, expected: list[str], detected: list[str], f1: float
) -> None:
    scored = score(
        [entity_case(expected, configured=["x"])], [output("c1", entity_output(detected))], tmp_path
    )
    assert scored.value("entity.keyword_f1") == f1


def test_c14_rates_are_percent_and_say_so(tmp_path: Path) -> None:
    expected = [question("Q0", 0)] + [question(f"Q{i}") for i in range(1, 20)]
    given = form(question("Q0", 5), *expected[1:])
    metric = (
        score([qa_case(expected)], [output("c1", given)], tmp_path)
        .task()
        .metrics["qa.false_pass_rate"]
    )
    assert metric.value == pytest.approx(5.0)
    assert metric.unit == "percent"


@pytest.mark.parametrize(
    "name", ["Reason Quality", "Evidence-Backed Reasoning", "qa.evidence_backed_reasoning"]
)
def test_c15_every_name_of_a_metric_maps_to_one_slug(tmp_path: Path, name: str) -> None:
    expected = [question(reason="The agent greeted the caller at once")]
    verdict = {**evidence_verdicts("c1", "Q1")[0], "metric": name}
    given = form(question(reason="Said 'Good morning' at 00:12"))
    scored = score([qa_case(expected)], [output("c1", given)], tmp_path, [verdict])
    assert scored.value("qa.evidence_backed_reasoning") == 1.0


def test_c15_all_listed_aliases_are_known() -> None:
    for alias, slug in {
        "Calibration Score": "qa.score_gap_accuracy",
        "Score Gap Accuracy": "qa.score_gap_accuracy",
        "Hallucination Score": "text.fabrication_free",
        "Fabrication-Free Rate": "text.fabrication_free",
        "Meaning Drift Score": "translation.critical_facts",
        "Critical Fact Preservation Rate": "translation.critical_facts",
    }.items():
        assert spec.slug_of(alias) == slug


def test_c16_the_tick_means_the_printed_threshold(tmp_path: Path) -> None:
    names = [f"word{i}" for i in range(25)]
    case = entity_case(names, configured=names[:24], transcript=" ".join(names))
    metric = (
        score([case], [output("c1", entity_output(names))], tmp_path)
        .task("entity")
        .metrics["entity.config_adherence"]
    )
    assert metric.value == pytest.approx(0.96)
    assert (metric.meets_threshold, metric.rating) == (True, "Acceptable")


def test_c17_a_number_that_call_intent_does_not_have_is_refused(tmp_path: Path) -> None:
    verdict = {
        "case_id": "c1",
        "model": "m",
        "metric": "text.call_intent",
        "item": "call_purpose",
        "value": 0.7,
    }
    with pytest.raises(DataError, match="0.7 is not a value of text.call_intent; expected one of"):
        score([text_case()], [output("c1", text_outcome())], tmp_path, [verdict])


def test_c18_two_normal_forms() -> None:
    assert n2("Account_Management ") == n2("account management")
    assert n2("refunds") != n2("refund")
    assert n2("ＫＹＣ") == n2("kyc")
    assert n1("é") == n1("e\u0301")


def test_c19_a_question_answered_twice_differently_is_missing(tmp_path: Path) -> None:
    given = form(question("Q1", 5), question("Q1", 0))
    scored = score([qa_case([question("Q1", 5)])], [output("c1", given)], tmp_path)
    assert scored.value("qa.question_score_accuracy") == 0
    assert "conflicting_duplicate" in scored.results[0]["flags"]


@pytest.mark.parametrize(("again", "accuracy"), [(5, 1.0), (0, 0.0)])
def test_c19_one_id_written_as_number_and_as_text_is_one_item(
    tmp_path: Path, again: int, accuracy: float
) -> None:
    given = form({**question(score=5), "question_id": 1}, question("1", again))
    scored = score([qa_case([question("1", 5)])], [output("c1", given)], tmp_path)
    assert scored.value("qa.question_score_accuracy") == accuracy
    assert ("conflicting_duplicate" in scored.results[0]["flags"]) is (again != 5)


@pytest.mark.parametrize(
    ("id_key", "ids", "values", "flags"),
    [
        ("sentence_id", (1, " 1"), ("neutral", "neutral"), ()),
        ("source_id", (1.0, 1), ("a", "a"), ()),
        ("source_id", (1, "1"), (1, True), ("conflicting_duplicate",)),
    ],
)
def test_c19_a_sentence_and_a_source_id_may_be_number_or_text(
    id_key: str, ids: tuple[Any, Any], values: tuple[Any, Any], flags: tuple[str, ...]
) -> None:
    items = [{id_key: i, "given": value} for i, value in zip(ids, values, strict=True)]
    assert match_items(items, id_key, {"1"}).flags == flags


def test_c19_ids_are_compared_as_text(tmp_path: Path) -> None:
    expected = [question("1"), question("Q2")]
    given = form({**question(), "question_id": 1}, question("q2"))
    scored = score([qa_case(expected)], [output("c1", given)], tmp_path)
    assert scored.value("qa.question_score_accuracy") == 0.5
    assert "unexpected_item" in scored.results[0]["flags"]


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ([question(max_score=0)], r"max_score.*'Q1'.*expected a number above 0"),
        ([question(), question()], r"question_id.*'Q1' appears twice"),
        ([{**question(), "question_id": None}], r"questions\[0\].question_id.*None is not an id"),
        ([{**question(), "question_id": ["Q1"]}], r"questions\[0\].question_id.*is not an id"),
        ([question(score=6)], r"score.*outside the scale"),
        ([question(score=3)], r"score.*neither 0 nor full marks"),
        ([question(kind="YES_NO")], r"type.*expected PASS_FAIL or SCORE"),
        ([], r"questions.*empty"),
        ([{"question_id": "Q1"}], r"score.*missing"),
    ],
)
def test_c20_dataset_errors_name_the_field(
    tmp_path: Path, questions: list[dict[str, object]], message: str
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        score([qa_case(questions)], [good()], tmp_path)
    assert str(caught.value).startswith("cases: record 1")
    assert "'c1'" in str(caught.value)


def test_c20_bad_cases_can_be_skipped_and_the_card_says_so(tmp_path: Path) -> None:
    cases = [qa_case([question(max_score=0)], "bad"), qa_case([question()])]
    scored = score(cases, [good(), good("bad")], tmp_path, allow_bad_cases=True)
    assert scored.task().cases == 1
    assert any("skipped" in note and "'bad'" in note for note in scored.card.notes)


@pytest.mark.parametrize(
    ("text", "status", "flag"),
    [
        ('```json\n{"questions": [%s]}\n```', "valid", "fence_removed"),
        ('````json\n{"questions": [%s]}\n````', "valid", "fence_removed"),
        ('~~~~\n{"questions": [%s]}\n~~~~~', "valid", "fence_removed"),
        ('````\n{"questions": [%s]}\n```', "invalid", "prose_around_json"),
        ('Here is the result: {"questions": [%s]}', "invalid", "prose_around_json"),
        ('{"questions": [%s]} I hope this helps', "invalid", "prose_around_json"),
        ('{"questions": [%s]}{"questions": [%s]}', "invalid", "prose_around_json"),
        ('{"questions":[{"question_id":"Q1"', "invalid", "truncated_json"),
    ],
)
def test_c21_nothing_is_repaired(tmp_path: Path, text: str, status: str, flag: str) -> None:
    import json

    raw = text.replace("%s", json.dumps(question()))
    result = score([qa_case([question()])], [output("c1", raw)], tmp_path).results[0]
    assert (result["status"], result["flags"]) == (status, [flag])


def test_c21_strict_refuses_fences(tmp_path: Path) -> None:
    import json

    raw = f"```json\n{json.dumps(form(question()))}\n```"
    scored = score(
        [qa_case([question()])], [output("c1", raw)], tmp_path, settings={"parse": "strict"}
    )
    assert scored.results[0]["status"] == "invalid"


@pytest.mark.parametrize(
    ("raw", "cause"),
    [
        ('{"questions": [], "questions": []}', "duplicate_key"),
        ('{"score": 0, "score": 5}', "duplicate_key"),
        ('{"questions": NaN}', "non_finite"),
        ('{"questions": 1e999}', "non_finite"),
        ('{"questions": ' + "[" * 70 + "]" * 70 + "}", "too_deep"),
        ('{"questions": ' + "[" * 5000 + "]" * 5000 + "}", "too_deep"),
        ('{"questions": ' + "9" * 5000 + "}", "huge_integer"),
        ('{"questions": "' + "x" * 5_000_001 + '"}', "too_large"),
    ],
)
def test_c22_json_pitfalls_are_structure_zero_with_their_cause(
    tmp_path: Path, raw: str, cause: str
) -> None:
    result = score([qa_case([question()])], [output("c1", raw)], tmp_path).results[0]
    assert (result["reasons"], result["flags"]) == (["qa.structure"], [cause])


def test_c22_a_lone_surrogate_is_replaced_and_flagged(tmp_path: Path) -> None:
    import json

    raw = json.dumps(form(question(reason="X"))).replace('"X"', '"\\ud800 said"')
    result = score([qa_case([question()])], [output("c1", raw)], tmp_path).results[0]
    assert result["metrics"]["qa.structure"] == 1
    assert "lone_surrogate" in result["flags"]
