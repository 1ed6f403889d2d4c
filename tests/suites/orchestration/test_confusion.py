"""The identities of C-109, and the laws of the two decisions, over random counts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from callscore.suites.orchestration.decision.confusion import (
    Confusion,
    DecisionScores,
    call_decision,
    error_patterns,
    reject_decision,
    rejection_type_accuracy,
)

COUNTS = st.builds(Confusion, *[st.integers(0, 50)] * 7)


@given(COUNTS)
def test_c_109_identities(c: Confusion) -> None:
    assert c.tp_fc == c.tn_reject
    assert c.fp_fc == c.fn_reject
    assert c.fn_fc == c.fp_reject + c.fc_failed
    assert c.tn_fc == c.tp_reject + c.reject_failed
    steps = c.call_cases + c.rejection_cases
    assert c.tp_fc + c.fp_fc + c.fn_fc + c.tn_fc == steps
    assert c.tp_reject + c.fp_reject + c.fn_reject + c.tn_reject + c.failed == steps


@given(COUNTS, COUNTS)
def test_adding_counts_adds_every_cell(a: Confusion, b: Confusion) -> None:
    total = a + b
    for cell in ("tp_reject", "fp_fc", "fn_fc", "tn_fc", "failed", "type_mismatch"):
        assert getattr(total, cell) == getattr(a, cell) + getattr(b, cell)
    assert total == b + a


@given(COUNTS)
def test_every_ratio_is_a_fraction_or_undefined(c: Confusion) -> None:
    for decision in (reject_decision(c), call_decision(c)):
        for measure in (decision.precision, decision.recall, decision.f1, decision.accuracy):
            assert measure.value is None or 0 <= measure.value <= 1


@given(COUNTS)
def test_f1_is_the_harmonic_mean_wherever_both_parts_exist(c: Confusion) -> None:
    def check(decision: DecisionScores) -> None:
        p, r, f1 = decision.precision.value, decision.recall.value, decision.f1.value
        if p and r and f1 is not None:
            assert abs(f1 - 2 * p * r / (p + r)) < 1e-12

    check(reject_decision(c))
    check(call_decision(c))


@given(COUNTS)
def test_c_110_rates_sum_to_one_or_are_all_undefined(c: Confusion) -> None:
    patterns = error_patterns(c)
    rates = [patterns.overaction.value, patterns.underaction.value, patterns.type_mismatch.value]
    if None in rates:
        assert rates == [None] * 3
    else:
        assert abs(sum(rate for rate in rates if rate is not None) - 1) < 1e-12


@given(COUNTS)
def test_type_accuracy_counts_the_right_rejections(c: Confusion) -> None:
    value = rejection_type_accuracy(c).value
    if value is not None:
        assert round(value * c.tp_reject) == c.tp_reject - c.type_mismatch
