"""Compares recomputed results and a recomputed scorecard with those stored in a dossier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from callscore.core.case import Prompt
from callscore.core.scorecard import Scorecard
from callscore.core.signature import parts_of
from callscore.core.strict_json import DECODE_ERRORS
from callscore.report.dossier import (
    CASES,
    INSTRUCTIONS,
    MAX_PROMPTS,
    OUTPUTS,
    PROMPTS,
    VERDICTS,
    prompt_line,
    result_object,
)
from callscore.report.source import CaseView, PromptBuilder
from callscore.store.files import lines_of

UNJUDGED = "unjudged: "
RESULT_KEYS = ("status", "score", "ungated_score", "reasons", "metrics", "measures", "task")
HASHED_KEYS = {
    "output_sha256": (OUTPUTS, "the reply is not the one that was scored"),
    "verdicts_sha256": (VERDICTS, "the verdicts are not those that were used"),
}
CARD_KEYS = ("framework", "models", "ranking", "zeroed_ranking", "estimate", "contrasts")
KEYS_NOT_RECOMPUTED = frozenset({"why", "answered_by", "origin", "uncalibrated", "measured_by"})
"""Keys of a scorecard that only a judge, an embedder or a provider could produce again."""
UNJUDGED_KEYS = frozenset(
    {"status", "reasons", "failed", "awaiting", "reason", "obstacles"}
    | {"provisional_range", "open_calls"}
)
"""Keys that tell a failed verdict from one never requested; verification requests none."""
OF_THE_RUN = frozenset({"directory", "file_path", "warnings", "free_running", "signature"})
"""Keys of document 001 that name folders of the run, or replies that a dossier does not have."""
SIGNATURE_PARTS = (
    "suite",
    "framework",
    "data",
    "repeats",
    "settings",
    "over",
    "weights",
    "workload",
)
EMPTY: Mapping[str, Any] = {}


class ComparedPrompts(NamedTuple):
    """The recorded prompts of cases, and what builds them again."""

    lines: Path
    instructions: Mapping[str, str]
    build: PromptBuilder


class CaseComparison:
    """Compares cases with those of a dossier as they are scored again, in file order."""

    def __init__(self, results: Path, prompts: ComparedPrompts | None = None) -> None:
        """`results` has the recorded results; without `prompts`, none are compared."""
        self._results = _by_case(results)
        self._file = results.name
        self._prompts = prompts
        self._prompt_lines = iter(()) if prompts is None else _lines(prompts.lines)
        self._prompts_of = None if prompts is None else prompts.build.read_in_order()
        self._prompts_missing = 0
        self.differences: dict[str, list[str]] = {}
        self.cases = self.results = self.prompts_checked = 0
        self.has_unjudged = False

    def _add(self, file: str, what: str) -> None:
        self.differences.setdefault(file, []).append(what)

    def compare(self, view: CaseView) -> None:
        """Compare one case with the next case of the dossier."""
        self.cases += 1
        case_id, stored = next(self._results, (None, []))
        if case_id != view.case.id:
            what = f"case {view.case.id!r}: {self._file} has {case_id!r} in its place"
            self._add(CASES, what)
        recomputed: dict[tuple[Any, Any], Mapping[str, Any]] = {
            (answer.model, answer.run): result_object(answer) for answer in view.answers
        }
        stored_results = {(line.get("model"), line.get("run")): line for line in stored}
        for key in dict.fromkeys((*recomputed, *stored_results)):
            self._compare_results(view.case.id, key, stored_results.get(key), recomputed.get(key))
        self._compare_prompts(view)

    def _compare_results(
        self,
        case_id: str,
        key: tuple[Any, Any],
        stored: Mapping[str, Any] | None,
        recomputed: Mapping[str, Any] | None,
    ) -> None:
        self.results += 1
        place = f"case {case_id!r}, model {key[0]!r}, run {key[1]}"
        if recomputed is None and stored is not None and stored.get("status") == "not_run":
            return  # outputs have no lines for it
        if stored is None or recomputed is None:
            self._add(self._file, f"{place}: has no result, or no recorded reply")
            return
        recomputed = msgspec.json.decode(msgspec.json.encode(recomputed))
        for name, (file, what) in HASHED_KEYS.items():
            if stored.get(name) != recomputed[name]:
                self._add(file, f"{place}: {what}")
        ignored: set[str] = set()
        if any(flag.startswith(UNJUDGED) for flag in stored.get("flags", ())):
            self.has_unjudged, ignored = True, {"status", "reasons"}
        for name in RESULT_KEYS:
            if name not in ignored:
                for path, one, other in find_differences(stored.get(name), recomputed[name], name):
                    self._add(self._file, f"{place}: {_describe_difference(path, one, other)}")

    def _compare_prompts(self, view: CaseView) -> None:
        if self._prompts_of is None or self.cases > MAX_PROMPTS:
            return
        for sent in self._prompts_of(view):
            line = next(self._prompt_lines, None)
            if line is None:
                self._prompts_missing += 1
                continue
            self.prompts_checked += 1
            if line != msgspec.json.decode(prompt_line(view.case.id, sent)):
                self._add(PROMPTS, f"case {view.case.id!r}: is not the prompt that is sent for it")
            self._compare_instructions(view.case.task, sent.prompt)

    def _compare_instructions(self, task: str, prompt: Prompt) -> None:
        assert self._prompts is not None  # checked by the caller
        sent = [message.content for message in prompt.messages if message.role == "system"]
        if sent and self._prompts.instructions.get(task) != sent[0]:
            what = f"the instructions of task {task!r} are not those that are sent"
            if what not in self.differences.get(INSTRUCTIONS, ()):
                self._add(INSTRUCTIONS, what)

    def finish(self) -> None:
        """Report lines of the dossier without a case, and missing prompt lines."""
        prompts, missing = self._prompts, self._prompts_missing
        if prompts is not None and prompts.build.context() and missing:
            self._add(PROMPTS, f"has {self.prompts_checked} lines for {self.cases} cases")
        for case_id, _ in self._results:
            self._add(self._file, f"case {case_id!r}: is not among the cases")
        for line in self._prompt_lines:
            self._add(PROMPTS, f"case {line.get('case_id')!r}: is not in {CASES}")


def _lines(path: Path) -> Iterator[Mapping[str, Any]]:
    for line in lines_of([path]):
        try:
            value = msgspec.json.decode(line.raw)
        except DECODE_ERRORS:
            value = None
        yield value if isinstance(value, dict) else EMPTY


def _by_case(path: Path) -> Iterator[tuple[Any, list[Mapping[str, Any]]]]:
    for case_id, lines in groupby(_lines(path), key=lambda line: line.get("case_id")):
        yield case_id, list(lines)


class CardComparison:
    """Compares a stored scorecard with the recomputed one."""

    def __init__(self, stored: Scorecard, recomputed: Scorecard, *, lenient: bool) -> None:
        self._stored = stored.to_dict()
        self._recomputed = recomputed.to_dict()
        self._documents = [
            msgspec.json.decode(msgspec.json.encode(card.documents or None))
            for card in (stored, recomputed)
        ]
        self._ignored = KEYS_NOT_RECOMPUTED | UNJUDGED_KEYS if lenient else KEYS_NOT_RECOMPUTED

    def differences(self) -> list[str]:
        """Describe every value that differs, with its path."""
        differences = [
            _describe_difference(path, one, other)
            for name in CARD_KEYS
            for path, one, other in find_differences(
                _by_model(self._stored.get(name)),
                _by_model(self._recomputed.get(name)),
                name,
                self._ignored,
            )
        ]
        stored, recomputed = (
            parts_of(card["signature"]) for card in (self._stored, self._recomputed)
        )
        differences += [
            _describe_difference(path, one, other)
            for path, one, other in find_differences(
                self._documents[0], self._documents[1], "documents", OF_THE_RUN
            )
        ]
        return differences + [
            _describe_difference(f"signature.{part}", stored.get(part), recomputed.get(part))
            for part in SIGNATURE_PARTS
            if stored.get(part) != recomputed.get(part)
        ]


def _by_model(value: Any) -> Any:
    """Turn a list of models into a mapping, so that differences name the model."""
    if isinstance(value, list) and all(isinstance(v, dict) and "model" in v for v in value):
        return {entry["model"]: entry for entry in value}
    return value


def find_differences(
    one: Any, other: Any, path: str, ignored: frozenset[str] = frozenset()
) -> Iterator[tuple[str, Any, Any]]:
    """Yield the path and both values of every leaf in which two values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in {**one, **other}:
            if key not in ignored:
                inner = f"{path}.{key}"
                yield from find_differences(one.get(key), other.get(key), inner, ignored)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (first, second) in enumerate(zip(one, other, strict=True)):
            yield from find_differences(first, second, f"{path}[{place}]", ignored)
    elif one != other:
        yield path, one, other


def _describe_difference(path: str, one: Any, other: Any) -> str:
    return f"{path}: {_short(one)} is stored, {_short(other)} is recomputed"


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 80 else f"{text[:79]}…"
