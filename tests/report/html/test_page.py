"""The HTML report as text: its policy, its contents, its size, and what hostile text becomes."""

from __future__ import annotations

import re
import tracemalloc
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html.parser import HTMLParser

import msgspec
import pytest

from callscore.core.scorecard import Status
from callscore.report.html import FORMAT
from callscore.report.markup import IN_PAGE, tag
from callscore.report.source import ReportOptions, ReportSource
from report_samples import hostile_source, large_source
from xss_payloads import OTHERS, PAYLOADS


@pytest.fixture(scope="module")
def source(sample: ReportSource) -> ReportSource:
    return sample


@pytest.fixture(scope="module")
def few(source: ReportSource) -> ReportSource:
    return msgspec.structs.replace(source, cases=list(source.cases)[:8])


@pytest.fixture(scope="module")
def page(source: ReportSource) -> str:
    return written(source)


def written(source: ReportSource, options: ReportOptions | None = None) -> str:
    return b"".join(FORMAT.write(source, options or ReportOptions())).decode()


class Elements(HTMLParser):
    """Every element with its attributes, those in inert text included."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._script: str | None = None
        self.feed(page)
        self.close()

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((name, dict(attributes)))
        if name == "script":
            self._script = dict(attributes).get("type") or "text/javascript"

    def handle_data(self, data: str) -> None:
        if self._script == "text/javascript":
            self.scripts.append(data)
        elif self._script == "text/plain":
            self.found += Elements(data).found

    def handle_endtag(self, name: str) -> None:
        if name == "script":
            self._script = None


def test_the_policy_names_the_style_and_the_script_by_hash_and_nothing_else(page: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    allowed = policy[1].replace("&#x27;", "'")
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    style = page.partition("<style>")[2].partition("</style>")[0]
    for kind, content in (("script", script), ("style", style)):
        digest = b64encode(sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in allowed
    assert "default-src 'none'" in allowed and "unsafe" not in allowed and "http" not in allowed


SECTIONS = ["decision", "scorecard", "tasks", "ranks", "blockers", "sentiment", "questions"]
SECTIONS += ["slices", "judge", "provenance", "cases"]


@pytest.mark.parametrize("key", SECTIONS)
def test_each_section_is_there_and_the_navigation_leads_to_it(page: str, key: str) -> None:
    assert f'id="{key}"' in page
    assert f'href="#{key}"' in page


def test_the_first_screen_says_the_decision_and_draws_cost_and_quality(page: str) -> None:
    first = page.partition('id="scorecard"')[0]
    assert "sample-large and sample-large-b: cannot be distinguished with these 13 calls" in first
    assert "sample-medium: by cost efficiency, Final 0.770 at $3.535 per 1000 calls" in first
    assert "sample-small" in first and "9 blockers" in first
    assert '<svg class="picture" role="img"' in first and "Pareto front" in first


def test_the_models_that_the_decision_names_are_marked_in_the_table(page: str) -> None:
    rows = page.partition("Scorecard, one row per model")[2].partition("</table>")[0]
    marked = re.findall(r'<th scope="row">(\S+) <span class="chip middling">tie</span>', rows)
    assert marked == ["sample-large", "sample-large-b"]
    assert rows.count(">tie<") == 2
    scorecard = page.partition(">Scorecard</caption>")[2].partition("</table>")[0]
    assert scorecard.count(' <span class="chip middling">tie</span></th>') == 2


@pytest.mark.parametrize(
    ("results", "differ"),
    [
        ((("valid", 0.90), ("valid", 0.95)), False),
        ((("valid", 0.80), ("valid", 0.95)), True),
        ((("valid", 0.90), ("incomplete", 0.95)), True),
        ((("error", None), ("error", None)), False),
    ],
)
def test_models_differ_in_status_or_by_a_tenth(
    few: ReportSource, results: Sequence[tuple[Status, float | None]], differ: bool
) -> None:
    view = next(iter(few.cases))
    answers = [
        msgspec.structs.replace(
            answer,
            result=msgspec.structs.replace(
                answer.result, model=f"m{place}", status=status, score=score
            ),
        )
        for place, (answer, (status, score)) in enumerate(zip(view.answers, results, strict=False))
    ]
    case = msgspec.structs.replace(view, answers=answers)
    page = written(msgspec.structs.replace(few, cases=[case]))
    index = page.partition('id="index">')[2].partition("</script>")[0]
    assert ("different" in msgspec.json.decode(index)["marks"][0]) is differ


def test_every_link_of_the_page_leads_somewhere(page: str) -> None:
    elements = Elements(page).found
    ids = {attributes["id"] for _, attributes in elements if "id" in attributes}
    links = {attributes["href"] for name, attributes in elements if name == "a"}
    assert len(links) > 40
    assert {link for link in links if link is None or link[1:] not in ids} == set()


def test_a_blocker_leads_to_its_calls_and_a_verdict_to_the_words_that_prove_it(page: str) -> None:
    blockers = page.partition('id="blockers"')[2].partition("</section>")[0]
    assert '<a href="#case-1">refund-en/qa</a>' in blockers
    assert re.search(r'<mark title="[^"]*sample-large[^"]*" class="[a-z ]*model">', page)
    assert re.search(r'<a href="#case-1-t3"><q', page)


def test_pictures_say_in_words_what_they_show(page: str) -> None:
    pictures = re.findall(r"<svg [^>]+><title>[^<]+</title><desc>[^<]+</desc>", page)
    assert len(pictures) == page.count("<svg ") > 20


def test_text_is_left_out_where_it_may_not_leave(source: ReportSource) -> None:
    told = written(source, ReportOptions(without_text=True))
    assert "refund-en/qa" in told
    for secret in ("Streamella", "At 00:04 the agent says", "Anita Deshmukh"):
        assert secret not in told


def test_the_worst_cases_are_kept_where_all_would_be_too_large(source: ReportSource) -> None:
    told = written(source, ReportOptions(max_bytes=200_000))
    assert len(told.encode()) < 400_000
    kept = re.search(r"The (\d+) worst of 52 cases, worst first; (\d+) others are left out", told)
    assert kept is not None and int(kept[1]) + int(kept[2]) == 52
    index = msgspec.json.decode(told.partition('id="index">')[2].partition("</script>")[0])
    worst = index["worst"]
    assert len(worst) == int(kept[1]) and worst == sorted(worst)
    everything = written(source)
    all_of_them = msgspec.json.decode(
        everything.partition('id="index">')[2].partition("</script>")[0]
    )["worst"]
    assert worst == all_of_them[: len(worst)]


def test_the_same_source_gives_the_same_bytes(source: ReportSource) -> None:
    assert written(source) == written(source)


def test_a_scorecard_without_cases_says_why_there_are_none(source: ReportSource) -> None:
    alone = ReportSource(source.card, source.template, "Card", absent=["cases: not in the file"])
    told = written(alone)
    assert "cases: not in the file" in told
    assert 'id="questions"' not in told and 'id="index"' not in told


@pytest.mark.parametrize("texts", [PAYLOADS, OTHERS], ids=["payloads", "others"])
def test_hostile_text_is_never_markup(few: ReportSource, texts: tuple[str, ...]) -> None:
    told = written(hostile_source(few, texts))
    elements = Elements(told)
    assert len(elements.scripts) == 1 and "pwned" not in elements.scripts[0]
    names = {name for name, _ in elements.found}
    assert names & {"iframe", "object", "embed", "link", "base", "img", "math", "video"} == set()
    attributes = {key for _, found in elements.found for key in found}
    assert {key for key in attributes if key.startswith("on") or key in ("style", "src")} == set()
    links = {found["href"] for _, found in elements.found if "href" in found}
    assert all(link is not None and link.startswith("#") for link in links)
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", told
    )


def test_long_text_is_cut_and_it_says_so(few: ReportSource) -> None:
    two = msgspec.structs.replace(few, cases=list(few.cases)[:2])
    told = written(hostile_source(two, ["A" * 100_000]))
    assert len(told) < 2_500_000
    assert "more characters" in told


def test_half_a_surrogate_pair_can_be_written() -> None:
    assert tag("p", "\ud800").encode() == "<p>\ufffd</p>".encode()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("onclick", "x"),
        ("ONLOAD", "x"),
        ("style", "x"),
        ("src", "x"),
        ("href", "https://x.example"),
    ],
)
def test_no_element_can_be_given_a_handler_a_style_or_a_foreign_link(name: str, value: str) -> None:
    with pytest.raises(ValueError, match="not allowed|in a report"):
        tag("a", links=IN_PAGE, **{name: value})


def test_memory_does_not_grow_with_the_number_of_cases(source: ReportSource) -> None:
    def peak(cases: int) -> int:
        tracemalloc.start()
        size = sum(
            map(len, FORMAT.write(large_source(source, 1, cases), ReportOptions(max_bytes=250_000)))
        )
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert size < 1_000_000
        return found

    assert peak(90) < peak(30) + 400_000
