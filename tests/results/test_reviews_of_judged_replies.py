"""A review is about one item: the others of the same reply keep the word of the judge."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import commands
from builders import form, output, qa_case, question
from callscore.core.judging import Item
from callscore.demo import sample_calls
from callscore.evaluate.given_verdicts import read_verdicts
from callscore.report.source import Answer
from callscore.results import open_results
from callscore.results.port import VerdictFilter, VerdictItem
from callscore.results.reviews import RunReviewer, item_of, key_of, review_of, write_review
from callscore.results.stored_results import StoredResults
from callscore.store.files import Line
from eval_files import eval_file
from judging_stub import answer_as_judge, judge_entry, judge_requests
from stub_servers import serving

CLAIMS = "text.fabrication_free"
REASONS = "qa.evidence_backed_reasoning"


def overrule(results: StoredResults, store: Path, item: VerdictItem, word: str) -> None:
    shown = item_of(results, 1, key_of(item))
    review = review_of(shown, word, "I listened to it")
    write_review(RunReviewer(results, store, 1, "ada"), shown, review, prior=0)


def answer_to(results: StoredResults, item: VerdictItem) -> Answer:
    answers = results.case(1, item.place).view.answers
    return next(one for one in answers if (one.model, one.run) == (item.model, item.rep))


def words_on(answer: Answer, metric: str) -> dict[str, str | None]:
    return {one.item: one.verdict for one in answer.verdicts if one.metric == metric}


def test_a_review_of_one_claim_leaves_the_other_claims_judged(tmp_path: Path) -> None:
    with sample_calls() as config:
        lines = config.cases[0].read_text(encoding="utf-8").splitlines()
    texts = [line for line in lines if json.loads(line)["task"] == "text"][:3]
    (tmp_path / "cases.jsonl").write_text("\n".join(texts), encoding="utf-8")
    params = {"seed": 9, "fabricated_facts": 0.9, "wrong_scores": 0.3, "missing_labels": 0.2}
    model = {"name": "inventive", "provider": "simulated", "params": params}
    path = eval_file(tmp_path, [model], judge="offline", embedder="none", store="runs.db")
    done = commands.run("run", path)
    assert done.returncode == 0, done.stderr
    with closing(open_results(tmp_path / "runs.db")) as results:
        results.build(1)
        page = results.verdict_items(1, VerdictFilter(metric=CLAIMS, limit=1_000))
        item = next(one for one in page.items if one.word == "not_found")
        before = answer_to(results, item)
        assert len(words_on(before, CLAIMS)) > 1
        overrule(results, tmp_path / "runs.db", item, "supported_by_transcript")
        after = answer_to(results, item)
    expected = words_on(before, CLAIMS) | {item.item: "supported_by_transcript"}
    assert words_on(after, CLAIMS) == expected
    was, now = before.measures[CLAIMS], after.measures[CLAIMS]
    assert (now.numerator, now.denominator) == (was.numerator + 1, was.denominator)


def test_a_reviewed_item_is_still_asked_so_that_the_stored_reply_of_the_judge_is_found(
    tmp_path: Path,
) -> None:
    said = "Good morning, this is Marcus, how may I help you"
    reasons = [question(f"q{n}", reason=f"Marcus opens with {said}") for n in range(2)]
    turns = [{"id": 1, "speaker": "agent", "text": said}]
    expected = [question(f"q{n}", reason="Marcus greets") for n in range(2)]
    case = qa_case(expected, "c", transcript=turns)
    (tmp_path / "cases.jsonl").write_text(json.dumps(case), encoding="utf-8")
    answer = json.dumps(output("c", form(*reasons), "m"))
    (tmp_path / "outputs.jsonl").write_text(answer, encoding="utf-8")
    model = {"name": "m", "provider": "replay", "outputs": "outputs.jsonl"}
    with serving(answer_as_judge) as stub:
        judge = judge_entry(stub.url)
        path = eval_file(tmp_path, [model], judge=judge, embedder="none", store="runs.db")
        done = commands.run("run", path, env={"STUB_KEY": "k"})
        assert done.returncode == 0, done.stderr
        sent = len(judge_requests(stub))
        assert sent > 0
        with closing(open_results(tmp_path / "runs.db")) as results:
            results.build(1)
            items = results.verdict_items(1, VerdictFilter(metric=REASONS, limit=10)).items
            before = words_on(answer_to(results, items[0]), REASONS)
            assert len(before) == 2
            words = item_of(results, 1, key_of(items[0])).words
            other = next(word for word in words if word != items[0].word)
            overrule(results, tmp_path / "runs.db", items[0], other)
            after = words_on(answer_to(results, items[0]), REASONS)
        assert after == before | {items[0].item: other}
        assert len(judge_requests(stub)) == sent


def test_a_review_takes_the_place_of_verdicts_of_files_on_its_item_alone() -> None:
    about = {"case_id": "c", "model": "m", "metric": CLAIMS, "by": "judge"}
    person = {"verdict": "supported_by_transcript", "by": "human:ada", "review": True}
    lines = [
        {**about, "item": "claim:1", "verdict": "not_found"},
        {**about, "item": "claim:2", "verdict": "not_found"},
        {**about, "item": "claim:1", **person},
    ]
    source = Path("verdicts.jsonl")
    given = read_verdicts(
        [Line(source, n, 0, json.dumps(line).encode()) for n, line in enumerate(lines, 1)], "c"
    )
    found = {item: [one.by for one in verdicts] for item, verdicts in given["m", 1].items()}
    assert found == {Item(CLAIMS, "claim:1"): ["human:ada"], Item(CLAIMS, "claim:2"): ["judge"]}
