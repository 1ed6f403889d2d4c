"""Tables of marks as QA teams keep them: nothing in them is guessed or lost in silence (C-139)."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import pytest
import xlsxwriter

from callscore.core.errors import DataError, UsageError
from callscore.importers.forms.evaluations import read_evaluations
from callscore.importers.forms.marks import MarkOptions, parse_columns
from callscore.importers.forms.readers import read_form
from callscore.importers.source_file import Source
from callscore.metrics.forms.form import Evaluation

FORM = """section,id,question,options,critical,na allowed
Opening,greet,Was there a greeting?,Yes=5; No=0,,
Opening,verify,"Did the agent verify, who is calling?",Yes=5; No=0,yes,yes
Closing,solve,Was it solved?,Fully=5; Partly=2; Not=0; -,,
"""
HEAD = ["call_id", "greet", "verify", "solve"]


def form_of(text: str) -> Source:
    return Source("form.csv", text.encode())


THE_FORM = read_form(form_of(FORM))


def as_csv(rows: Sequence[Sequence[str]], delimiter: str = ",") -> Source:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter).writerows(rows)
    return Source("marks.csv", file.getvalue().encode())


def as_workbook(rows: Sequence[Sequence[object]]) -> Source:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        sheet = book.add_worksheet("Marks")
        for at, row in enumerate(rows):
            sheet.write_row(at, 0, row)
    return Source("marks.xlsx", file.getvalue())


def read(
    source: Source, columns: Sequence[str] = (), notes: list[str] | None = None
) -> list[Evaluation]:
    return read_evaluations(source, THE_FORM, MarkOptions(parse_columns(columns)), notes)


def options(evaluation: Evaluation) -> dict[str, str | None]:
    return {name: answer.option for name, answer in evaluation.answers.items()}


def test_c139_an_empty_cell_is_not_marked_and_na_is_what_a_person_wrote() -> None:
    (found,) = read(as_csv([HEAD, ["c1", "Yes", "n.a.", ""]]))
    assert options(found) == {"greet": "Yes", "verify": None}


def test_c139_a_dash_is_na_only_if_the_form_lists_it() -> None:
    (found,) = read(as_csv([HEAD, ["c1", "Yes", "No", "-"]]))
    assert options(found)["solve"] is None
    with pytest.raises(DataError, match=r"field verify: '-' is not an answer to 'verify'"):
        read(as_csv([HEAD, ["c1", "Yes", "-", "Not"]]))


def test_c139_na_is_refused_where_the_form_does_not_allow_it() -> None:
    with pytest.raises(
        DataError, match=r"marks.csv: line 2: field greet: 'N/A' is not allowed .*expected Yes, No$"
    ):
        read(as_csv([HEAD, ["c1", "N/A", "Yes", "Not"]]))


def test_c139_points_between_the_options_are_not_a_mark() -> None:
    (found,) = read(as_csv([HEAD, ["c1", "5", "0", "2"]]))
    assert [answer.score for answer in found.answers.values()] == [5, 0, 2]
    with pytest.raises(DataError, match=r"'3' is not an answer .*expected Fully, Partly, Not, N/A"):
        read(as_csv([HEAD, ["c1", "5", "0", "3"]]))


def test_c139_a_column_that_is_no_question_is_named_with_the_nearest_one() -> None:
    renamed = ["call_id", "greet", "Verified", "solve"]
    with pytest.raises(DataError) as caught:
        read(as_csv([renamed, ["c1", "Yes", "Yes", "Not"]]))
    message = str(caught.value)
    assert "marks.csv: line 1: field Verified: is not a question of the form" in message
    assert "questions without a column: 'verify' (Did the agent verify, who is calling?)" in message
    assert "headings found: call_id, greet, Verified, solve" in message


def test_c139_a_question_without_a_column_is_named_unless_that_is_allowed() -> None:
    rows = as_csv([HEAD[:3], ["c1", "Yes", "Yes"]])
    with pytest.raises(DataError, match="questions without a column: 'solve'"):
        read(rows)
    (found,) = read_evaluations(rows, THE_FORM, MarkOptions(allow_unmarked=True))
    assert set(found.answers) == {"greet", "verify"}


def test_c139_headings_are_mapped_with_their_comments() -> None:
    head = ["Call", "Q1", "Q3", "Q3 comment", "Q2", "Team"]
    pairs = ["Call=call_id,Q1=greet,Q3=Did the agent verify, who is calling?,Q2=solve", "Team="]
    (found,) = read(as_csv([head, ["c1", "Yes", "No", "never asked", "Not", "A"]]), pairs)
    assert options(found) == {"greet": "Yes", "verify": "No", "solve": "Not"}
    assert found.answers["verify"].comment == "never asked"


@pytest.mark.parametrize(
    ("pairs", "problem"),
    [
        ("Call", "expected HEADING=NAME"),
        ("Caller=call_id", r"marks.csv has no column 'Caller'; headings found: call_id, greet"),
        ("greet=greting", r"'greting' is not a question of the form \(nearest: 'greet'"),
    ],
)
def test_c139_a_mapping_that_means_nothing_is_refused(pairs: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        read(as_csv([HEAD, ["c1", "Yes", "Yes", "Not"]]), [pairs])


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_c139_title_rows_above_the_headings_are_skipped(delimiter: str) -> None:
    titles = [["QA marks, October"], [], ["Team", "North"]]
    rows = [*titles, HEAD, ["c1", "Yes", "Yes", "Perhaps"]]
    with pytest.raises(DataError, match="marks.csv: line 5: field solve: 'Perhaps'"):
        read(as_csv(rows, delimiter))
    with pytest.raises(DataError, match="sheet 'Marks' row 5: field solve: 'Perhaps'"):
        read(as_workbook(rows))


def test_c139_headings_that_name_no_call_are_listed() -> None:
    with pytest.raises(DataError, match="headings found: Who, greet, verify"):
        read(as_csv([["Marks"], ["Who", "greet", "verify"], ["c1", "Yes", "Yes"]]))


def test_c139_headings_match_whatever_their_case_and_punctuation() -> None:
    head = ["Call ID", "was there a GREETING", "Did the agent verify who is calling", "Solve"]
    (found,) = read(as_workbook([head, ["c1", "yes", "NO", "partly"]]))
    assert options(found) == {"greet": "Yes", "verify": "No", "solve": "Partly"}


def test_c139_comment_columns_belong_to_the_question_on_their_left() -> None:
    head = ["call_id", "greet", "Comment", "verify", "Comment", "solve", "Comment"]
    (found,) = read(as_csv([head, ["c1", "Yes", "one", "No", "two", "Not", "three"]]))
    assert [answer.comment for answer in found.answers.values()] == ["one", "two", "three"]


def test_c139_columns_about_the_call_are_named_and_not_read() -> None:
    notes: list[str] = []
    head = [*HEAD, "Agent", "Total", "Comments"]
    read(as_csv([head, ["c1", "Yes", "No", "Not", "Kim", "50 %", "ok"]]), notes=notes)
    assert notes == ["marks.csv: not read: Agent, Total, Comments"]


def test_c139_a_comma_without_quotes_does_not_shift_the_marks() -> None:
    data = b"call_id,greet,greet comment,verify,solve\nc1,Yes,hello, there,No,Not\n"
    with pytest.raises(DataError, match="line 2: field column F: 'Not' is in a column without"):
        read(Source("marks.csv", data))


def test_c139_a_question_with_two_columns_is_refused() -> None:
    with pytest.raises(DataError, match="'greet' and 'Was there a greeting' are both"):
        read(as_csv([[*HEAD, "Was there a greeting"], ["c1", "Yes", "No", "Not", "No"]]))
    with pytest.raises(DataError, match="field greet: is the heading of two columns"):
        read(as_csv([[*HEAD, "greet"], ["c1", "Yes", "No", "Not", "No"]]))


def test_c139_rows_of_questions_name_unknown_and_repeated_ones() -> None:
    head = ["call_id", "question", "answer", "evaluator"]
    rows = [["c1", "greet", "Yes", "a"], ["c1", "greet", "No", "b"], ["c1", "solve", "", "a"]]
    first, second = read(as_csv([head, *rows]))
    assert (options(first), options(second)) == ({"greet": "Yes"}, {"greet": "No"})
    with pytest.raises(DataError, match="line 3: field question: call 'c1' has a second mark"):
        read(as_csv([head, rows[0], rows[0]]))
    with pytest.raises(DataError, match=r"field question: 'verfy' is not .*nearest: 'verify'"):
        read(as_csv([head, ["c1", "verfy", "Yes", "a"]]))


def test_c139_a_row_with_marks_and_without_a_call_is_named() -> None:
    with pytest.raises(DataError, match="line 3: field call_id: is empty; expected the id"):
        read(as_csv([HEAD, ["c1", "Yes", "No", "Not"], ["", "Yes", "No", "Not"]]))


def test_c139_a_form_with_an_item_column_of_numbers_asks_its_words() -> None:
    form = read_form(
        form_of("QA form 2026\n\nitem,standard,points\n1,Greets the caller,5\n2,Verifies,10\n")
    )
    asked = [(one.id, one.title, one.max_score) for one in form.questions]
    assert asked == [("1", "Greets the caller", 5), ("2", "Verifies", 10)]
    with pytest.raises(DataError, match=r"field item: only numbers .*found: item, max$"):
        read_form(form_of("item,max\n1,5\n2,5\n"))


def test_a_scale_in_a_form_offers_every_mark() -> None:
    (question,) = read_form(form_of("question,scale\nHow friendly?,1-5\n")).questions
    assert [one.text for one in question.options] == ["5", "4", "3", "2", "1"]
    with pytest.raises(DataError, match="5-1 is not a scale"):
        read_form(form_of("question,scale\nHow friendly?,5-1\n"))


def test_a_condition_of_a_table_on_what_the_form_lacks_is_refused() -> None:
    with pytest.raises(DataError, match="field b: its condition names the answer 'Maybe' of 'a'"):
        read_form(form_of("id,question,condition\na,First?,\nb,Second?,a=Maybe\n"))


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("critical", "maybe", "line 2: field critical: 'maybe'; expected yes, no or nothing"),
        ("na allowed", "sometimes", "line 2: field na allowed: 'sometimes'; expected yes, no or"),
        ("weight", "-1", "line 2: field weight: -1 is negative; expected 0 or more"),
        ("section weight", "-2", "line 2: field section weight: -2 is negative"),
    ],
)
def test_a_cell_of_a_form_that_means_nothing_is_refused(
    column: str, cell: str, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_form(form_of(f"section,id,question,{column}\nA,q,Was there a greeting?,{cell}\n"))


@pytest.mark.parametrize("word", ["", "no", "-", "n/a", "0", "non-critical", "not critical"])
def test_words_for_no_leave_a_question_uncritical(word: str) -> None:
    form = read_form(form_of(f"id,question,critical\nq,Was there a greeting?,{word}\n"))
    assert not any(option.auto_fail for one in form.questions for option in one.options)
