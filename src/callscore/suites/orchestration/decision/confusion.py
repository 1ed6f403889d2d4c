"""The confusion of calls and rejections: counts of steps, eight cells, formulas of document 001."""

from __future__ import annotations

import msgspec

from callscore.core.measure import Measure, ratio, undefined
from callscore.metrics.classification import Counts, f1, precision, recall
from callscore.suites.orchestration.decision.parse import NoDecision, Prediction, ToolCalls
from callscore.suites.orchestration.scenario.model import GENERAL, CallsDue, RejectionDue


class Confusion(msgspec.Struct, frozen=True, gc=False):
    """Counts of what was due (first word) and what was predicted (second word).

    The document's eight cells count these seven from two sides, so they are derived and the
    identities of C-109 hold by construction.
    """

    fc_fc: int = 0
    fc_reject: int = 0
    fc_failed: int = 0
    reject_fc: int = 0
    reject_same_type: int = 0
    reject_other_type: int = 0
    reject_failed: int = 0

    def __add__(self, other: Confusion) -> Confusion:
        return Confusion(
            *(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__)
        )

    @property
    def tp_reject(self) -> int:
        """Actual reject, predicted reject, of any type        001 Rejection Perspective"""
        return self.reject_same_type + self.reject_other_type

    @property
    def tn_reject(self) -> int:
        """Actual FC, predicted FC        001 Rejection Perspective"""
        return self.fc_fc

    @property
    def fp_reject(self) -> int:
        """Actual FC, predicted reject; FAILED is not in it        001 Rejection Perspective"""
        return self.fc_reject

    @property
    def fn_reject(self) -> int:
        """Actual reject, predicted FC        001 Rejection Perspective"""
        return self.reject_fc

    @property
    def tp_fc(self) -> int:
        """Actual FC, predicted FC        001 Function Call Perspective"""
        return self.fc_fc

    @property
    def fp_fc(self) -> int:
        """Actual reject, predicted FC        001 Function Call Perspective"""
        return self.reject_fc

    @property
    def fn_fc(self) -> int:
        """Actual FC, predicted reject or FAILED        C-109"""
        return self.fc_reject + self.fc_failed

    @property
    def tn_fc(self) -> int:
        """Actual reject, predicted reject or FAILED        C-106"""
        return self.tp_reject + self.reject_failed

    @property
    def failed(self) -> int:
        """Neither a call nor a rejection        001 total_failed_generation"""
        return self.fc_failed + self.reject_failed

    @property
    def type_mismatch(self) -> int:
        """Rejected as expected, but with another type than the label        C-111"""
        return self.reject_other_type

    @property
    def call_cases(self) -> int:
        """Steps where a call was due"""
        return self.fc_fc + self.fc_reject + self.fc_failed

    @property
    def rejection_cases(self) -> int:
        """Steps where a rejection was due"""
        return self.reject_fc + self.tp_reject + self.reject_failed


def public_cells(confusion: Confusion) -> Confusion:
    """The counts that the public evaluator adds up: without types and failures (Q29)."""
    return Confusion(
        fc_fc=confusion.fc_fc,
        fc_reject=confusion.fc_reject,
        reject_fc=confusion.reject_fc,
        reject_same_type=confusion.tp_reject,
    )


class DecisionScores(msgspec.Struct, frozen=True):
    """The decision scores of one side, call or reject        001 Call/Rejection Scores"""

    precision: Measure
    recall: Measure
    f1: Measure
    accuracy: Measure


class ErrorPatterns(msgspec.Struct, frozen=True):
    """Shares of the wrong decisions; they add up to 1 if there is any        C-110"""

    overaction: Measure
    underaction: Measure
    type_mismatch: Measure


def _share(part: int, whole: int, what: str) -> Measure:
    return ratio(part, whole) if whole else undefined(f"no {what}")


def _decision(tp: int, fp: int, fn: int, tn: int) -> DecisionScores:
    counts = Counts(tp, fp, fn)
    accuracy = _share(tp + tn, tp + fp + fn + tn, "decision was made")
    return DecisionScores(precision(counts), recall(counts), f1(counts), accuracy)


def reject_decision(c: Confusion) -> DecisionScores:
    """P = TP/(TP+FP), R = TP/(TP+FN), F1 = 2PR/(P+R), A = (TP+TN)/all four        001, C-108

    FAILED is in none of the four cells: failing does not lower rejection recall (C-107).
    """
    return _decision(c.tp_reject, c.fp_reject, c.fn_reject, c.tn_reject)


def call_decision(c: Confusion) -> DecisionScores:
    """The same four formulas over the FC cells, FAILED included        001, C-108"""
    return _decision(c.tp_fc, c.fp_fc, c.fn_fc, c.tn_fc)


def error_patterns(c: Confusion) -> ErrorPatterns:
    """FN_rej/e, FP_rej/e, mismatch/e with e = FP_rej + FN_rej + mismatch        C-110"""
    errors = c.fp_reject + c.fn_reject + c.type_mismatch
    return ErrorPatterns(
        overaction=_share(c.fn_reject, errors, "wrong decision"),
        underaction=_share(c.fp_reject, errors, "wrong decision"),
        type_mismatch=_share(c.type_mismatch, errors, "wrong decision"),
    )


def rejection_type_accuracy(c: Confusion) -> Measure:
    """(TP_reject - type_mismatch) / TP_reject        001, C-112"""
    return _share(c.reject_same_type, c.tp_reject, "right rejection")


def recall_strict(c: Confusion) -> Measure:
    """TP_reject / all rejection cases, FAILED included        C-107 (extension)"""
    return _share(c.tp_reject, c.rejection_cases, "rejection was due")


def call_failed_rate(c: Confusion) -> Measure:
    """(call cases - successful calls) / call cases = FN_fc / call cases        001, C-116"""
    return _share(c.fn_fc, c.call_cases, "call was due")


def or_zero(measure: Measure) -> float:
    """The value, or the 0.0 that the format writes for an undefined one        C-113"""
    return 0.0 if measure.value is None else measure.value


_CALL_DUE = {
    ToolCalls: Confusion(fc_fc=1),
    NoDecision: Confusion(fc_failed=1),
}
_REJECTION_DUE = {
    ToolCalls: Confusion(reject_fc=1),
    NoDecision: Confusion(reject_failed=1),
}
_UNDER = Confusion(fc_reject=1)
_SAME = Confusion(reject_same_type=1)
_OTHER = Confusion(reject_other_type=1)


def cell(due: CallsDue | RejectionDue, prediction: Prediction) -> Confusion:
    """The count that this step adds; an expected GENERAL_REJECTION never mismatches   C-111"""
    if isinstance(due, CallsDue):
        return _CALL_DUE.get(type(prediction), _UNDER)
    if isinstance(prediction, (ToolCalls, NoDecision)):
        return _REJECTION_DUE[type(prediction)]
    return _SAME if due.type in (GENERAL, prediction.type) else _OTHER
