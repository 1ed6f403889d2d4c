"""The JSON of a run: the scorecard, document 001, or both (C-121)."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from callscore.core.scorecard import Scorecard
from callscore.report.json import scorecard_json
from callscore.report.safe_text import escape_json
from callscore.runner.run import RunResult


def run_document(ran: RunResult) -> bytes:
    """The document of a run.

    The scorecard, with the documents of scenarios by model under `orchestration`. If the run has
    only scenarios of one model, exactly document 001.
    """
    assert ran.card is not None  # an interrupted run has no document
    documents = ran.documents
    if not documents:
        return scorecard_json(ran.card)
    if ran.has_only_scenarios and len(documents) == 1:
        return document_json(next(iter(documents.values())))
    return joint_document(ran.card)


def joint_document(card: Scorecard) -> bytes:
    """The scorecard, with the documents of scenarios by model under `orchestration`."""
    documents = card.documents
    plain = msgspec.structs.replace(card, documents=msgspec.UNSET)
    return document_json({**json.loads(scorecard_json(plain)), "orchestration": documents})


def document_json(document: Any) -> bytes:
    """A document as JSON; a lone surrogate in a reply becomes an escape sequence."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return escape_json((text + "\n").encode("utf-8", "backslashreplace"))


def result_files(joint: Path, documents: Iterable[Mapping[str, Any]]) -> dict[Path, Any]:
    """One file of document 001 per model and language, next to the joint file   C-121

    The public consumer of results reads no other form, and shows zeros for what it cannot read.
    """
    single = [
        part
        for document in documents
        for part in (document["languages"].values() if "languages" in document else [document])
    ]
    files: dict[Path, Any] = {}
    for part in single:
        files[_path_next_to(joint, part["x_extension"], files)] = part
    return files


def _path_next_to(joint: Path, about: Mapping[str, str], taken: Container[Path]) -> Path:
    """`<joint>.<model>.<language>.json`; unsafe characters become `_`, equal names get a number."""
    name = re.sub(r"[^\w.-]", "_", f"{joint.stem}.{about['model']}.{about['language']}")
    path, number = joint.with_name(f"{name}.json"), 2
    while path in taken:
        path, number = joint.with_name(f"{name}-{number}.json"), number + 1
    return path
