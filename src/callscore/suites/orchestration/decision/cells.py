"""One step's cell of the confusion: what was due against what came        001, C-106 … C-111"""

from __future__ import annotations

from callscore.suites.orchestration.decision.confusion import Confusion
from callscore.suites.orchestration.decision.parse import Called, FailedAnswer, Prediction
from callscore.suites.orchestration.scenario.model import GENERAL, CallsDue, RejectionDue

_CALL_DUE = {
    Called: Confusion(fc_fc=1),
    FailedAnswer: Confusion(fc_failed=1),
}
_REJECTION_DUE = {
    Called: Confusion(reject_fc=1),
    FailedAnswer: Confusion(reject_failed=1),
}
_UNDER = Confusion(fc_reject=1)
_SAME = Confusion(reject_same_type=1)
_OTHER = Confusion(reject_other_type=1)


def cell(due: CallsDue | RejectionDue, prediction: Prediction) -> Confusion:
    """The one count that this step adds; a due GENERAL_REJECTION is never a mismatch   C-111"""
    if isinstance(due, CallsDue):
        return _CALL_DUE.get(type(prediction), _UNDER)
    if isinstance(prediction, (Called, FailedAnswer)):
        return _REJECTION_DUE[type(prediction)]
    return _SAME if due.type in (GENERAL, prediction.type) else _OTHER
