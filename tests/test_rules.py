"""The rules are public: every rule, setting and flag that the code cites is in docs/rules."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from callscore.config.file import OFFLINE, RaceEntry
from callscore.core.scenarios import ScenarioSettings
from callscore.core.scorecard import Decide
from callscore.suites.calls import spec
from commands import run
from flag_scan import Module, flags_in, source_modules
from spec.pending import PENDING

ROOT = Path(__file__).parent.parent
RULES = ROOT / "docs" / "rules"

RULE_IDS = [f"C-{number:02}" for number in range(1, 143)]
SECTIONS = [f"STATS §{number}" for number in range(1, 9)]
SUBSECTIONS = [f"STATS §4.{number}" for number in range(1, 8)]

HEADING = re.compile(
    r'^#{2,3} <a id="([a-z0-9-]+)"></a>(C-\d+|STATS §[\d.]+) · (.+)$', re.MULTILINE
)
ANCHOR = re.compile(r'<a id="([a-z0-9-]+)"></a>')
CITED_RULE = re.compile(r"\bC-\d{2,3}\b")
CITED_SECTIONS = re.compile(r"STATS (§\d+(?:\.\d+)?(?:(?:,| and| …) §\d+(?:\.\d+)?)*)")
CITED_QUIRK = re.compile(r"\bQ\d{1,2}\b")
PLANNED = "Planned, not in this version"
DOCUMENTED_DEFAULT = re.compile(r"`([a-z0-9_.]+)`\s+\(default\s+`([^`]*)`")

NOT_FLAGS = {
    "no_plan",
    "unreadable_plan",
    "workflow_not_a_mapping",
    "dependencies_not_names",
    "steps_not_a_list",
    "step_not_a_mapping",
    "agent_not_a_name",
}
"""Causes of malformed plans: details of the reason `failed_plan`, never in `flags`."""


class RuleHeading(NamedTuple):
    page: str
    anchor: str
    title: str


def anchor_of(rule: str) -> str:
    """`c-115` of C-115, `stats-4-3` of STATS §4.3"""
    return rule.lower().replace(" §", "-").replace(".", "-")


@cache
def rules() -> Mapping[str, RuleHeading]:
    """Every rule with a heading of its own."""
    return {
        rule: RuleHeading(page.name, anchor, title)
        for page in sorted(RULES.glob("*.md"))
        for anchor, rule, title in HEADING.findall(page.read_text(encoding="utf-8"))
    }


def text_of(rule: str) -> str:
    """The text below the heading of a rule."""
    found = rules()[rule]
    page = (RULES / found.page).read_text(encoding="utf-8")
    return re.split(r"^#{2,3} ", page.split(f'<a id="{found.anchor}"></a>')[1], flags=re.M)[0]


def cited_in(text: str) -> Iterator[str]:
    """The rules and sections that a text cites."""
    yield from CITED_RULE.findall(text)
    for listed in CITED_SECTIONS.findall(text):
        yield from (f"STATS §{number}" for number in re.findall(r"§([\d.]*\d)", listed))


def citing_files() -> list[Path]:
    patterns = ("src/**/*.py", "src/**/*.toml", "docs/**/*.md", "docs/*.py", "bench/*", "*.md")
    files = [path for pattern in (*patterns, "tests/**/*.py") for path in ROOT.glob(pattern)]
    return [path for path in files if path.suffix in {".py", ".toml", ".md"}]


def test_every_rule_has_one_heading_with_its_anchor() -> None:
    pages = [page.read_text(encoding="utf-8") for page in RULES.glob("*.md")]
    named = Counter(rule for page in pages for _, rule, _ in HEADING.findall(page))
    assert [rule for rule, times in named.items() if times > 1] == []
    assert set(named) == {*RULE_IDS, *SECTIONS, *SUBSECTIONS}
    assert {rule: found.anchor for rule, found in rules().items()} == {
        rule: anchor_of(rule) for rule in named
    }
    anchors = Counter(anchor for page in pages for anchor in ANCHOR.findall(page))
    assert [anchor for anchor, times in anchors.items() if times > 1] == []


@pytest.mark.parametrize("rule", [*RULE_IDS, *SECTIONS, *SUBSECTIONS])
def test_the_index_has_one_line_for_every_rule(rule: str) -> None:
    index = (RULES / "index.md").read_text(encoding="utf-8")
    page, anchor, title = rules()[rule]
    assert f"\n| [{rule}]({page}#{anchor}) | {title} | " in index


def test_every_rule_that_is_cited_anywhere_is_documented() -> None:
    lost = [
        f"{path.relative_to(ROOT)}: {rule}"
        for path in citing_files()
        for rule in set(cited_in(path.read_text(encoding="utf-8")))
        if rule not in rules()
    ]
    assert lost == []


def test_citations_are_found_alone_and_in_lists() -> None:
    text = "C-09 … C-115; STATS §2 and (STATS §4.5: .03), STATS §1, §3 and §4.1. §9, XC-12"
    assert list(cited_in(text)) == [
        *("C-09", "C-115", "STATS §2", "STATS §4.5", "STATS §1", "STATS §3", "STATS §4.1"),
    ]


def test_every_quirk_of_the_public_evaluator_that_code_cites_is_documented() -> None:
    known = set(ANCHOR.findall((RULES / "public-evaluator.md").read_text(encoding="utf-8")))
    folder = ROOT / "src" / "callscore" / "suites" / "orchestration"
    cited = {
        quirk
        for path in [*folder.rglob("*.py"), *folder.rglob("*.toml")]
        for quirk in CITED_QUIRK.findall(path.read_text(encoding="utf-8"))
    }
    assert {quirk for quirk in cited if quirk.lower() not in known} == set()


def test_no_page_or_source_refers_to_a_document_that_is_not_in_the_repository() -> None:
    unknown = re.compile(r"\b(ORCHESTRATIONBENCH(?:\.md| §)|CLARIFICATIONS|STATS\.md|JUDGE\.md)")
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in citing_files()
        if not path.is_relative_to(ROOT / "tests")
        for name in unknown.findall(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_what_is_planned_is_what_has_no_test_yet() -> None:
    """Step 11 lands while its rules are written; rules of later steps are announced only."""
    later = {rule for rule, needs in PENDING.items() if not needs.startswith("step 11")}
    planned = {rule for rule in RULE_IDS if text_of(rule).lstrip().count(PLANNED)}
    assert planned == later


@cache
def code_defaults() -> Mapping[str, object]:
    """The default of every setting that a rule may name."""
    return {
        **msgspec.to_builtins(spec.make_settings()),
        **{f"race.{key}": value for key, value in msgspec.to_builtins(RaceEntry()).items()},
        **{f"decide.{key}": value for key, value in msgspec.to_builtins(Decide()).items()},
        **msgspec.to_builtins(ScenarioSettings()),
    }


def written(value: object) -> str:
    """A default as the pages write it."""
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def documented_defaults() -> Iterator[tuple[str, str, str]]:
    for page in sorted(RULES.glob("*.md")):
        for key, value in DOCUMENTED_DEFAULT.findall(page.read_text(encoding="utf-8")):
            yield page.name, key, value


def test_every_documented_default_is_that_of_the_code() -> None:
    known = code_defaults()
    wrong = [
        f"{page}: {key} is {written(known.get(key))}, documented as {value}"
        for page, key, value in documented_defaults()
        if key not in known or written(known[key]) != value
    ]
    assert wrong == []


def test_every_setting_of_scoring_is_in_a_rule() -> None:
    documented = {key for _, key, _ in documented_defaults()}
    assert set(msgspec.to_builtins(spec.make_settings())) - documented == set()


def documented_flags() -> list[str]:
    """The first column of the tables on the page of flags."""
    page = (RULES / "flags.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)


def test_the_page_of_flags_has_every_flag_of_the_code_once_and_no_other() -> None:
    found = {flag for flags in flags_in(source_modules()).values() for flag in flags}
    assert found >= NOT_FLAGS, "a cause that no longer exists"
    assert sorted(documented_flags()) == sorted(found - NOT_FLAGS | OFFLINE)


def test_every_flag_that_a_rule_names_is_on_the_page_of_flags() -> None:
    named = {
        flag
        for page in RULES.glob("*.md")
        for listed in re.findall(r"\*\*Flags:\*\*((?:.|\n)*?)(?:\n\n|\n- |\Z)", page.read_text())
        for flag in re.findall(r"`([^`]+)`", re.sub(r"\([^)]*\)", "", listed))
    }
    known = {flag.removesuffix(" …") for flag in documented_flags()}
    assert named - known - {"parse: strict"} == set()


def test_every_flag_of_an_evaluation_is_on_the_page_of_flags(tmp_path: Path) -> None:
    """What the scan of the sources promises, seen from outside: bad models, all tasks, offline."""
    noise = {"wrong_scores": 0.4, "missing_labels": 0.3, "fabricated_facts": 0.4}
    broken = {"broken_json": 0.3, "refusals": 0.2}
    sample = ROOT / "src" / "callscore" / "demo" / "orchestration"
    agents = {name: str(sample / name) for name in ("scenarios", "cards")}
    eval_file = {
        "data": ["sample", {"orchestration": agents}],
        "judge": "offline",
        "intervals": False,
        "models": [
            {"name": "bad", "provider": "simulated", "params": {"seed": 1, **noise}},
            {"name": "broken", "provider": "simulated", "params": {"seed": 2, **broken}},
            {"name": "rules", "provider": "baseline"},
        ],
    }
    (tmp_path / "eval.yaml").write_text(json.dumps(eval_file), encoding="utf-8")
    done = run("run", "eval.yaml", "--results", "results.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "results.jsonl").read_text(encoding="utf-8").splitlines()
    flags = {flag for line in lines for flag in json.loads(line)["flags"]}
    known = documented_flags()
    beginnings = tuple(flag.removesuffix("…") for flag in known if flag.endswith("…"))
    assert {
        flag for flag in flags if flag not in known and not flag.startswith(beginnings)
    } == set()
    assert len(flags) > 10


@pytest.mark.parametrize(
    ("code", "flags"),
    [
        ("flags.add('a')", {"a"}),
        ("X = 'a'\ndef f(flags):\n    flags.update([X, 'b'])", {"a", "b"}),
        ("def f(self):\n    self.flags.add('a' if f else 'b')", {"a", "b"}),
        ("flags = ['a'] if f else []\nflags += ('b',)", {"a", "b"}),
        ("class R:\n    x: int\n    flags: tuple\nR(1, ('a',))\nR(1, flags=('b',))", {"a", "b"}),
        ("class M:\n    cause: str\nC = {1: 'a'}\nM(C[2])", {"a"}),
        ("class M:\n    cause: str\ndef g():\n    return 'a', 'detail'\nM(*g())", {"a"}),
        ("def g():\n    return ('t', ('a',)) if h else ('t', ())\ntext, flags = g()", {"a"}),
        ("def find_flags():\n    yield 'a'", {"a"}),
        ("def g():\n    found = []\n    found.append('a')\n    return found\nflags = g()", {"a"}),
        ("def g(x, flags=()):\n    ...\ng(1, ('a',))", {"a"}),
        ("P = 'a'\nflags = {f'{P}: {why}'}", {"a: …"}),
        ("K = ('a', 'b')\nr(flags=(*old, *(k for k in K if k in s)))", {"a", "b"}),
        ("if 'a' in flags or x == 'b':\n    y = 'c'", set()),
    ],
)
def test_a_flag_is_found_however_it_is_collected(code: str, flags: set[str]) -> None:
    assert flags_in({"m": Module("m", code)}).get("m", set()) == flags


def test_a_flag_that_is_a_constant_of_another_module_is_found() -> None:
    modules = {
        "a": Module("a", "NAME = 'found'\n"),
        "b": Module("b", "from a import NAME as N\nflags = [N]\n"),
    }
    assert flags_in(modules)["b"] == {"found"}
