"""Claim limits: one-sided limits that reckon with rare failures that no call has shown  STATS §2"""

from __future__ import annotations

import math

from callscore.stats.intervals import LEVEL


def unseen_share(calls: int, level: float = LEVEL) -> float:
    """1 − 0.05^(1/n): the share of calls that may fail although none of n did        STATS §2"""
    return -math.expm1(math.log(1 - level) / calls) if calls > 0 else 1.0
