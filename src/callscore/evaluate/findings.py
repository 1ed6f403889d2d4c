"""Data that replies must never contain: noted on the scorecard, counted in no metric."""

from __future__ import annotations

from collections.abc import Iterable

LEAK = "leak:"
"""Prefix of the flags that report data which must not be written down."""
SHOWN = 5


class Findings:
    """Collects the cases with a leak, by model and kind."""

    def __init__(self) -> None:
        self._cases: dict[tuple[str, str], list[str]] = {}

    def add(self, model: str, case_id: str, flags: Iterable[str]) -> None:
        """Add the leaks among the flags of one reply."""
        for flag in flags:
            if flag.startswith(LEAK):
                found = self._cases.setdefault((model, flag), [])
                if not found or found[-1] != case_id:
                    found.append(case_id)

    def notes(self) -> list[str]:
        """One line for each model and kind of leak."""
        return [
            f"{model}: {flag.removeprefix(LEAK).replace('_', ' ')} in the answers to "
            f"{len(cases)} {'case' if len(cases) == 1 else 'cases'}, which must not be written "
            f"down: {', '.join(cases[:SHOWN])}{', …' if len(cases) > SHOWN else ''}"
            for (model, flag), cases in sorted(self._cases.items())
        ]
