"""The test vectors of document 003: input and expected value of each, by entry."""

from __future__ import annotations

from typing import Any, NamedTuple


class Vector(NamedTuple):
    """One vector: the entry that it belongs to, what computes it, and its number there."""

    entry: str
    function: str
    number: int
    given: dict[str, Any]
    expected: Any

    @property
    def id(self) -> str:
        """As a test is named: `C-13-prf-2`."""
        return f"{self.entry}-{self.function}-{self.number}"


VECTORS = [
    Vector(
        "C-05",
        "entity_score",
        1,
        {"keyword_f1": 1, "topic_f1": 1, "config_adherence": 0.94, "gates": "formula_only"},
        0.9856,
    ),
    Vector("C-06", "macro_micro", 1, {"cases": [[1, 2], [9, 10]]}, [0.7, 0.8333333333333334]),
    Vector("C-07", "mean_of_runs", 1, {"A": [1, 0], "B": [0.8, 0.8]}, 0.65),
    Vector("C-08", "rating", 1, {"values": [0.85, 0.95, 0.9], "good": 0.9}, "Good"),
    Vector("C-10", "rating", 1, {"v": 0.95, "good": 0.95, "acceptable": 0.9}, "Good"),
    Vector("C-10", "rating", 2, {"v": 0.9, "good": 0.95, "acceptable": 0.9}, "Acceptable"),
    Vector("C-10", "rating", 3, {"v": 0.8999, "good": 0.95, "acceptable": 0.9}, "Fail"),
    Vector("C-11", "config_rating", 1, {"v": 0.995}, "Acceptable"),
    Vector("C-11", "config_rating", 2, {"v": 1}, "Good"),
    Vector("C-11", "config_rating", 3, {"v": 0.95}, "Acceptable"),
    Vector("C-11", "config_rating", 4, {"v": 0.9499}, "Blocker"),
    Vector("C-11", "hallucination_rating", 1, {"percent": 0}, "Good"),
    Vector("C-11", "hallucination_rating", 2, {"percent": 0.5}, "Acceptable"),
    Vector("C-11", "hallucination_rating", 3, {"percent": 2}, "Acceptable"),
    Vector("C-11", "hallucination_rating", 4, {"percent": 2.5}, "Fail"),
    Vector("C-11", "hallucination_rating", 5, {"percent": 3}, "Fail"),
    Vector("C-11", "hallucination_rating", 6, {"percent": 3.0001}, "Blocker"),
    Vector("C-11", "critical_fact_rating", 1, {"v": 0.95}, "Blocker"),
    Vector("C-11", "critical_fact_rating", 2, {"v": 0.97}, "Acceptable"),
    Vector("C-11", "critical_fact_rating", 3, {"v": 1}, "Good"),
    Vector("C-13", "prf", 1, {"detected": [], "expected": []}, [1, 1, 1]),
    Vector("C-13", "prf", 2, {"detected": ["x"], "expected": []}, [0, None, 0]),
    Vector("C-13", "prf", 3, {"detected": [], "expected": ["x"]}, [None, 0, 0]),
    Vector("C-18", "n2_equal", 1, {"a": "Account_Management ", "b": "account management"}, True),
    Vector("C-18", "n2_equal", 2, {"a": "refunds", "b": "refund"}, False),
    Vector("C-18", "n2_equal", 3, {"a": "ＫＹＣ", "b": "kyc"}, True),
    Vector("C-18", "n2_equal", 4, {"a": "e\u0301", "b": "\u00e9"}, True),
    Vector("C-18", "n2_equal", 5, {"a": "Refund ", "b": "refund"}, True),
    Vector("C-26", "qa", 1, {"expected": 5, "model": "5"}, {"accuracy": 0, "gap_accuracy": 0}),
    Vector(
        "C-28",
        "qa",
        1,
        {"expected": 20, "returned_right": 18},
        {"accuracy": 0.9, "gap_accuracy": 0.9},
    ),
    Vector(
        "C-29",
        "qa",
        1,
        {"type": "PASS_FAIL", "expected": 5, "model": 4.9},
        {"accuracy": 0, "gap_accuracy": 0.98},
    ),
    Vector(
        "C-29",
        "qa",
        2,
        {"type": "PASS_FAIL", "expected": 0, "model": 4},
        {"accuracy": 0, "false_pass_pct": 0},
    ),
    Vector(
        "C-30",
        "qa",
        1,
        {"type": "SCORE", "expected": 5, "model": 4.5, "max_score": 5},
        {"accuracy": 1},
    ),
    Vector(
        "C-30",
        "qa",
        2,
        {"type": "SCORE", "expected": 5, "model": 4.4, "max_score": 5},
        {"accuracy": 0},
    ),
    Vector(
        "C-30",
        "qa",
        3,
        {"type": "SCORE", "expected": 9, "model": 8, "max_score": 10},
        {"accuracy": 1},
    ),
    Vector(
        "C-30",
        "qa",
        4,
        {"type": "SCORE", "expected": 2, "model": 1.5, "max_score": 2},
        {"accuracy": 0},
    ),
    Vector(
        "C-30",
        "qa",
        5,
        {"type": "SCORE", "expected": 0.6, "model": 1.1, "max_score": 5},
        {"accuracy": 1},
    ),
    Vector(
        "C-31",
        "qa",
        1,
        {"type": "PASS_FAIL", "expected": 0, "model": 7, "max_score": 5},
        {"accuracy": 0, "gap_accuracy": 0, "false_pass_pct": 100},
    ),
    Vector(
        "C-31",
        "qa",
        2,
        {"expected": 5, "max_score": 5, "model": 10, "model_max_score": 10},
        {"accuracy": 0, "gap_accuracy": 0},
    ),
    Vector(
        "C-32",
        "qa",
        1,
        {"type": "SCORE", "expected": 5, "model": 4.5},
        {"accuracy": 1, "gap_accuracy": 0.9},
    ),
    Vector("C-33", "qa", 1, {"questions": 20, "not_applicable": 2, "right": 18}, {"accuracy": 1}),
    Vector(
        "C-35",
        "qa",
        1,
        {"pass_fail": 10, "expected_zero": 4, "false_passes": 1, "score_type_zero_to_full": 1},
        {"false_pass_pct": 10},
    ),
    Vector("C-36", "false_pass_rating", 1, {"wrong": 2, "total": 100}, "Acceptable"),
    Vector("C-36", "false_pass_rating", 2, {"wrong": 3, "total": 100}, "Acceptable"),
    Vector("C-36", "false_pass_rating", 3, {"wrong": 4, "total": 100}, "Blocker"),
    Vector("C-36", "false_pass_rating", 4, {"wrong": 1, "total": 33}, "Blocker"),
    Vector("C-36", "false_pass_rating", 5, {"wrong": 1, "total": 34}, "Acceptable"),
    Vector("C-36", "false_pass_rating", 6, {"wrong": 1, "total": 100}, "Good"),
    Vector(
        "C-41", "prf", 1, {"detected": ["refund", "Refund", "loan"], "expected": ["refund"]}, 0.5
    ),
    Vector(
        "C-44",
        "config_adherence",
        1,
        {
            "keywords": ["refund", "loan"],
            "topics": ["billing"],
            "config": ["refund", "account", "billing"],
        },
        0.6666666666666666,
    ),
    Vector(
        "C-52",
        "macro_f1",
        1,
        {"expected": "5 pos, 30 neu, 5 neg", "predicted": "all neutral"},
        0.2857142857142857,
    ),
    Vector("C-52", "macro_f1", 2, {"expected": "10 neu", "predicted": "all neutral"}, 1),
    Vector(
        "C-52",
        "macro_f1",
        3,
        {"expected": "8 neu, 2 pos", "predicted": "all neutral"},
        0.4444444444444444,
    ),
    Vector(
        "C-63", "emotion", 1, {"expected": {"anger": 60}, "model": {"anger": 50, "neutral": 50}}, 0
    ),
    Vector(
        "C-63",
        "emotion",
        2,
        {"expected": {"anger": 40, "fear": 40}, "model": {"anger": 0, "fear": 70}},
        1,
    ),
    Vector(
        "C-63", "emotion", 3, {"expected": {"anger": 60}, "model": {"anger": 0, "neutral": 0}}, 0
    ),
    Vector(
        "C-63",
        "emotion",
        4,
        {"expected": {"anger": 60, "neutral": 30}, "model": {"anger": 0.6, "neutral": 0.4}},
        1,
    ),
    Vector(
        "C-63", "emotion", 5, {"expected": {"anger": 60}, "model": {"neutral": 90, "anger": 10}}, 0
    ),
    Vector("C-67", "meaning", 1, {"similarities": [0.9, 0.9, 0.9, None]}, 0.675),
    Vector("C-69", "fluency", 1, {"sentences": [1, 1, 0.75, 0.75, 0.5]}, 0.8),
    Vector("C-75", "critical_facts", 1, {"expected": 4, "omitted_or_altered": 0, "added": 1}, 0.75),
    Vector("C-75", "critical_facts", 2, {"expected": 4, "omitted_or_altered": 2, "added": 0}, 0.5),
    Vector("C-75", "critical_facts", 3, {"expected": 0, "added": 1}, 0),
    Vector("C-80", "final_b", 1, {"tasks": [0.9, 0.8, 0.7, 0.6]}, 0.785),
    Vector("C-80", "final_b_proportional", 1, {"tasks": [0.9, 0.8, 0.7, 0.6]}, 0.7857142857142858),
    Vector("C-80", "final_a", 1, {"tasks": [0.9, 0.8, 0.7, 0.6], "benchmark": 0.5}, 0.7),
    Vector("C-81", "floor_score_b", 1, {"tasks": [0.9, "invalid", 0.7, 0.6]}, 0.545),
    Vector("C-84", "cost_efficiency", 1, {"A": [0.9, 2], "B": [0.8, 1]}, [0.45, 0.8]),
    Vector("C-93", "answer_correctness", 1, {"f1": 0.75, "similarity": 0.9}, 0.825),
    Vector("C-98", "consistency", 1, {"scores": [0.91, 0.9, 0.88]}, 0.982964402620982),
    Vector("C-98", "consistency", 2, {"scores": [1, 0, 0]}, 0.0),
    Vector("C-98", "consistency", 3, {"scores": [0, 0, 0]}, None),
]
