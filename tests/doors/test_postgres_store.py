"""Commands with `store: postgresql://…`: the same results as with a file."""

from __future__ import annotations

import json
from pathlib import Path

import commands
from eval_files import cases_file, eval_file, remote_model, right_answer
from postgres_server import PostgresServer
from stub_servers import FaultyChat, serving

CASES = 70
REPLIES = 2 * CASES
SQL = """
SELECT case_id, model, text, score, count(value) FROM replies JOIN results USING (case_id, model)
JOIN metrics USING (case_id, model) GROUP BY ALL ORDER BY ALL
"""


def test_commands_read_from_a_database_what_they_read_from_a_file(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    cases_file(tmp_path, CASES)
    written: dict[str, list[object]] = {}
    url = postgres.new_store()
    with serving(FaultyChat(right_answer)) as stub:
        for place, store in (("file", "runs.db"), ("database", url)):
            config = eval_file(
                tmp_path, [remote_model(stub.url, name) for name in "ab"], store=store, budget_usd=5
            )
            files = [tmp_path / f"{place}.{name}" for name in ("jsonl", "json", "md")]
            ran = commands.run("run", config, "--results", files[0], "--json", files[1])
            assert ran.returncode == 0, ran.stderr
            commands.run("report", config, "--format", "md", "-o", files[2])
            asked = commands.run(
                "query", "1", SQL, "--store", store, "--format", "csv", cwd=tmp_path
            )
            assert asked.stdout.count("\n") == REPLIES + 1, asked.stderr
            written[place] = [asked.stdout, *(file.read_bytes() for file in files)]
    assert written["file"] == written["database"]
    listed = commands.run("runs", "--store", url, "--json")
    (record,) = map(json.loads, listed.stdout.splitlines())
    assert (record["answered"], record["status"]) == (REPLIES, "complete")
    assert record["cost_usd"] > 0
    paid = "SELECT count(*), count(DISTINCT key), bool_or(again) FROM callscore.payments"
    assert postgres.execute(paid) == [(REPLIES, REPLIES, False)]
    left = "SELECT (SELECT count(*) FROM callscore.inflight), count(*) FROM callscore.workers"
    assert postgres.execute(left) == [(0, 0)]
    compared = commands.run("compare", "1:a", "1:b", "--store", url, cwd=tmp_path)
    assert compared.returncode == 0, compared.stderr
    purged = commands.run("purge", "1", "--store", url, "--yes", cwd=tmp_path)
    assert f"deleted 1 run and {REPLIES} replies" in purged.stdout
    assert "write-ahead log, its replicas and backups still have the texts" in purged.stdout


def test_a_second_run_in_a_database_costs_nothing(postgres: PostgresServer, tmp_path: Path) -> None:
    cases_file(tmp_path, 20)
    with serving(FaultyChat(right_answer)) as stub:
        config = eval_file(tmp_path, [remote_model(stub.url)], store=postgres.new_store())
        assert commands.run("run", config).returncode == 0
        sent = len(stub.requests)
        assert commands.run("run", config).returncode == 0
        assert len(stub.requests) == sent


def test_a_password_in_the_url_is_refused_and_not_shown(tmp_path: Path) -> None:
    cases_file(tmp_path, 1)
    url = "postgresql://w:s3cret-word@localhost/evals"
    in_file = eval_file(tmp_path, [{"name": "m", "provider": "baseline"}], store=url)
    for command in (("run", in_file), ("runs", "--store", url)):
        refused = commands.run(*command)
        assert refused.returncode == 2
        assert "contains a password; expected none" in refused.stderr
        assert "s3cret-word" not in refused.stderr + refused.stdout
