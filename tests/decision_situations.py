"""Situations of a decision, each with the lines that a terminal of 80 columns shows (C-138)."""

from __future__ import annotations

from textwrap import dedent
from typing import Any, NamedTuple

from callscore.core.race import RaceExit, RaceRisk
from callscore.core.scorecard import AS_RECOMMENDED, Corrected, Decide, Scorecard
from decision_cards import (
    ACCURACY,
    broken,
    card,
    failing,
    false_passes,
    gap,
    model,
    race,
    racing,
    row,
)


class Situation(NamedTuple):
    """A scorecard, how it is read, and the lines of its decision."""

    title: str
    card: Scorecard
    lines: str
    decide: Decide = AS_RECOMMENDED

    @property
    def expected(self) -> str:
        """The lines without the indentation of this file."""
        return dedent(self.lines).strip()


BIG: dict[str, Any] = {"final": 0.93, "cost": 10.0, "ci95": (0.91, 0.95)}
SMALL: dict[str, Any] = {"final": 0.92, "cost": 1.0, "ci95": (0.90, 0.94)}

SITUATIONS = [
    Situation(
        "one model passes",
        card(model("a", 0.912, 1.2, ci95=(0.88, 0.94))),
        """
        PASSES           a: no blocker, no row rated Fail. Final 0.912 [0.880–0.940],
                         $1.200 per 1000 calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "one model passes on eight calls",
        card(model("a", 0.912, calls=8)),
        """
        LIKELY           a: passes: no blocker, no row rated Fail. Final 0.912, $1.000
                         per 1000 calls. Not certain: only 8 calls.
        HOW SURE         8 calls: up to 32 % of calls could fail unseen.
        """,
    ),
    Situation(
        "one call of eight was answered",
        card(model("a", None, calls=1, cases=8)),
        """
        NOT DECIDED      a: Final Score incomplete: QA has answers to 1 of 8 cases.
        HOW SURE         1 call: up to 95 % of calls could fail unseen.
        """,
    ),
    Situation(
        "one call is all there is",
        card(model("a", 1.0, calls=1)),
        """
        LIKELY           a: passes: no blocker, no row rated Fail. Final 1.000, $1.000
                         per 1000 calls. Not certain: only 1 call.
        HOW SURE         1 call: up to 95 % of calls could fail unseen.
        """,
    ),
    Situation(
        "the only model has rows rated Fail",
        card(model("a", 0.868, **failing(ACCURACY, "qa.score_gap_accuracy"))),
        """
        NONE PASSES      a: it is kept out, Final 0.868.
        OUT              a: QA, Question Score Accuracy: 0.847 [0.790–0.880], limit 0.9;
                         1 more row rated Fail.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "a Final of 0, below its floor",
        card(model("a", 0.0, floor=0.842)),
        """
        NONE PASSES      a: it is kept out, Final 0.000.
        OUT              a: Final 0.000, below the 0.842 of an answer that reads
                         nothing.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "the floor is within the margin of the Final",
        card(model("a", 0.95, floor=0.94)),
        """
        LIKELY           a: passes: no blocker, no row rated Fail. Final 0.950, $1.000
                         per 1000 calls. Not certain: this data cannot separate it from
                         reading nothing (0.940).
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "the offline judge makes an estimate",
        card(model("a", 0.9, official=False), judge="offline v1"),
        """
        LIKELY           a: passes: no blocker, no row rated Fail. Final 0.900, $1.000
                         per 1000 calls. Not certain: an estimate, built-in rules
                         replace a judge.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "no intervals were asked for",
        card(model("a", 0.9), intervals=False),
        """
        LIKELY           a: passes: no blocker, no row rated Fail. Final 0.900, $1.000
                         per 1000 calls. Not certain: no intervals were computed.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "the only model is blocked by a rate",
        card(
            model(
                "a",
                None,
                blockers=[false_passes(16.88)],
                rows={"qa.false_pass_rate": row(16.88, "Blocker", (8.97, 27.17), unit="percent")},
                zeroed=0.71,
            )
        ),
        """
        NONE PASSES      a: it is kept out, Final 0.710 with blocked calls counted as 0
                         (not official).
        OUT              a: QA, Compliance False Pass Rate: 16.88 % [8.97–27.17], limit
                         3 %.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "nothing was answered",
        card(model("a", None, calls=0, cases=40)),
        """
        NOT DECIDED      a: Final Score incomplete: QA has no answers.
        """,
    ),
    Situation(
        "a row awaits verdicts",
        card(model("a", None, waiting=["qa.evidence_backed_reasoning"])),
        """
        NOT DECIDED      a: Final Score incomplete: QA has 1 row without a value
                         (Evidence-Backed Reasoning), which --judge or --verdicts gives.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "the best is the cheapest, and that is shown",
        card(
            model("a", **{**BIG, "cost": 1.0}),
            model("b", 0.85, 5.0),
            gaps=[gap("b", "a", 0.08, (0.05, 0.11), (0.04, 0.12))],
        ),
        """
        RECOMMENDED      a: best quality and lowest price of 2 models that pass. Final
                         0.930 [0.910–0.950], $1.000 per 1000 calls.
        BEST QUALITY     a: Final 0.930 [0.910–0.950].
        RANK 1           a: by cost efficiency, Final 0.930 at $1.000 per 1000 calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; a is 0.080
                         [0.050, 0.110] above b.
        """,
    ),
    Situation(
        "the cheaper one is not worse, and that is shown",
        card(
            model("big", **BIG),
            model("small", **SMALL),
            gaps=[gap("small", "big", 0.01, (-0.002, 0.022), (-0.005, 0.019))],
        ),
        """
        RECOMMENDED      small: not worse than big by more than 0.02, at 10 % of its
                         price. Final 0.920 [0.900–0.940] against 0.930 [0.910–0.950],
                         $1.000 against $10.00 per 1000 calls.
        BEST QUALITY     big: Final 0.930 [0.910–0.950], $10.00 per 1000 calls.
        RANK 1           small: by cost efficiency, Final 0.920 at $1.000 per 1000
                         calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; small and
                         big cannot be distinguished (-0.010 [-0.022, 0.002]); no number
                         of calls is promised: the models may be equal.
        """,
    ),
    Situation(
        "the same answers at a tenth of the price, 50 calls",
        card(
            model("big", 0.9, 10.0, calls=50),
            model("small", 0.9, 1.0, calls=50),
            gaps=[gap("big", "small", 0.0, (0.0, 0.0), (-0.058, 0.058))],
        ),
        """
        LIKELY           small: best quality and lowest price of 2 models that pass.
                         Final 0.900, $1.000 per 1000 calls. Not certain: these 50 calls
                         cannot show it, about 149 calls would show it if they are
                         equal.
        BEST QUALITY     small and big: Final 0.900, $1.000 and $10.00 per 1000 calls.
        RANK 1           small: by cost efficiency, Final 0.900 at $1.000 per 1000
                         calls.
        HOW SURE         50 calls: up to 5.9 % of calls could fail unseen; small and big
                         have the same score.
        """,
    ),
    Situation(
        "the same answers at a tenth of the price, 200 calls",
        card(
            model("big", 0.9, 10.0, calls=200),
            model("small", 0.9, 1.0, calls=200),
            gaps=[gap("big", "small", 0.0, (0.0, 0.0), (-0.015, 0.015))],
        ),
        """
        RECOMMENDED      small: best quality and lowest price of 2 models that pass.
                         Final 0.900, $1.000 per 1000 calls.
        BEST QUALITY     small and big: Final 0.900, $1.000 and $10.00 per 1000 calls.
        RANK 1           small: by cost efficiency, Final 0.900 at $1.000 per 1000
                         calls.
        HOW SURE         200 calls: up to 1.5 % of calls could fail unseen; small and
                         big have the same score.
        """,
    ),
    Situation(
        "only the interval says that the cheaper one is not worse",
        card(
            model("big", **BIG),
            model("small", **SMALL),
            gaps=[gap("small", "big", 0.01, (0.002, 0.018), (-0.005, 0.031), deviation=0.05)],
        ),
        """
        LIKELY           small: not worse than big by more than 0.02, at 10 % of its
                         price. Final 0.920 [0.900–0.940] against 0.930 [0.910–0.950],
                         $1.000 against $10.00 per 1000 calls. Not certain: these 400
                         calls cannot show it, about 605 calls would show it if the
                         difference of -0.010 holds.
        BEST QUALITY     big: Final 0.930 [0.910–0.950], $10.00 per 1000 calls.
        RANK 1           small: by cost efficiency, Final 0.920 at $1.000 per 1000
                         calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; big is
                         0.010 [0.002, 0.018] above small.
        """,
    ),
    Situation(
        "the cheaper one is much lower, but cannot be distinguished",
        card(
            model("big", 0.9, 10.0, calls=20),
            model("small", 0.8, 1.0, calls=20),
            gaps=[gap("small", "big", 0.1, (-0.02, 0.22), (-0.1, 0.3), deviation=0.3, needed=73)],
        ),
        """
        LIKELY           big: best quality; small is cheaper and 0.100 lower, which may
                         be chance. Final 0.900, $10.00 per 1000 calls. Not certain:
                         these 20 calls cannot show it, about 81 calls would show it if
                         the difference of +0.100 holds.
        BEST QUALITY     big: Final 0.900.
        RANK 1           small: by cost efficiency, Final 0.800 at $1.000 per 1000
                         calls.
        HOW SURE         20 calls: up to 14 % of calls could fail unseen; big and small
                         cannot be distinguished (+0.100 [-0.020, 0.220]); no number of
                         calls is promised: the models may be equal.
        """,
    ),
    Situation(
        "the cheaper one is close and cannot be distinguished",
        card(
            model("big", 0.91, 10.0, calls=100),
            model("small", 0.9, 1.0, calls=100),
            gaps=[
                gap("small", "big", 0.01, (-0.02, 0.04), (-0.05, 0.06), deviation=0.1, needed=793)
            ],
        ),
        """
        LIKELY           small: cannot be distinguished from big, at 10 % of its price.
                         Final 0.900 against 0.910, $1.000 against $10.00 per 1000
                         calls. Not certain: these 100 calls cannot show it, about 1,138
                         calls would show it if the difference of -0.010 holds.
        BEST QUALITY     big: Final 0.910, $10.00 per 1000 calls.
        RANK 1           small: by cost efficiency, Final 0.900 at $1.000 per 1000
                         calls.
        HOW SURE         100 calls: up to 3.0 % of calls could fail unseen; small and
                         big cannot be distinguished (-0.010 [-0.040, 0.020]); no number
                         of calls is promised: the models may be equal.
        """,
    ),
    Situation(
        "the cheaper one is worse",
        card(
            model("big", **BIG),
            model("small", 0.85, 1.0),
            gaps=[gap("small", "big", 0.08, (0.05, 0.11), (0.04, 0.12))],
        ),
        """
        RECOMMENDED      big: best quality; small is cheaper and worse. Final 0.930
                         [0.910–0.950], $10.00 per 1000 calls.
        BEST QUALITY     big: Final 0.930 [0.910–0.950].
        RANK 1           small: by cost efficiency, Final 0.850 at $1.000 per 1000
                         calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; big is
                         0.080 [0.050, 0.110] above small.
        """,
    ),
    Situation(
        "the best is separated, but no limit is known",
        card(
            model("big", **BIG),
            model("small", 0.85, 1.0),
            gaps=[gap("small", "big", 0.08, (0.05, 0.11))],
        ),
        """
        LIKELY           big: best quality; small is cheaper and worse. Final 0.930
                         [0.910–0.950], $10.00 per 1000 calls. Not certain: no limit was
                         computed for it.
        BEST QUALITY     big: Final 0.930 [0.910–0.950].
        RANK 1           small: by cost efficiency, Final 0.850 at $1.000 per 1000
                         calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; big is
                         0.080 [0.050, 0.110] above small.
        """,
    ),
    Situation(
        "two free models that cannot be distinguished",
        card(
            model("a", 0.9, 0.0),
            model("b", 0.9, 0.0),
            gaps=[gap("a", "b", 0.0, (0.0, 0.0), (-0.01, 0.01))],
        ),
        """
        TIE              a and b: cannot be distinguished with these 400 calls; by
                         quality alone, as all are free. Final 0.900, $0 per 1000 calls.
        BEST QUALITY     a and b: Final 0.900.
        RANK 1           a and b: by cost efficiency, Final 0.900 at $0 per 1000 calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; a and b
                         have the same score.
        """,
    ),
    Situation(
        "two models of one price that cannot be distinguished",
        card(
            model("a", 0.91, 1.0),
            model("b", 0.90, 1.0),
            gaps=[gap("b", "a", 0.01, (-0.01, 0.03), (-0.02, 0.04), needed=1200)],
        ),
        """
        TIE              a and b: cannot be distinguished with these 400 calls, and they
                         cost the same. Final 0.910 and 0.900, $1.000 per 1000 calls.
        BEST QUALITY     a: Final 0.910, $1.000 per 1000 calls.
        RANK 1           a: by cost efficiency, Final 0.910 at $1.000 per 1000 calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; a and b
                         cannot be distinguished (+0.010 [-0.010, 0.030]); no number of
                         calls is promised: the models may be equal.
        """,
    ),
    Situation(
        "two models of one price, one is better",
        card(
            model("a", 0.93, 1.0),
            model("b", 0.85, 1.0),
            gaps=[gap("b", "a", 0.08, (0.05, 0.11), (0.04, 0.12))],
        ),
        """
        RECOMMENDED      a: best quality and lowest price of 2 models that pass. Final
                         0.930, $1.000 per 1000 calls.
        BEST QUALITY     a: Final 0.930.
        RANK 1           a: by cost efficiency, Final 0.930 at $1.000 per 1000 calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; a is 0.080
                         [0.050, 0.110] above b.
        """,
    ),
    Situation(
        "the better one has no price",
        card(
            model("a", 0.93, None),
            model("b", 0.85, 1.0),
            gaps=[gap("b", "a", 0.08, (0.05, 0.11), (0.04, 0.12))],
        ),
        """
        RECOMMENDED      a: best quality; by quality alone, as the price of a is unknown
                         (--cost or price sets it). Final 0.930, price unknown.
        BEST QUALITY     a: Final 0.930.
        RANK 1           b: by cost efficiency, Final 0.850 at $1.000 per 1000 calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; a is 0.080
                         [0.050, 0.110] above b.
        """,
    ),
    Situation(
        "no price, and they cannot be distinguished",
        card(
            model("a", 0.91, None),
            model("b", 0.90, 1.0),
            gaps=[gap("b", "a", 0.01, (-0.01, 0.03), (-0.02, 0.04))],
        ),
        """
        TIE              a and b: cannot be distinguished with these 400 calls; by
                         quality alone, as the price of a is unknown (--cost or price
                         sets it). Final 0.910 and 0.900, price unknown.
        BEST QUALITY     a: Final 0.910, price unknown.
        RANK 1           b: by cost efficiency, Final 0.900 at $1.000 per 1000 calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; a and b
                         cannot be distinguished (+0.010 [-0.010, 0.030]); no number of
                         calls is promised: the models may be equal.
        """,
    ),
    Situation(
        "a free model is not worse",
        card(
            model("big", **BIG),
            model("local", 0.92, 0.0),
            gaps=[gap("local", "big", 0.01, (-0.002, 0.022), (-0.005, 0.019))],
        ),
        """
        RECOMMENDED      local: not worse than big by more than 0.02, and free. Final
                         0.920 against 0.930 [0.910–0.950], $0 against $10.00 per 1000
                         calls.
        BEST QUALITY     big: Final 0.930 [0.910–0.950], $10.00 per 1000 calls.
        RANK 1           local: by cost efficiency, Final 0.920 at $0 per 1000 calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; local and
                         big cannot be distinguished (-0.010 [-0.022, 0.002]); no number
                         of calls is promised: the models may be equal.
        """,
    ),
    Situation(
        "one passes, a better one has one broken reply of 300",
        card(
            model("a", 0.88, 1.0, calls=300, ci95=(0.86, 0.9)),
            model("b", None, 0.5, calls=300, blockers=[broken(1)], zeroed=0.947),
        ),
        """
        ONLY ONE PASSES  a: the only one of 2 models that passes: no blocker, no row
                         rated Fail. Final 0.880 [0.860–0.900], $1.000 per 1000 calls.
        BEST QUALITY     a: Final 0.880 [0.860–0.900].
        RANK 1           a: by cost efficiency, Final 0.880 at $1.000 per 1000 calls.
        OUT              b: QA, Response Structure Compliance: 1 of 300 calls, 0.33 %
                         [0.0–1.8], limit 0 %.
        HOW SURE         300 calls: up to 1.00 % of calls could fail unseen.
        """,
    ),
    Situation(
        "one passes, a better and cheaper one has rows rated Fail",
        card(
            model("a", 0.88, 1.0),
            model(
                "b",
                0.9,
                0.5,
                **failing(ACCURACY, "qa.score_gap_accuracy", "qa.evidence_backed_reasoning"),
            ),
        ),
        """
        ONLY ONE PASSES  a: the only one of 2 models that passes: no blocker, no row
                         rated Fail. Final 0.880, $1.000 per 1000 calls.
        BEST QUALITY     b: Final 0.900, $0.500 per 1000 calls; kept out, see below.
        RANK 1           b: by cost efficiency, Final 0.900 at $0.500 per 1000 calls; 3
                         rows rated Fail.
        OUT              b: QA, Question Score Accuracy: 0.847 [0.790–0.880], limit 0.9;
                         2 more rows rated Fail.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "one of two passes on eight calls",
        card(
            model("a", 0.88, 1.0, calls=8),
            model("b", None, 0.5, calls=8, blockers=[broken(2)], zeroed=0.6),
        ),
        """
        LIKELY           a: the only one of 2 models that passes: no blocker, no row
                         rated Fail. Final 0.880, $1.000 per 1000 calls. Not certain:
                         only 8 calls.
        BEST QUALITY     a: Final 0.880.
        RANK 1           a: by cost efficiency, Final 0.880 at $1.000 per 1000 calls.
        OUT              b: QA, Response Structure Compliance: 2 of 8 calls, 25.00 %
                         [3.2–65.1], limit 0 %.
        HOW SURE         8 calls: up to 32 % of calls could fail unseen.
        """,
    ),
    Situation(
        "one passes, the other is not finished",
        card(model("a", 0.88), model("b", None, calls=10, cases=40)),
        """
        PASSES           a: no blocker, no row rated Fail. Final 0.880, $1.000 per 1000
                         calls.
        BEST QUALITY     a: Final 0.880.
        RANK 1           a: by cost efficiency, Final 0.880 at $1.000 per 1000 calls.
        NOT DECIDED      b: Final Score incomplete: QA has answers to 10 of 40 cases.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "one passes, one is out, one is not finished",
        card(
            model("a", 0.88),
            model("b", None, calls=10, cases=40),
            model("c", None, blockers=[broken(3)], zeroed=0.5),
        ),
        """
        PASSES           a: no blocker, no row rated Fail. Final 0.880, $1.000 per 1000
                         calls.
        BEST QUALITY     a: Final 0.880.
        RANK 1           a: by cost efficiency, Final 0.880 at $1.000 per 1000 calls.
        OUT              c: QA, Response Structure Compliance: 3 of 400 calls, 0.75 %
                         [0.2–2.2], limit 0 %.
        NOT DECIDED      b: Final Score incomplete: QA has answers to 10 of 40 cases.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "both are blocked, the closest comes first",
        card(
            model("a", None, blockers=[broken(3)], zeroed=0.5),
            model("b", None, blockers=[broken(1)], zeroed=0.93),
        ),
        """
        NONE PASSES      b and a: both are kept out; the closest is b, Final 0.930 with
                         blocked calls counted as 0 (not official).
        OUT              b: QA, Response Structure Compliance: 1 of 400 calls, 0.25 %
                         [0.0–1.4], limit 0 %.
        OUT              a: QA, Response Structure Compliance: 3 of 400 calls, 0.75 %
                         [0.2–2.2], limit 0 %.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "a blocker, a Fail and the floor keep all out",
        card(
            model("a", None, blockers=[broken(3)], zeroed=0.5),
            model("b", 0.8, **failing(ACCURACY)),
            model("c", 0.3, floor=0.5),
        ),
        """
        NONE PASSES      b, a and c: all 3 are kept out; the closest is b, Final 0.800.
        BEST QUALITY     b: Final 0.800, $1.000 per 1000 calls; kept out, see below.
        RANK 1           b: by cost efficiency, Final 0.800 at $1.000 per 1000 calls; 1
                         row rated Fail.
        OUT              b: QA, Question Score Accuracy: 0.847 [0.790–0.880], limit 0.9.
        OUT              a: QA, Response Structure Compliance: 3 of 400 calls, 0.75 %
                         [0.2–2.2], limit 0 %.
        OUT              c: Final 0.300, below the 0.500 of an answer that reads
                         nothing.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "no model is finished",
        card(model("a", None, calls=10, cases=40), model("b", None, calls=0, cases=40)),
        """
        NOT DECIDED      a: Final Score incomplete: QA has answers to 10 of 40 cases.
        NOT DECIDED      b: Final Score incomplete: QA has no answers.
        HOW SURE         10 calls: up to 26 % of calls could fail unseen.
        """,
    ),
    Situation(
        "one is blocked, the other could still pass",
        card(
            model("a", None, blockers=[broken(3)], zeroed=0.5), model("b", None, calls=10, cases=40)
        ),
        """
        NOT DECIDED      b: Final Score incomplete: QA has answers to 10 of 40 cases.
        OUT              a: QA, Response Structure Compliance: 3 of 400 calls, 0.75 %
                         [0.2–2.2], limit 0 %.
        HOW SURE         10 calls: up to 26 % of calls could fail unseen.
        """,
    ),
    Situation(
        "a row awaits verdicts, another is rated Fail",
        card(model("a", None, waiting=["qa.evidence_backed_reasoning"], **failing(ACCURACY))),
        """
        NONE PASSES      a: it is kept out.
        OUT              a: QA, Question Score Accuracy: 0.847 [0.790–0.880], limit 0.9.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "a simulated model is better than the real one",
        card(
            model("sim", 0.99, 0.1, origin="simulated"),
            model("real", 0.9, 1.0),
            gaps=[gap("real", "sim", 0.09, (0.05, 0.11), (0.04, 0.12))],
        ),
        """
        PASSES           real: no blocker, no row rated Fail. Final 0.900, $1.000 per
                         1000 calls.
        BEST QUALITY     real: Final 0.900.
        RANK 1           sim (simulated): by cost efficiency, Final 0.990 at $0.100 per
                         1000 calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "there are only simulated models",
        card(model("sim", 0.99, 0.1, origin="simulated")),
        """
        PASSES           sim (simulated): no blocker, no row rated Fail. Final 0.990,
                         $0.100 per 1000 calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "rules are better than real models",
        card(
            model("rules", 0.95, 0.0, origin="baseline"),
            model("real", 0.9, 1.0),
            model("real-2", 0.8, 1.0),
            gaps=[gap("real-2", "real", 0.1, (0.05, 0.15), (0.04, 0.16))],
        ),
        """
        RECOMMENDED      real: best quality and lowest price of 2 models that pass.
                         Final 0.900, $1.000 per 1000 calls.
        BEST QUALITY     real: Final 0.900.
        RANK 1           rules (rules only): by cost efficiency, Final 0.950 at $0 per
                         1000 calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; real is
                         0.100 [0.050, 0.150] above real-2.
        """,
    ),
    Situation(
        "a recorded model counts as real",
        card(
            model("rec", 0.93, 1.0, origin="replay"),
            model("live", 0.85, 1.0),
            gaps=[gap("live", "rec", 0.08, (0.05, 0.11), (0.04, 0.12))],
        ),
        """
        RECOMMENDED      rec (recorded): best quality and lowest price of 2 models that
                         pass. Final 0.930, $1.000 per 1000 calls.
        BEST QUALITY     rec (recorded): Final 0.930.
        RANK 1           rec (recorded): by cost efficiency, Final 0.930 at $1.000 per
                         1000 calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; rec
                         (recorded) is 0.080 [0.050, 0.110] above live.
        """,
    ),
    Situation(
        "the real model is blocked, the simulated one passes",
        card(
            model("sim", 0.99, 0.1, origin="simulated"),
            model("real", None, 1.0, blockers=[broken(2)], zeroed=0.9),
        ),
        """
        NONE PASSES      real: it is kept out, Final 0.900 with blocked calls counted as
                         0 (not official).
        RANK 1           sim (simulated): by cost efficiency, Final 0.990 at $0.100 per
                         1000 calls.
        OUT              real: QA, Response Structure Compliance: 2 of 400 calls, 0.50 %
                         [0.1–1.8], limit 0 %.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "an estimate beside an official score",
        card(model("a", 0.85), model("b", 0.95, official=False)),
        """
        PASSES           a: no blocker, no row rated Fail. Final 0.850, $1.000 per 1000
                         calls.
        BEST QUALITY     a: Final 0.850.
        RANK 1           a: by cost efficiency, Final 0.850 at $1.000 per 1000 calls.
        NOT DECIDED      b: an estimate, which is not compared with official scores.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "two estimates",
        card(
            model("a", 0.93, 1.0, official=False),
            model("b", 0.85, 1.0, official=False),
            gaps=[gap("b", "a", 0.08, (0.05, 0.11), (0.04, 0.12))],
        ),
        """
        LIKELY           a: best quality and lowest price of 2 models that pass. Final
                         0.930, $1.000 per 1000 calls. Not certain: an estimate, some
                         rows are approximate.
        BEST QUALITY     a: Final 0.930.
        RANK 1           a: by cost efficiency, Final 0.930 at $1.000 per 1000 calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; a is 0.080
                         [0.050, 0.110] above b.
        """,
    ),
    Situation(
        "scores of two options",
        card(model("a", 0.85, option="A"), model("b", 0.95)),
        """
        PASSES           a: no blocker, no row rated Fail. Final 0.850, $1.000 per 1000
                         calls.
        BEST QUALITY     a: Final 0.850.
        RANK 1           a: by cost efficiency, Final 0.850 at $1.000 per 1000 calls.
        NOT DECIDED      b: its Final Score is of option B, that of others of option A.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "decide by quality",
        card(
            model("big", **BIG),
            model("small", **SMALL),
            gaps=[gap("small", "big", 0.01, (0.002, 0.018), (0.001, 0.019))],
        ),
        """
        RECOMMENDED      big: best quality; by quality, as decide says. Final 0.930
                         [0.910–0.950], $10.00 per 1000 calls.
        BEST QUALITY     big: Final 0.930 [0.910–0.950].
        RANK 1           small: by cost efficiency, Final 0.920 at $1.000 per 1000
                         calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; big is
                         0.010 [0.002, 0.018] above small.
        """,
        Decide(by="quality"),
    ),
    Situation(
        "decide by efficiency",
        card(
            model("big", **BIG),
            model("small", 0.7, 1.0),
            gaps=[
                gap("small", "big", 0.23, (0.2, 0.26), (0.19, 0.27)),
                gap("big", "small", 0.6, (0.5, 0.7), of="efficiency"),
            ],
        ),
        """
        LIKELY           small: best cost efficiency, as decide says. Final 0.700
                         against 0.930 [0.910–0.950], $1.000 against $10.00 per 1000
                         calls. Not certain: no limit is known for a ratio of score and
                         price.
        BEST QUALITY     big: Final 0.930 [0.910–0.950], $10.00 per 1000 calls.
        RANK 1           small: by cost efficiency, Final 0.700 at $1.000 per 1000
                         calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; big is
                         0.230 [0.200, 0.260] above small.
        """,
        Decide(by="efficiency"),
    ),
    Situation(
        "decide allows a row rated Fail",
        card(
            model("a", 0.93, 1.0, **failing(ACCURACY)),
            model("b", 0.85, 1.0),
            gaps=[gap("b", "a", 0.08, (0.05, 0.11), (0.04, 0.12))],
        ),
        """
        RECOMMENDED      a: best quality and lowest price of 2 models that pass. Final
                         0.930, $1.000 per 1000 calls. 1 row rated Fail, as decide
                         allows.
        BEST QUALITY     a: Final 0.930.
        RANK 1           a: by cost efficiency, Final 0.930 at $1.000 per 1000 calls; 1
                         row rated Fail.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; a is 0.080
                         [0.050, 0.110] above b.
        """,
        Decide(allow_fail=True),
    ),
    Situation(
        "decide has a wider margin",
        card(
            model("big", **BIG),
            model("small", 0.85, 1.0),
            gaps=[gap("small", "big", 0.08, (0.06, 0.095), (0.05, 0.099))],
        ),
        """
        RECOMMENDED      small: not worse than big by more than 0.1, at 10 % of its
                         price. Final 0.850 against 0.930 [0.910–0.950], $1.000 against
                         $10.00 per 1000 calls.
        BEST QUALITY     big: Final 0.930 [0.910–0.950], $10.00 per 1000 calls.
        RANK 1           small: by cost efficiency, Final 0.850 at $1.000 per 1000
                         calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; big is
                         0.080 [0.060, 0.095] above small.
        """,
        Decide(margin=0.1),
    ),
    Situation(
        "the middle one is shown to be not worse, the cheapest is not",
        card(
            model("big", **BIG),
            model("mid", 0.925, 5.0),
            model("small", 0.91, 1.0),
            gaps=[
                gap("mid", "big", 0.005, (-0.005, 0.015), (-0.009, 0.018)),
                gap(
                    "small", "big", 0.02, (-0.004, 0.044), (-0.01, 0.06), deviation=0.2, needed=900
                ),
                gap("small", "mid", 0.015, (-0.01, 0.04), (-0.02, 0.05)),
            ],
        ),
        """
        LIKELY           small: cannot be distinguished from big, at 10 % of its price.
                         Final 0.910 against 0.930 [0.910–0.950], $1.000 against $10.00
                         per 1000 calls. Not certain: these 400 calls cannot show it.
        BEST QUALITY     big: Final 0.930 [0.910–0.950], $10.00 per 1000 calls.
        RANK 1           small: by cost efficiency, Final 0.910 at $1.000 per 1000
                         calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; small and
                         big cannot be distinguished (-0.020 [-0.044, 0.004]); no number
                         of calls is promised: the models may be equal.
        """,
    ),
    Situation(
        "two cheap ones tie, the best costs more",
        card(
            model("big", **BIG),
            model("s1", 0.92, 1.0),
            model("s2", 0.92, 1.0),
            gaps=[
                gap("s1", "big", 0.01, (-0.01, 0.03), (-0.02, 0.04)),
                gap("s2", "big", 0.01, (-0.01, 0.03), (-0.02, 0.04)),
                gap("s1", "s2", 0.0, (0.0, 0.0), (-0.01, 0.01)),
            ],
        ),
        """
        TIE              s1 and s2: cannot be distinguished with these 400 calls, and
                         they cost the same, less than big. Final 0.920, $1.000 per 1000
                         calls.
        BEST QUALITY     big: Final 0.930 [0.910–0.950], $10.00 per 1000 calls.
        RANK 1           s1 and s2: by cost efficiency, Final 0.920 at $1.000 per 1000
                         calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; s1 and s2
                         have the same score.
        """,
    ),
    Situation(
        "a breach that is not certain",
        card(
            model("a", 0.9),
            model(
                "b",
                None,
                blockers=[false_passes(3.9)],
                rows={"qa.false_pass_rate": row(3.9, "Blocker", (0.8, 11.0), unit="percent")},
                zeroed=0.9,
            ),
        ),
        """
        ONLY ONE PASSES  a: the only one of 2 models that passes: no blocker, no row
                         rated Fail. Final 0.900, $1.000 per 1000 calls.
        BEST QUALITY     a: Final 0.900.
        RANK 1           a: by cost efficiency, Final 0.900 at $1.000 per 1000 calls.
        OUT              b: not certain: QA, Compliance False Pass Rate: 3.90 %
                         [0.80–11.00], limit 3 %.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "the first rank is poor and cheap",
        card(
            model("good", 0.95, 10.0, ci95=(0.93, 0.97)),
            model("cheap", 0.5, 0.01, **failing(ACCURACY, "qa.score_gap_accuracy")),
        ),
        """
        ONLY ONE PASSES  good: the only one of 2 models that passes: no blocker, no row
                         rated Fail. Final 0.950 [0.930–0.970], $10.00 per 1000 calls.
        BEST QUALITY     good: Final 0.950 [0.930–0.970].
        RANK 1           cheap: by cost efficiency, Final 0.500 at $0.010 per 1000
                         calls; 2 rows rated Fail.
        OUT              cheap: QA, Question Score Accuracy: 0.847 [0.790–0.880], limit
                         0.9; 1 more row rated Fail.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "data with a QA form only",
        card(model("a", 0.912, ci95=(0.88, 0.94)), heading="Final over QA"),
        """
        PASSES           a: no blocker, no row rated Fail. Final over QA 0.912
                         [0.880–0.940], $1.000 per 1000 calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "no intervals, close scores, another price",
        card(model("big", 0.91, 10.0), model("small", 0.90, 1.0), intervals=False),
        """
        LIKELY           small: 0.010 below big, at 10 % of its price. Final 0.900
                         against 0.910, $1.000 against $10.00 per 1000 calls. Not
                         certain: no intervals were computed.
        BEST QUALITY     big: Final 0.910, $10.00 per 1000 calls.
        RANK 1           small: by cost efficiency, Final 0.900 at $1.000 per 1000
                         calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "no intervals, scores far apart",
        card(model("big", 0.91, 10.0), model("small", 0.70, 1.0), intervals=False),
        """
        LIKELY           big: best quality; small is cheaper and worse. Final 0.910,
                         $10.00 per 1000 calls. Not certain: no intervals were computed.
        BEST QUALITY     big: Final 0.910.
        RANK 1           small: by cost efficiency, Final 0.700 at $1.000 per 1000
                         calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "a row is not rated",
        card(model("a", 0.912, rows={"qa.evidence_backed_reasoning": row(None, None)})),
        """
        PASSES           a: no blocker, no row rated Fail. Final 0.912, $1.000 per 1000
                         calls. Not rated: Evidence-Backed Reasoning.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "a name with control characters",
        card(model("a\x1b[31m\nb", 0.912)),
        """
        PASSES           a�[31m b: no blocker, no row rated Fail. Final 0.912, $1.000
                         per 1000 calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "a race, the cheaper one lost clearly",
        card(
            model("big", 0.93, 10.0),
            model("small", None, 1.0, calls=100, cases=400),
            race=race(
                "decided",
                "big",
                [],
                racing("big", finished=True),
                racing("small", out=RaceExit("worse", 10, "big"), clearly_worse=True),
            ),
        ),
        """
        RECOMMENDED      big: best quality, and no cheaper model is as good. Final
                         0.930, $10.00 per 1000 calls.
        BEST QUALITY     big: decided after 412 of 1,200 requests, 50 % of the cost
                         saved.
        OUT              small: after 10 blocks: worse than big.
        HOW SURE         the guarantee is about this data set (pool): the best model of
                         this data set is eliminated with a probability of at most 5 %.
        """,
    ),
    Situation(
        "a race, the cheaper one left it close behind",
        card(
            model("big", 0.93, 10.0),
            model("small", None, 1.0, calls=100, cases=400),
            race=race(
                "decided",
                "big",
                [],
                racing("big", finished=True),
                racing("small", out=RaceExit("worse", 10, "big")),
            ),
        ),
        """
        BEST QUALITY     big: decided after 412 of 1,200 requests, 50 % of the cost
                         saved; it does not decide by price: small may be less than 0.02
                         below.
        OUT              small: after 10 blocks: worse than big.
        HOW SURE         the guarantee is about this data set (pool): the best model of
                         this data set is eliminated with a probability of at most 5 %.
        """,
    ),
    Situation(
        "a race, the cheaper one breached a gate",
        card(
            model("big", 0.93, 10.0),
            model("small", None, 1.0, calls=100, cases=400, blockers=[broken(1)]),
            race=race(
                "decided",
                "big",
                [],
                racing("big", finished=True),
                racing("small", out=RaceExit("call_gate", 10, gate="qa.structure")),
            ),
        ),
        """
        RECOMMENDED      big: best quality, and no cheaper model is as good. Final
                         0.930, $10.00 per 1000 calls.
        BEST QUALITY     big: decided after 412 of 1,200 requests, 50 % of the cost
                         saved.
        OUT              small: after 10 blocks: invalid for certain, qa.structure.
        HOW SURE         the guarantee is about this data set (pool): the best model of
                         this data set is eliminated with a probability of at most 5 %.
        """,
    ),
    Situation(
        "a race whose best model is kept out",
        card(
            model("big", None, 10.0, blockers=[broken(1)]),
            model("small", None, 1.0, calls=100, cases=400),
            race=race(
                "decided",
                "big",
                [],
                racing("big", finished=True),
                racing("small", out=RaceExit("worse", 10, "big"), clearly_worse=True),
            ),
        ),
        """
        NOT DECIDED      big: best in the race, but kept out; the other models were not
                         finished.
        OUT              big: QA, Response Structure Compliance: 1 of 400 calls, 0.25 %
                         [0.0–1.4], limit 0 %.
        OUT              small: after 10 blocks: worse than big.
        HOW SURE         the guarantee is about this data set (pool): the best model of
                         this data set is eliminated with a probability of at most 5 %.
        """,
    ),
    Situation(
        "a race that ends in a tie",
        card(
            model("big", 0.93, 10.0),
            model("small", 0.93, 1.0),
            race=race(
                "tie",
                None,
                ["big", "small"],
                racing("big", finished=True),
                racing("small", finished=True),
            ),
        ),
        """
        TIE              big and small: by quality: ended after 412 of 1,200 requests,
                         50 % of the cost saved; the budget is spent.
        HOW SURE         the guarantee is about this data set (pool): the best model of
                         this data set is eliminated with a probability of at most 5 %.
        """,
    ),
    Situation(
        "a race without a valid model",
        card(
            model("big", None, blockers=[broken(1)]),
            model("small", None, blockers=[broken(1)]),
            race=race(
                "none",
                None,
                [],
                racing("big", out=RaceExit("call_gate", 1, gate="qa.structure")),
                racing("small", out=RaceExit("call_gate", 1, gate="qa.structure")),
            ),
        ),
        """
        NONE PASSES      no model is valid: decided after 412 of 1,200 requests, 50 % of
                         the cost saved.
        OUT              big: after 1 block: invalid for certain, qa.structure.
        OUT              small: after 1 block: invalid for certain, qa.structure.
        HOW SURE         the guarantee is about this data set (pool): the best model of
                         this data set is eliminated with a probability of at most 5 %.
        """,
    ),
    Situation(
        "a race that ran out of budget",
        card(
            model("big", None, calls=100, cases=400),
            model("small", None, calls=100, cases=400),
            race=race("open", None, ["big", "small"], racing("big"), racing("small")),
        ),
        """
        NOT DECIDED      big and small: in the race after 412 of 1,200 requests, 50 % of
                         the cost saved; the budget is spent.
        HOW SURE         the guarantee is about this data set (pool): the best model of
                         this data set is eliminated with a probability of at most 5 %.
        """,
    ),
    Situation(
        "a race whose best model is not finished",
        card(
            model("big", None, 10.0, calls=220, cases=400),
            model("small", None, 1.0, calls=100, cases=400),
            race=race(
                "decided",
                "big",
                [],
                racing("big"),
                racing("small", out=RaceExit("worse", 10, "big"), clearly_worse=True),
                risk=RaceRisk(180, 0.041, 0, []),
            ),
        ),
        """
        BEST QUALITY     big: decided after 412 of 1,200 requests, 50 % of the cost
                         saved; with 95 % confidence at most 4.1 % of calls breach a
                         call gate; one of the 180 open ones is enough.
        OUT              small: after 10 blocks: worse than big.
        HOW SURE         the guarantee is about this data set (pool): the best model of
                         this data set is eliminated with a probability of at most 5 %.
        """,
    ),
    Situation(
        "a race in which the cheaper one was finished, too",
        card(
            model("big", 0.93, 10.0),
            model("small", 0.92, 1.0),
            gaps=[gap("small", "big", 0.01, (-0.002, 0.022), (-0.005, 0.019))],
            race=race(
                "decided",
                "big",
                [],
                racing("big", finished=True),
                racing("small", finished=True, out=RaceExit("bound", 40, "big")),
            ),
        ),
        """
        RECOMMENDED      small: not worse than big by more than 0.02, at 10 % of its
                         price. Final 0.920 against 0.930, $1.000 against $10.00 per
                         1000 calls.
        BEST QUALITY     big: decided after 412 of 1,200 requests, 50 % of the cost
                         saved.
        HOW SURE         the guarantee is about this data set (pool): the best model of
                         this data set is eliminated with a probability of at most 5 %.
        """,
    ),
    Situation(
        "six models are kept out",
        card(
            *(
                model(f"m{n}", None, blockers=[broken(n + 1)], zeroed=0.9 - n / 100)
                for n in range(6)
            )
        ),
        """
        NONE PASSES      m0, m1, m2 and 3 more: all 6 are kept out; the closest is m0,
                         Final 0.900 with blocked calls counted as 0 (not official).
        OUT              m0: QA, Response Structure Compliance: 1 of 400 calls, 0.25 %
                         [0.0–1.4], limit 0 %.
        OUT              m1: QA, Response Structure Compliance: 2 of 400 calls, 0.50 %
                         [0.1–1.8], limit 0 %.
        OUT              m2: QA, Response Structure Compliance: 3 of 400 calls, 0.75 %
                         [0.2–2.2], limit 0 %.
        OUT              m3: QA, Response Structure Compliance: 4 of 400 calls, 1.00 %
                         [0.3–2.5], limit 0 %.
        OUT              2 more models, see the blockers below.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "labels of people correct the score",
        card(
            model("a", 0.91, ci95=(0.88, 0.93), corrected=Corrected(0.88, (0.83, 0.92), 120, 40)),
            model("b", 0.90, ci95=(0.87, 0.92), corrected=Corrected(0.90, (0.84, 0.94), 120, 40)),
            gaps=[gap("a", "b", 0.02, (-0.01, 0.05), (-0.02, 0.06), needed=800)],
        ),
        """
        TIE              b and a: cannot be distinguished with these 400 calls, and they
                         cost the same. Final 0.900 [0.840–0.940] and 0.880
                         [0.830–0.920], $1.000 per 1000 calls, corrected by 120 labels.
        BEST QUALITY     b: Final 0.900 [0.840–0.940], $1.000 per 1000 calls.
        RANK 1           a: by cost efficiency, Final 0.910 at $1.000 per 1000 calls.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen; b and a
                         cannot be distinguished (+0.020 [-0.010, 0.050]); no number of
                         calls is promised: the models may be equal.
        """,
    ),
    Situation(
        "labels of people show a breach that the judge missed",
        card(
            model("a", 0.91),
            model(
                "b",
                0.95,
                rows={
                    "text.fabrication_free": row(
                        0.99,
                        "Acceptable",
                        corrected=Corrected(0.93, (0.90, 0.96), 100, 40, breached=True),
                    )
                },
            ),
        ),
        """
        ONLY ONE PASSES  a: the only one of 2 models that passes: no blocker, no row
                         rated Fail. Final 0.910, $1.000 per 1000 calls.
        BEST QUALITY     b: Final 0.950, $1.000 per 1000 calls; kept out, see below.
        RANK 1           b: by cost efficiency, Final 0.950 at $1.000 per 1000 calls.
        OUT              b: Text, Fabrication-Free Rate: 0.930 [0.900–0.960] corrected
                         by 100 labels, limit 0.97.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "a tolerance for broken replies is exceeded",
        card(
            model("a", None, blockers=[broken(12)], zeroed=0.9),
            signature="suite:calls|settings:call_gate_tolerance=0.02|judge:none",
        ),
        """
        NONE PASSES      a: it is kept out, Final 0.900 with blocked calls counted as 0
                         (not official).
        OUT              a: QA, Response Structure Compliance: 12 of 400 calls, 3.00 %
                         [1.6–5.2], limit 2 %.
        HOW SURE         400 calls: up to 0.75 % of calls could fail unseen.
        """,
    ),
    Situation(
        "six calls cannot distinguish 0 from 0.98",
        card(
            model("good", 0.98, 10.0, calls=6),
            model("silent", 0.0, 0.1, calls=6),
            gaps=[gap("silent", "good", 0.98, (-0.10, 1.0), (-0.30, 1.0), needed=7)],
        ),
        """
        LIKELY           good: best quality; silent is cheaper and 0.980 lower, which
                         may be chance. Final 0.980, $10.00 per 1000 calls. Not certain:
                         these 6 calls cannot show it; only 6 calls.
        BEST QUALITY     good: Final 0.980.
        RANK 1           good: by cost efficiency, Final 0.980 at $10.00 per 1000 calls.
        HOW SURE         6 calls: up to 40 % of calls could fail unseen; good and silent
                         cannot be distinguished (+0.980 [-0.100, 1.000]); no number of
                         calls is promised: the models may be equal.
        """,
    ),
]
