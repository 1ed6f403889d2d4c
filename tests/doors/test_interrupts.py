"""Ctrl-C at every moment: answered at once, nothing paid is lost, no traceback (R-03)."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from command_server import NEVER_S
from commands import line_of, run, start, wait_for
from eval_files import cases_file, eval_file, remote_model, right_answer
from stub_servers import FaultyChat, Gate, Hang, always, serving


def test_r03_an_interrupt_says_at_once_what_is_kept_and_waits_for_what_is_in_flight(
    tmp_path: Path,
) -> None:
    cases_file(tmp_path, 20)
    gate = Gate(FaultyChat(right_answer), answers=6)
    with serving(gate) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url, limits={"concurrency": 2})])
        process = start("run", path, "--no-preflight")
        wait_for(lambda: len(stub.requests), 8)
        process.send_signal(signal.SIGINT)
        assert "m: 6 of 20 replies stored, $0.00015" in line_of(process, "stored")
        assert "waiting for 2 requests in flight: 2 to m; " in line_of(process, "stopping")
        gate.open()
        _, err = process.communicate(timeout=NEVER_S)
        assert process.returncode == 130
        assert "8/20" in err, "what was under way has been waited for"
        assert f"Continue with:  callscore run {path} --resume\n" in err
        assert len(stub.requests) == 8
    assert "8/20" in run("runs", path).stdout


def test_r03_a_second_interrupt_drops_what_is_in_flight(tmp_path: Path) -> None:
    cases_file(tmp_path, 2)
    with serving(always(Hang())) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)])
        process = start("run", path, "--no-preflight")
        wait_for(lambda: len(stub.requests), 2)
        process.send_signal(signal.SIGINT)
        assert line_of(process, "waiting for 2 requests")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=NEVER_S)
    assert process.returncode == 130
    assert "more may be billed for attempts without a complete reply" in err
    assert "Traceback" not in err


SLOWLY = """
import sys, time
where = sys.argv.pop(1)
def wait(*_, **__):
    print(where, flush=True)
    while True:
        time.sleep(0.01)
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == where:
            wait()
        if name == "callscore.cli.validate" and where == "a class":
            type("Slow", (), {"attribute": type("Named", (), {"__set_name__": wait})()})
        if name == "callscore.cli.validate" and where == "a callback":
            type("Dying", (), {"__del__": wait})()
            while True:
                time.sleep(0.01)
        if name == "callscore.cli.validate" and where == "a text":
            exec("wait()", {"wait": wait})
sys.meta_path.insert(0, Slow())
if where == "a text":
    from callscore.cli.console import say
    say("", err=True)  # what it imports runs texts as well
if where == "the message":
    import click
    click.echo = wait
from callscore.__main__ import main
main()
"""


@pytest.mark.parametrize(
    "where", ["click", "callscore.cli.validate", "a class", "a text", "a callback", "the message"]
)
def test_r03_an_interrupt_during_imports_or_while_it_ends_leaves_no_traceback(
    tmp_path: Path, where: str
) -> None:
    (tmp_path / "slowly.py").write_text(SLOWLY)
    words = [where, "validate", str(tmp_path / "none.jsonl")]
    with subprocess.Popen(
        [sys.executable, "-m", "slowly", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == where
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=NEVER_S)
    assert (process.returncode, err.strip()) == (130, "error: interrupted")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--redact", "--names", "names.txt", "--limit", "2"],
            "callscore run eval.yaml --resume --limit 2 --redact --names names.txt\n",
        ),
        (["--no-store-text"], "The replies are deleted (--no-store-text)"),
    ],
    ids=["redacted", "deleted"],
)
def test_an_interrupted_run_says_how_to_continue_with_the_same_data(
    tmp_path: Path, options: list[str], said: str
) -> None:
    cases_file(tmp_path, 2)
    (tmp_path / "names.txt").write_text("Priya\n")
    with serving(always(Hang())) as stub:
        eval_file(tmp_path, [remote_model(stub.url)])
        process = start("run", "eval.yaml", "--no-preflight", *options, cwd=tmp_path)
        wait_for(lambda: len(stub.requests), 2)
        process.send_signal(signal.SIGINT)
        assert line_of(process, "waiting for 2 requests")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=NEVER_S)
    assert process.returncode == 130
    assert said in err
    assert ("--resume" in err) == ("--no-store-text" not in options)
