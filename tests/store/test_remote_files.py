"""Parquet on other machines: an S3-speaking server, a web server, and the user's credentials."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow
import pyarrow.parquet
import pytest

from callscore.core.errors import UsageError
from callscore.store.remote_files import open_place, shown
from commands import CompletedCommand, run
from eval_files import eval_file
from object_store import NAME, SECRET, Bucket, serving_bucket, serving_google
from shared_cases import BUNDLED
from stub_servers import Answer, Behaviour, Bytes, Request, serving

SAMPLE = BUNDLED.parent
MODEL = {"name": "m", "provider": "simulated", "params": {"seed": 7}}


def table(cases: list[dict[str, Any]]) -> bytes:
    """Cases as one file of Parquet, objects as JSON text."""
    keys = dict.fromkeys(key for case in cases for key in case)
    columns = {
        key: [
            value if isinstance(value := case.get(key), str | None) else json.dumps(value)
            for case in cases
        ]
        for key in keys
    }
    file = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    return bytes(file.getvalue().to_pybytes())


def sample() -> list[dict[str, Any]]:
    return list(map(msgspec.json.decode, (SAMPLE / "cases.jsonl").read_bytes().splitlines()))


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    """The sample in two parts in a folder, next to files that are no Parquet."""
    every = sample()
    objects = {
        "data/cases/part-0.parquet": table(every[:30]),
        "data/cases/deep er/part-1.parquet": table(every[30:]),
        "data/cases/_SUCCESS": b"",
        "data/cases/notes.txt": b"not a case",
        "data/other.parquet": table(every[:1]),
    }
    with serving_bucket(objects) as served:
        yield served


def scored(folder: Path, name: str, data: object, *words: object, **given: Any) -> list[bytes]:
    files = [folder / f"{name}.results", folder / f"{name}.json"]
    outputs = ("--outputs", SAMPLE / "outputs.jsonl", "--results", files[0], "--json", files[1])
    done = run("score", data, *outputs, *words, **given)
    assert done.returncode == 0, done.stderr
    return [file.read_bytes() for file in files]


def refused(*words: object, code: int = 2, **given: Any) -> CompletedCommand:
    done = run(*words, **given)
    assert done.returncode == code, done.stderr
    assert SECRET not in done.stderr + done.stdout
    return done


@pytest.mark.parametrize("words", [(), ("--workers", 2)])
def test_28_4_a_folder_of_a_bucket_gives_the_bytes_of_a_local_file(
    bucket: Bucket, tmp_path: Path, words: tuple[object, ...]
) -> None:
    (tmp_path / "parts").mkdir()
    for number, name in enumerate(("deep er/part-1", "part-0")):  # in the order of their names
        content = bucket.objects[f"data/cases/{name}.parquet"]
        (tmp_path / "parts" / f"{number}.parquet").write_bytes(content)
    expected = scored(tmp_path, "local", tmp_path / "parts")
    url = f"s3://{NAME}/data/cases"
    assert scored(tmp_path, "remote", url, *words, env=bucket.environment) == expected
    assert bucket.stub is not None
    read = [request.path for request in bucket.stub.requests if "range" in request.headers]
    assert not any("other" in path or "notes" in path for path in read)


def test_28_4_an_error_in_a_bucket_names_url_and_row(bucket: Bucket) -> None:
    bad = sample()
    bad[1]["config"] = "{'no': JSON}"
    bucket.objects["bad.parquet"] = table(bad)
    url = f"s3://{NAME}/bad.parquet"
    done = refused("validate", url, env=bucket.environment)
    assert f"{url}:2: " in done.stdout + done.stderr
    bucket.objects["bad.parquet"] = b"PAR1 and nothing else"
    done = refused("validate", url, env=bucket.environment)
    assert f"{url}: " in done.stderr and "expected Parquet with one case per row" in done.stderr


def test_28_4_a_run_reads_and_writes_a_bucket_and_a_query_reads_it(
    bucket: Bucket, tmp_path: Path
) -> None:
    env = bucket.environment
    file = eval_file(tmp_path, [MODEL], data=f"s3://{NAME}/data/cases")
    target = f"s3://{NAME}/runs/1.parquet"
    done = run("run", file, "--parquet", target, "--results", tmp_path / "r.jsonl", env=env)
    assert done.returncode == 0, done.stderr
    assert f"report: {target}" in done.stderr
    written = [key for key in bucket.objects if key.startswith("runs/1.parquet/")]
    assert written[-1] == "runs/1.parquet/_SUCCESS"
    sql = "SELECT case_id, model, score FROM results ORDER BY ALL"
    found = run("query", target, sql, "--format", "json", env=env)
    assert found.returncode == 0, found.stderr
    rows = map(json.loads, (tmp_path / "r.jsonl").read_text("utf-8").splitlines())
    expected = sorted((row["case_id"], row["model"], row["score"]) for row in rows)
    assert [tuple(json.loads(line).values()) for line in found.stdout.splitlines()] == expected
    again = run("report", file, "-o", f"s3://{NAME}/runs/2.parquet", env=env, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    for key in written:
        assert bucket.objects[key.replace("runs/1", "runs/2")] == bucket.objects[key], key
    sent = len(bucket.objects)
    done = refused("run", file, "--rescore", "1", "--parquet", target, env=env, cwd=tmp_path)
    assert f"{target}: exists; expected the name of a new folder" in done.stderr
    assert len(bucket.objects) == sent


def test_28_4_a_query_of_a_bucket_keeps_its_locks(bucket: Bucket, tmp_path: Path) -> None:
    env = bucket.environment
    target = f"s3://{NAME}/run.parquet"
    file = eval_file(tmp_path, [MODEL], data=f"s3://{NAME}/data/other.parquet")
    assert run("run", file, "--parquet", target, env=env).returncode == 0
    for sql in (
        f"SELECT * FROM read_parquet('s3://{NAME}/data/other.parquet')",
        f"SELECT * FROM 's3://{NAME}/data/other.parquet'",
        f"COPY (SELECT 1) TO 's3://{NAME}/stolen.parquet'",
        "SELECT * FROM read_text('/proc/self/environ')",
    ):
        before = dict(bucket.objects)
        done = refused("query", target, sql, env=env)
        assert "the query is" in done.stderr and bucket.objects == before, sql
    del bucket.objects["run.parquet/_SUCCESS"]
    done = refused("query", target, "SELECT 1", env=env)
    assert f"{target}: has no _SUCCESS; expected a complete Parquet export" in done.stderr


def test_28_4_what_a_bucket_refuses_is_said_without_the_secret(
    bucket: Bucket, tmp_path: Path
) -> None:
    env = bucket.environment
    done = refused("validate", f"s3://{NAME}/data/none", env=env)
    assert f"s3://{NAME}/data/none: no such file or folder" in done.stderr
    done = refused("validate", f"s3://{NAME}/data/cases/notes.txt", env=env)
    assert "is no .parquet file, nor a folder with such files" in done.stderr
    wrong = {**env, "AWS_SECRET_ACCESS_KEY": "another secret"}
    done = refused("validate", f"s3://{NAME}/data/cases", env=wrong)
    assert f"s3://{NAME}/data/cases: cannot be read" in done.stderr
    assert "another secret" not in done.stderr
    bucket.full = True
    words = ("--outputs", SAMPLE / "outputs.jsonl", "--parquet", f"s3://{NAME}/new.parquet")
    done = refused("score", SAMPLE / "cases.jsonl", *words, code=4, env=env)
    assert f"s3://{NAME}/new.parquet/" in done.stderr and "cannot be written" in done.stderr
    done = refused(
        "score", SAMPLE / "cases.jsonl", *words[:2], "--html", f"s3://{NAME}/x.html", code=4
    )
    assert "cannot be written" in done.stderr


def test_28_4_a_bucket_of_google_is_read_written_and_queried(tmp_path: Path) -> None:
    every = sample()[:8]
    objects = {"data/part-0.parquet": table(every[:4]), "data/part-1.parquet": table(every[4:])}
    with serving_google(tmp_path, objects) as bucket:
        env = bucket.environment
        target = f"gs://{NAME}/run.parquet"
        file = eval_file(tmp_path, [MODEL], data=f"gs://{NAME}/data")
        done = run("run", file, "--parquet", target, env=env)
        assert done.returncode == 0, done.stderr
        assert bucket.objects["run.parquet/_SUCCESS"] == b""
        found = run("query", target, "SELECT count(*) AS n FROM cases", "--format", "json", env=env)
        assert found.stdout == '{"n":8}\n', found.stderr
        done = refused("validate", f"gs://{NAME}/none", env=env)
        assert f"gs://{NAME}/none: no such file or folder" in done.stderr


@pytest.mark.parametrize(
    "url",
    [
        "s3://AKID:hunter2@bucket/cases.parquet",
        "https://anna:hunter2@host/cases.parquet",
        "https://host/cases.parquet?X-Amz-Signature=hunter2",
        "az://container/cases.parquet?sig=hunter2",
    ],
)
def test_28_4_credentials_in_a_url_are_refused_and_not_repeated(url: str, tmp_path: Path) -> None:
    for words in (("validate", url), ("query", url, "SELECT 1")):
        done = refused(*words)
        assert "credentials" in done.stderr and "hunter2" not in done.stderr
    done = refused("run", eval_file(tmp_path, [MODEL], data=url), "--dry-run")
    assert "credentials" in done.stderr and "hunter2" not in done.stderr


def test_28_4_azure_needs_the_name_of_the_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT", raising=False)
    with pytest.raises(UsageError, match="AZURE_STORAGE_ACCOUNT"):
        open_place(Path("az://container/cases.parquet"))
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "anna")
    monkeypatch.setenv("AZURE_STORAGE_KEY", "a2V5")
    place = open_place(Path("az://container/a/cases.parquet"))
    assert (place.url, place.path, place.system.type_name) == (
        "az://container/a/cases.parquet",
        "container/a/cases.parquet",
        "abfs",
    )
    assert open_place(Path("gs://bucket/x")).system.type_name == "gcs"
    assert shown(Path("gs://bucket//x")) == "gs://bucket/x"
    for wrong in ("s3://bucket", "https://host/run.parquet"):
        with pytest.raises(UsageError, match="expected"):
            open_place(Path(wrong))


class Web:
    """A web server with some files; one demands a password, one breaks off, one redirects."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        self.elsewhere = ""

    def __call__(self, request: Request) -> Behaviour:
        name = request.path.lstrip("/")
        if name == "moved.parquet":
            return Answer(b"", 302, {"location": self.elsewhere})
        if name == "private.parquet" and "authorization" not in request.headers:
            return Answer(b"", 401)
        if name == "cut.parquet":
            return Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nPAR1")
        return Answer(self.files[name], 200) if name in self.files else Answer(b"", 404)


def test_28_4_a_file_of_a_web_server_gives_the_bytes_of_a_local_file(tmp_path: Path) -> None:
    content = table(sample())
    (tmp_path / "cases.parquet").write_bytes(content)
    with serving(Web({"a%20b/cases.parquet": content})) as web:
        url = f"{web.origin}/a%20b/cases.parquet"
        expected = scored(tmp_path, "local", tmp_path / "cases.parquet")
        assert scored(tmp_path, "remote", url, "--workers", 2) == expected
        file = eval_file(tmp_path, [MODEL], data=url)
        assert run("run", file, "--dry-run").returncode == 0
        assert len(web.requests) == 2  # once per command
    done = refused("validate", url)
    assert f"{url}: cannot be read" in done.stderr


@pytest.mark.parametrize("kind", ["object store", "web server"])
def test_28_4_a_report_sees_that_a_remote_file_has_changed(
    bucket: Bucket, tmp_path: Path, kind: str
) -> None:
    part, changed = "data/cases/part-0.parquet", sample()
    changed[0]["transcript"] = "Agent: Hello."
    web = Web({part: bucket.objects[part]})
    with serving(web) as served:
        remote = {
            "object store": f"s3://{NAME}/data/cases",
            "web server": f"{served.origin}/{part}",
        }
        file = eval_file(tmp_path, [MODEL], data=remote[kind])
        words, env = ("report", file, "-o", tmp_path / "r.json"), bucket.environment
        assert run("run", file, env=env).returncode == 0
        assert run(*words, env=env).returncode == 0
        web.files = {part: table(changed[:30])}
        bucket.objects |= web.files
        assert "was made with other data" in refused(*words, env=env).stderr


def test_28_4_a_web_server_gets_the_password_of_netrc_and_other_hosts_do_not(
    tmp_path: Path,
) -> None:
    content = table(sample()[:4])
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login anna password hunter2\n")
    netrc.chmod(0o600)
    env = {"NETRC": str(netrc)}
    site = Web({"private.parquet": content})
    with serving(site) as web, serving(Web({"x.parquet": content})) as other:
        done = refused("validate", f"{web.origin}/private.parquet")
        assert "HTTP Error 401" in done.stderr
        assert run("validate", f"{web.origin}/private.parquet", env=env).returncode == 0
        site.elsewhere = f"http://localhost:{other.port}/x.parquet"
        assert run("validate", f"{web.origin}/moved.parquet", env=env).returncode == 0
        assert "authorization" in web.requests[-1].headers
        assert "authorization" not in other.requests[-1].headers
    netrc.write_text("machine files.example login anna password hunter2\n")
    done = refused("validate", "http://files.example/x.parquet", env=env)
    assert "a password is not sent without https" in done.stderr and "hunter2" not in done.stderr


def test_28_4_a_web_file_that_ends_early_or_is_no_parquet_is_refused() -> None:
    with serving(Web({"page.parquet": b"<html>sign in</html>"})) as web:
        done = refused("validate", f"{web.origin}/cut.parquet")
        assert "ended after 4 of 1000 bytes; try again" in done.stderr
        done = refused("validate", f"{web.origin}/page.parquet")
        assert f"{web.origin}/page.parquet: " in done.stderr
        assert "expected Parquet with one case per row" in done.stderr
        for words in (("query", f"{web.origin}/run.parquet", "SELECT 1"),):
            assert "is not in an object store" in refused(*words).stderr
        done = refused("validate", f"{web.origin}/none.parquet")
        assert "HTTP Error 404" in done.stderr
