"""A config from elsewhere collects no keys, calls or files: its user is asked (S-14)."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from callscore.config.config import load_eval
from callscore.core.consent import answer_yes, ask_user_with
from callscore.core.errors import ConfigError
from callscore.providers.catalog import make_provider
from callscore.providers.http import Http
from callscore.providers.secrets import Secrets
from callscore.runner.prepare import open_models
from command_server import NEVER_S
from commands import environment, run
from eval_files import cases_file, eval_file, remote_model, right_answer
from provider_calls import KEY, spec
from stub_servers import Answer, FaultyChat, always, serving

HOST = "gateway.example.com"
URL = f"https://{HOST}/v1"


def opened(home: Path, url: str | None = URL, kind: str = "openai", **changes: object) -> None:
    """Make ready to ask a model, for a user with this home."""
    model = spec(kind, url, **{"api_key_env": "OWN_KEY", **changes})
    known = {"OWN_KEY": KEY, "HOME": str(home), "AWS_ACCESS_KEY_ID": "AKIA", "AWS_REGION": "eu"}
    make_provider(model, Secrets({**known, "AWS_SECRET_ACCESS_KEY": KEY}), Http())


def remembered(home: Path) -> dict[str, list[str]]:
    path = home / ".config" / "callscore" / "keys.json"
    assert path.stat().st_mode & 0o777 == 0o600
    hosts: dict[str, list[str]] = json.loads(path.read_bytes())["hosts"]
    return hosts


def test_s14_a_key_goes_nowhere_new_unless_the_user_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"sends it to {HOST}; .* --trust-config") as refused:
        opened(tmp_path)
    assert KEY not in str(refused.value)
    with ask_user_with(lambda question: False), pytest.raises(ConfigError, match="not confirmed"):
        opened(tmp_path)
    assert not (tmp_path / ".config").exists()
    with ask_user_with(answer_yes):
        opened(tmp_path)
    assert remembered(tmp_path) == {"OWN_KEY": [HOST]}
    opened(tmp_path)  # it was asked once


def test_s14_a_config_that_swaps_the_host_is_refused_with_a_reason(tmp_path: Path) -> None:
    with ask_user_with(answer_yes):
        opened(tmp_path)
    with pytest.raises(ConfigError, match=f"OWN_KEY holds a key for {HOST}, and the config"):
        opened(tmp_path, "https://collector.example.org/v1")
    with pytest.raises(ConfigError, match="collector"):
        opened(tmp_path, f"https://collector.{HOST}/v1")
    opened(tmp_path, f"https://{HOST.upper()}.:443/other")


def test_s14_the_vendors_own_address_binds_a_key_without_a_question(tmp_path: Path) -> None:
    opened(tmp_path, None)
    assert remembered(tmp_path) == {"OWN_KEY": ["api.openai.com"]}
    with pytest.raises(ConfigError, match=r"OWN_KEY holds a key for api\.openai\.com"):
        opened(tmp_path)
    with pytest.raises(ConfigError, match=r"for api\.openai\.com"):
        opened(tmp_path, None, kind="anthropic")


def test_s14_this_machine_is_no_stranger(tmp_path: Path) -> None:
    opened(tmp_path, "http://localhost:8000/v1")
    opened(tmp_path, "http://127.0.0.1:8000/v1")
    assert not (tmp_path / ".config").exists()


def test_s14_a_key_in_a_file_is_bound_like_one_in_a_variable(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(KEY)
    file.chmod(0o600)
    with pytest.raises(ConfigError, match=f"the file {file} was never sent anywhere"):
        opened(tmp_path, api_key_env=None, api_key_file=str(file))


@pytest.mark.parametrize(
    "host", ["evil.execute-api.eu-west-1.amazonaws.com", "s3.amazonaws.com", "gateway.example.com"]
)
def test_s14_nothing_is_signed_with_the_aws_credentials_for_a_stranger(
    tmp_path: Path, host: str
) -> None:
    with pytest.raises(ConfigError, match=f"the AWS credentials .* to {host}"):
        opened(tmp_path, f"https://{host}", kind="bedrock", api_key_env=None)


def test_s14_a_list_that_others_may_write_is_not_believed(tmp_path: Path) -> None:
    with ask_user_with(answer_yes):
        opened(tmp_path)
    path = tmp_path / ".config" / "callscore" / "keys.json"
    path.chmod(0o666)
    with pytest.raises(ConfigError, match="others may write it"):
        opened(tmp_path)
    path.chmod(0o600)
    path.write_text("{")
    with pytest.raises(ConfigError, match="cannot be read; remove it"):
        opened(tmp_path)


def test_s14_where_nothing_can_be_remembered_the_option_is_enough(tmp_path: Path) -> None:
    (tmp_path / ".config").write_text("not a folder")
    with ask_user_with(answer_yes):
        opened(tmp_path)
    with pytest.raises(ConfigError, match="--trust-config"):
        opened(tmp_path)


@pytest.mark.parametrize("name", ["/etc/hostname", "../../../etc/hostname", "link"])
def test_s14_no_file_outside_of_home_and_project_is_sent_as_a_key(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    cases_file(tmp_path, 1)
    (tmp_path / "link").symlink_to("/etc/hostname")
    entry = remote_model("http://127.0.0.1:9/v1", api_key_env=None, api_key_file=name)
    with pytest.raises(ConfigError, match=r"eval\.yaml:\d+: models\[0\]\.api_key_file: lies out"):
        load_eval(eval_file(tmp_path, [entry]))


def hosts_file(folder: Path) -> list[str]:
    path = eval_file(folder, [remote_model("https://nobody.invalid/v1")], attempts={"most": 1})
    return ["run", str(path), "--no-preflight"]


def test_s14_in_ci_a_run_is_refused_before_anything_is_sent_and_an_option_lets_it_go(
    tmp_path: Path,
) -> None:
    cases_file(tmp_path, 1)
    words = [*hosts_file(tmp_path), "--limit", "1"]
    own = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "CALLSCORE_TRUST_CONFIG": ""}
    done = run(*words, env=own)
    assert done.returncode == 2
    assert (
        "STUB_KEY was never sent anywhere by Callscore, and the config sends it to nobody"
        in done.stderr
    )
    assert "--trust-config" in done.stderr
    for trusting in (own, {**own, "CALLSCORE_TRUST_CONFIG": "1"}):
        (tmp_path / "config" / "callscore" / "keys.json").unlink(missing_ok=True)
        options = [] if trusting["CALLSCORE_TRUST_CONFIG"] else ["--trust-config"]
        done = run(*words, *options, env=trusting)
        assert done.returncode == 3, "it went on to ask: nobody.invalid answers nothing"
        assert "nobody.invalid" in done.stderr
    assert run(*words, env=own).returncode == 3, "it is remembered"


def test_s14_at_a_terminal_the_user_is_asked_once(tmp_path: Path) -> None:
    cases_file(tmp_path, 1)
    own = {**environment(), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    for answer, code, said in ((b"n\n", 2, "not confirmed"), (b"y\n", 3, "nobody.invalid")):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "callscore", *hosts_file(tmp_path)],
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            env=own,
        )
        os.close(theirs)
        os.write(ours, answer)
        shown = b""
        while b"Send it to nobody.invalid" not in shown:
            shown += os.read(ours, 4096)
        try:
            while part := os.read(ours, 4096):
                shown += part
        except OSError:  # the other side is closed
            pass
        os.close(ours)
        assert (process.wait(NEVER_S), said in shown.decode()) == (code, True)


def test_offline_runs_and_stub_servers_need_no_trust(tmp_path: Path) -> None:
    cases_file(tmp_path, 1)
    own = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    with serving(FaultyChat(right_answer)) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url), {"name": "s", "provider": "simulated"}])
        assert run("run", path, env=own).returncode == 0
        assert run("run", path, "--dry-run", env=own).returncode == 0
    assert not (tmp_path / "config").exists()


def test_s14_calls_go_to_no_new_host_without_a_key_either(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"nothing was ever sent to {HOST}, .* --trust-config"):
        opened(tmp_path, api_key_env=None)
    with ask_user_with(answer_yes):
        opened(tmp_path, api_key_env=None)
    assert remembered(tmp_path) == {"calls": [HOST]}
    opened(tmp_path, api_key_env=None)  # it was asked once
    opened(tmp_path, "http://localhost:8000/v1", api_key_env=None)


def test_s14_a_host_that_gets_a_key_may_get_calls_without_one(tmp_path: Path) -> None:
    with ask_user_with(answer_yes):
        opened(tmp_path)
    opened(tmp_path, api_key_env=None)


@pytest.mark.parametrize("part", ["data", "prompts"])
def test_s14_files_outside_the_project_leave_the_machine_only_with_consent(
    tmp_path: Path, part: str
) -> None:
    project, other, home = (tmp_path / name for name in ("project", "other", "home"))
    for folder in (project, other, home):
        folder.mkdir()
    named: dict[str, object] = {"data": "cases.jsonl"}
    if part == "data":
        cases_file(other, 1)
        named = {"data": str(other / "cases.jsonl")}
    else:
        cases_file(project, 1)
        (other / "secret.md").write_text("the secret {{transcript_text}}")
        named["prompts"] = {"qa": "../other/secret.md"}
    model = remote_model("https://api.openai.com/v1", api_key_env="OPENAI_API_KEY")
    path = eval_file(project, [model], **named)
    known = {"OPENAI_API_KEY": KEY, "HOME": str(home)}
    config = load_eval(path)
    with pytest.raises(ConfigError, match=rf"{other}/.* is outside the project, .*--trust-config"):
        open_models(config, known)
    with ask_user_with(answer_yes):
        open_models(config, known)
    open_models(config, known)  # it was asked once
    simulated = eval_file(project, [{"name": "m", "provider": "simulated"}], **named)
    open_models(load_eval(simulated), {"HOME": str(tmp_path)})  # nothing leaves the machine


def test_s14_data_of_another_machine_go_to_a_model_only_with_consent(tmp_path: Path) -> None:
    table = pyarrow.BufferOutputStream()
    cases = [json.loads(line) for line in cases_file(tmp_path, 1).read_text().splitlines()]
    columns = {
        key: [value if isinstance(value := case[key], str) else json.dumps(value) for case in cases]
        for key in cases[0]
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), table)
    with serving(always(Answer(table.getvalue().to_pybytes()))) as web:
        model = remote_model("https://api.openai.com/v1", api_key_env="OPENAI_API_KEY")
        url = f"{web.origin}/private.parquet"
        config = load_eval(eval_file(tmp_path, [model], data=url))
    known = {"OPENAI_API_KEY": KEY, "HOME": str(tmp_path)}
    with pytest.raises(ConfigError, match=rf"{url} is outside the project, .*--trust-config"):
        open_models(config, known)
    with ask_user_with(answer_yes):
        open_models(config, known)
    open_models(config, known)  # it was asked once
