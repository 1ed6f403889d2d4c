"""What may be compared with what: C-68 and C-126."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import callscore
from builders import form, output, qa_case, question
from callscore.core.errors import UsageError
from callscore.core.scorecard import Scorecard
from callscore.core.signature import changes_between, parts_of
from callscore.core.spec import read_spec
from callscore.embeddings.catalog import find_embedder
from commands import run

CALLS_SPEC = Path(callscore.__file__).parent / "suites" / "calls" / "spec.toml"


def card(**parts: str) -> Scorecard:
    """A scored card whose signature says something else in some parts."""
    scored = callscore.score(
        [qa_case([question()], "c1")], [output("c1", form(question()))], judge="offline"
    )
    named = {**parts_of(scored.signature), **parts}
    signature = "|".join(f"{name}:{value}" for name, value in named.items())
    return msgspec.structs.replace(scored, signature=signature)


def test_c_68_labse_and_muse_are_refused_unless_forced_and_then_labelled(tmp_path: Path) -> None:
    muse = getattr(find_embedder("muse"), "signature", "")
    a, b = card(embedder="labse/837083bbf0f9"), card(embedder=muse)
    with pytest.raises(UsageError, match=r"not comparable \(C-126\): they differ in embedder"):
        callscore.compare(a, b)
    forced = callscore.compare(a, b, force=True)
    assert forced.not_comparable == [f"embedder: labse/837083bbf0f9 and {muse}"]
    for name, found in (("a", a), ("b", b)):
        (tmp_path / f"{name}.json").write_bytes(msgspec.json.encode(found))
    refused = run("compare", "a.json", "b.json", cwd=tmp_path)
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    shown = run("compare", "a.json", "b.json", "--force", cwd=tmp_path)
    assert shown.returncode == 0
    assert shown.stdout.startswith("NOT COMPARABLE (C-126): embedder")
    comment = run("compare", "a.json", "b.json", "--force", "--markdown", "-", cwd=tmp_path)
    assert "**⚠️ NOT COMPARABLE (C-126):**" in comment.stdout


@pytest.mark.parametrize(
    "part", ["framework", "data", "repeats", "settings", "judge", "embedder", "weights"]
)
def test_c_126_results_that_differ_in_a_part_are_not_compared(part: str) -> None:
    a = card()
    value = parts_of(a.signature)[part]
    b = card(**{part: value[:-1] + ("x" if value[-1] != "x" else "y")})
    with pytest.raises(UsageError, match="not comparable"):
        callscore.compare(a, b)


def test_c_126_one_character_of_the_judge_prompt_makes_another_judge() -> None:
    a, b = card(judge="gpt-x/prompt:9f8e7d"), card(judge="gpt-x/prompt:9f8e7c")
    with pytest.raises(UsageError, match=r"judge or its prompt: .*9f8e7d and .*9f8e7c"):
        callscore.compare(a, b)


def test_c_126_a_newer_callscore_alone_is_no_other_series() -> None:
    assert not changes_between(card().signature, card(callscore="99.0").signature)


def test_a_value_may_hold_the_separator_of_a_signature() -> None:
    assert parts_of("judge:a|b|embedder:x") == {"judge": "a|b", "embedder": "x"}


def test_c126_a_comment_in_a_specification_changes_no_signature(tmp_path: Path) -> None:
    source = CALLS_SPEC.read_text(encoding="utf-8")
    (tmp_path / "same.toml").write_text(f"# another comment\n{source}", encoding="utf-8")
    (tmp_path / "other.toml").write_text(source.replace("0.95", "0.94", 1), encoding="utf-8")
    (tmp_path / "spec.toml").write_text(source, encoding="utf-8")
    digests = [read_spec(tmp_path / f"{name}.toml").digest for name in ("spec", "same", "other")]
    assert digests[0] == digests[1] != digests[2]


def test_c126_a_final_score_with_benchmarks_is_not_compared_with_one_without() -> None:
    cases, outputs = [qa_case([question()], "c1")], [output("c1", form(question()))]
    a, b = (callscore.score(cases, outputs, benchmarks=asked) for asked in (True, False))
    with pytest.raises(UsageError, match="they differ in option of the Final Score"):
        callscore.compare(a, b)
