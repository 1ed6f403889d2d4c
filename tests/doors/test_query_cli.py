"""`callscore query`: one SELECT on the tables of a run, and nothing else whatever the SQL says."""

from __future__ import annotations

import csv
import io
import json
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest

from callscore.core.errors import UsageError
from callscore.export.query import QueryLimits, run_query
from command_server import NEVER_S
from commands import CompletedCommand, run, run_in_new_process, start
from eval_files import write_small_project

EVAL = """
name: tiny
data: cases.jsonl
models:
  - {name: careful, provider: simulated, params: {seed: 7, wrong_scores: 0.3}}
  - {name: "12", provider: baseline}
judge: offline
embedder: none
"""
ENDLESS = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT {} FROM t"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run and its tables."""
    folder = tmp_path_factory.mktemp("project")
    eval_file = write_small_project(folder, EVAL)
    results = ("--results", folder / "results.jsonl", "--parquet", folder / "run.parquet")
    assert run("run", eval_file, *results).returncode == 0
    (folder / "secret.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    return folder


def ask(project: Path, sql: str, *words: object, target: str = "run.parquet") -> CompletedCommand:
    return run("query", target, sql, *words, cwd=project)


@pytest.mark.parametrize("target", ["run.parquet", "eval.yaml", "1"])
def test_28_4_a_query_reads_results_as_they_were_written(project: Path, target: str) -> None:
    sql = "SELECT case_id, model, score FROM results ORDER BY ALL"
    done = ask(project, sql, "--format", "json", target=target)
    assert done.returncode == 0, done.stderr
    written = map(json.loads, (project / "results.jsonl").read_text("utf-8").splitlines())
    expected = sorted((row["case_id"], row["model"], row["score"]) for row in written)
    found = [tuple(json.loads(line).values()) for line in done.stdout.splitlines()]
    assert found == expected


def test_28_4_every_table_is_there_and_model_is_text(project: Path) -> None:
    sql = "SELECT model, count(*) AS n FROM {} GROUP BY model ORDER BY model"
    for table in ("replies", "results", "metrics", "verdicts"):
        done = ask(project, sql.format(table), "--format", "json")
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        assert {row["model"] for row in rows} <= {"12", "careful"}, table
        assert rows or table == "verdicts"
    done = ask(project, "SELECT task, count(*) AS n FROM cases GROUP BY task ORDER BY task")
    assert done.stdout.split()[:2] == ["task", "n"]
    assert ask(project, "DESCRIBE metrics").stdout.count("VARCHAR") == 6


def test_28_4_no_row_becomes_a_formula_or_an_escape(project: Path) -> None:
    sql = "SELECT '=1+1' AS \"=f\", -1.5 AS n, chr(27) || '[31m' AS e, NULL AS x, [1, 2] AS l"
    done = ask(project, sql, "--format", "csv")
    rows = list(csv.reader(io.StringIO(done.stdout.removeprefix("\ufeff"))))
    assert rows == [["'=f", "n", "e", "x", "l"], ["'=1+1", "-1.5", "\ufffd[31m", "", "[1,2]"]]
    for form in ("table", "json", "csv"):
        assert "\x1b" not in ask(project, sql, "--format", form).stdout
    record = {"=f": "=1+1", "n": "-1.5", "e": "\x1b[31m", "x": None, "l": [1, 2]}
    assert json.loads(ask(project, sql, "--format", "json").stdout) == record


def test_28_4_a_table_shows_the_first_rows_and_a_file_has_all(project: Path) -> None:
    sql = "SELECT range AS n FROM range(25000)"
    done = ask(project, sql)
    assert len(done.stdout.splitlines()) == 202
    assert "The first 200 rows" in done.stderr
    assert ask(project, sql, "--format", "csv", "-o", project / "all.csv").returncode == 0
    assert len((project / "all.csv").read_bytes().splitlines()) == 25_001
    assert ask(project, sql, "-o", project / "t.txt").returncode == 2
    double = ask(project, "SELECT 1 AS a, 2 AS a", "--format", "json")
    assert (double.returncode, double.stdout) == (2, "")
    assert "two columns are named 'a'" in double.stderr


FILES = "file system operations are disabled"
ATTACKS: Mapping[str, str] = {
    "SELECT * FROM read_csv('secret.csv')": FILES,
    "SELECT * FROM 'secret.csv'": FILES,
    "SELECT * FROM read_text('secret.csv')": FILES,
    "SELECT * FROM read_blob('/etc/passwd')": FILES,
    "SELECT * FROM read_parquet('run.parquet/cases/part-00000.parquet')": FILES,
    "SELECT * FROM parquet_metadata('run.parquet/cases/part-00000.parquet')": FILES,
    "SELECT * FROM sniff_csv('secret.csv')": FILES,
    "SELECT * FROM glob('/etc/*')": FILES,
    "SELECT * FROM 'https://127.0.0.1:9/x.parquet'": FILES,
    "SELECT * FROM read_json('https://127.0.0.1:9/x.json')": FILES,
    "SELECT * FROM query('COPY cases TO ''x.csv''')": "single SELECT",
    "SELECT * FROM query_table('secret.csv')": FILES,
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql("
    "'SELECT * FROM read_csv(''secret.csv'')'))": FILES,
    "SELECT * FROM duckdb_secrets()": FILES,
    "SELECT * FROM enable_logging(storage := 'file', storage_path := 'log')": "locked",
    "SELECT * FROM enable_profiling(save_location := 'profile.json')": "locked",
    "SELECT * FROM arrow_scan(1, 2, 3)": "No function matches",
    "SELECT * FROM pandas_scan(1)": "No function matches",
    "SELECT * FROM python_map_function((SELECT 1))": "requires a callable",
    "SELECT * FROM project": "does not exist",
    "SELECT * FROM sql": "does not exist",
    "SELECT * FROM folder": "does not exist",
    "SELECT getenv('HOME')": "does not exist",
    "WITH x AS (INSERT INTO cases VALUES ('x') RETURNING *) SELECT * FROM x": "refused",
    "COPY cases TO 'x.csv'": "is COPY",
    "COPY cases TO 'run.parquet/cases/part-00000.parquet' (USE_TMP_FILE false)": "is COPY",
    "COPY (SELECT 1) TO 'run.parquet/_SUCCESS' (FORMAT csv, USE_TMP_FILE false)": "is COPY",
    "ATTACH 'x.db'": "is ATTACH",
    "INSTALL httpfs": "is LOAD",
    "LOAD httpfs": "is LOAD",
    "SET enable_external_access = true": "is SET",
    "RESET memory_limit": "is SET",
    "PRAGMA database_list": "is PRAGMA",
    "EXPORT DATABASE 'x'": "is EXPORT",
    "CALL enable_logging(storage = 'file')": "is CALL",
    "CREATE TABLE x AS SELECT 1": "is CREATE",
    "DROP VIEW cases": "is DROP",
    "PREPARE x AS SELECT 1": "is PREPARE",
    "EXPLAIN ANALYZE SELECT 1": "is EXPLAIN",
    "SELECT 1; SELECT 2": "is SELECT, SELECT",
    "SELECT 1; COPY cases TO 'x.csv'": "is SELECT, COPY",
    "SELECT 1; SET threads = 9": "is SELECT, SET",
    "": "is no statement",
    "-- nothing": "is no statement",
    "no SQL": "syntax error",
    "SELECT ?": "refused",
}


def listing(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("sql", ATTACKS)
def test_28_4_what_is_no_plain_select_is_refused_and_touches_no_file(
    project: Path, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    before = listing(project)
    with (
        pytest.raises(UsageError, match=r"^the query is [^\n]*$") as refused,
        run_query(project / "run.parquet", sql, QueryLimits(60, 200), print) as result,
    ):
        list(result.batches)
    assert ATTACKS[sql] in str(refused.value)
    assert listing(project) == before


def test_28_4_a_refused_query_ends_with_exit_code_2(project: Path) -> None:
    done = ask(project, "SELECT * FROM read_csv('secret.csv')")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: the query is refused: ")


@pytest.mark.parametrize(
    ("sql", "near"),
    [
        ("SELECT count(*) FROM result", 'Did you mean "results"?'),
        ("SELECT modl FROM results", 'Candidate bindings: "model"'),
    ],
)
def test_a_misspelt_name_is_refused_with_what_it_may_mean(
    project: Path, sql: str, near: str
) -> None:
    done = ask(project, sql)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert near in done.stderr


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT repeat('x', 3000000000)",
        "SELECT list_resize([1], 500000000)",
        "SELECT range(500000000)",
        "SELECT list(range) FROM range(1000000000)",
        "SELECT range FROM range(10000000000) ORDER BY random()",
    ],
)
def test_28_4_a_query_that_needs_too_much_memory_is_stopped(project: Path, sql: str) -> None:
    done = ask(project, sql, "--max-mb", "100")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: the query needs more than 100 MB of memory; expected")


@pytest.mark.parametrize("form", ["json", "csv"])
def test_28_4_a_query_without_an_end_is_stopped_at_the_deadline(project: Path, form: str) -> None:
    done = ask(project, ENDLESS.format("count(*)"), "--timeout", "0.5", "--format", form)
    assert done.returncode == 2
    assert "the query was stopped after 0.5 seconds" in done.stderr
    done = ask(project, ENDLESS.format("*"), "--timeout", "0.5", "-o", "n.x", "--format", form)
    assert done.returncode == 2
    assert not (project / "n.x").exists()


@pytest.mark.slow
def test_28_4_a_function_that_cannot_be_interrupted_ends_with_the_process(
    project: Path, tmp_path: Path
) -> None:
    slow = "SELECT levenshtein(repeat('x', 300000), repeat('y', 300000))"
    kept = {"TMPDIR": str(tmp_path)}
    done = run("query", "1", slow, "--timeout", "0.2", cwd=project, env=kept)
    assert done.returncode == 2
    assert "the query was stopped after 0.2 seconds" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_28_4_an_interrupt_ends_a_query(project: Path) -> None:
    process = start("query", project / "run.parquet", ENDLESS.format("*"), "--format", "json")
    assert process.stdout is not None and process.stdout.readline() == '{"n":1}\n'
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=NEVER_S)[1].lstrip() == "error: interrupted\n"
    assert process.returncode == 130


def test_28_4_an_export_that_is_not_complete_is_refused(project: Path, tmp_path: Path) -> None:
    done = run("query", tmp_path, "SELECT 1")
    assert done.returncode == 2
    assert "has no _SUCCESS; expected a complete Parquet export" in done.stderr
    done = run("query", "9", "SELECT 1", cwd=project)
    assert (done.returncode, "has no run 9" in done.stderr) == (2, True)


def test_28_4_a_process_of_its_own_ends_without_a_word(project: Path) -> None:
    done = run_in_new_process("query", project / "run.parquet", "SELECT 1 AS one")
    assert (done.returncode, done.stderr, done.stdout.split()[0]) == (0, "", "one")
