"""A dossier is recomputed from its content: whatever was changed in it is found and named."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

import callscore
from callscore.config.score import ScoreConfig
from callscore.core.case import turns
from callscore.core.errors import DataError, UsageError
from callscore.export.dossier_file import load_signer
from callscore.export.sources import SourceRequest, open_source, scored_source
from callscore.export.verification import VerificationResult, verify
from callscore.report import dossier
from callscore.report.source import ReportOptions, ReportSource
from commands import run
from eval_files import eval_file
from random_calls.dataset import make_dataset

Files = dict[str, bytes]


def written(source: ReportSource, options: ReportOptions | None = None) -> bytes:
    return b"".join(dossier.write(source, options or ReportOptions()))


def unzipped(raw: bytes) -> Files:
    with ZipFile(io.BytesIO(raw)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED) as archive:
        for name, raw in files.items():
            archive.writestr(name, raw)
    return out.getvalue()


def resealed(files: Files) -> Files:
    """Manifest and statement made to fit, as a forger would."""
    digests: dict[str, dict[str, Any]] = {
        name: {"sha256": hashlib.sha256(files[name]).hexdigest(), "bytes": len(files[name])}
        for name in dossier.CONTENT
    }
    statement = json.loads(files[dossier.STATEMENT])
    for subject in statement["subject"]:
        subject["digest"] = {"sha256": digests[subject["name"]]["sha256"]}
    return {
        **files,
        dossier.MANIFEST: dossier.encode_document(dossier.build_manifest(digests)),
        dossier.STATEMENT: dossier.encode_document(statement),
    }


@pytest.fixture(scope="module")
def stored(project: Path) -> Iterator[ReportSource]:
    """A small stored run."""
    with open_source(SourceRequest("1", project / ".callscore" / "runs.db")) as source:
        yield source


@pytest.fixture(scope="module")
def files(stored: ReportSource) -> Files:
    """Its dossier, file by file."""
    raw = written(stored)
    assert raw == written(stored)
    return unzipped(raw)


def verified(files: Mapping[str, bytes], folder: Path, **options: Any) -> VerificationResult:
    path = folder / "dossier.zip"
    path.write_bytes(zipped(files))
    return verify(path, **options)


def told(found: VerificationResult) -> str:
    return "\n".join(map(str, found.differences))


def test_an_untouched_dossier_holds(files: Files, tmp_path: Path) -> None:
    found = verified(files, tmp_path)
    assert told(found) == ""
    assert "8 results of 4 cases, the scorecard, and 4 prompts" in found.checked
    assert "the cost of 8 answers from tokens and prices" in found.checked


def test_the_sample_with_recorded_verdicts_holds(sample: ReportSource, tmp_path: Path) -> None:
    found = verified(unzipped(written(sample)), tmp_path)
    assert told(found) == ""


def in_first(line_with: bytes, old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    """Changes the first line that has some text, and nothing else."""

    def changed(raw: bytes) -> bytes:
        lines = raw.splitlines(keepends=True)
        at = next(i for i, line in enumerate(lines) if line_with in line and old in line)
        lines[at] = lines[at].replace(old, new, 1)
        return b"".join(lines)

    return changed


def everywhere(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda raw: raw.replace(old, new, 1)


def another_digit(raw: bytes) -> bytes:
    """The first score of the card that has decimals, with another last digit."""
    card = json.loads(raw)
    qa = card["models"][0]["tasks"]["qa"]["metrics"]["qa.score_gap_accuracy"]
    digits = repr(qa["value"]).encode()
    last = b"1" if digits[-1:] != b"1" else b"2"
    return raw.replace(b'"value": ' + digits, b'"value": ' + digits[:-1] + last, 1)


CHANGES: Mapping[str, tuple[str, Callable[[bytes], bytes], str]] = {
    "a digit of the scorecard": ("card.json", another_digit, "card.json: models.careful.tasks.qa"),
    "a result": (
        "results.jsonl",
        in_first(b'"model":"rules"', b'"score":0.', b'"score":0.1'),
        "results.jsonl: case 'refund-en/qa', model 'rules', run 1: score: 0.1",
    ),
    "a verdict": (
        "verdicts.jsonl",
        in_first(b"as_described", b'"verdict":"as_described"', b'"verdict":"differs"'),
        "verdicts.jsonl: case 'refund-en/qa', model 'rules', run 1: the verdicts are not those",
    ),
    "the quote of a verdict": (
        "verdicts.jsonl",
        in_first(b'"quote"', b'"quote":"', b'"quote":"Really? '),
        "verdicts.jsonl: case 'refund-en/qa'",
    ),
    "a price": (
        "models.json",
        everywhere(b'"output": 15.0', b'"output": 15.5'),
        "models.json: price of 'careful'",
    ),
    "a cost": (
        "outputs.jsonl",
        in_first(b'"careful"', b'"cost_usd":0.0', b'"cost_usd":0.1'),
        "outputs.jsonl: cost of 'careful': case 'refund-en/qa', run 1: 0.1",
    ),
    "a reply": (
        "outputs.jsonl",
        in_first(b'"careful"', b'\\"score\\":5', b'\\"score\\":4'),
        "outputs.jsonl: case 'refund-en/qa', model 'careful', run 1: the reply is not the one",
    ),
    "a prompt": (
        "prompts.jsonl",
        in_first(b"refund-en/qa", b'"sha256":"', b'"sha256":"0'),
        "prompts.jsonl: case 'refund-en/qa': is not the prompt",
    ),
    "a prompt that is missing": (
        "prompts.jsonl",
        lambda raw: b"".join(raw.splitlines(keepends=True)[:-1]),
        "prompts.jsonl: has 3 lines for 4 cases",
    ),
    "the instructions": (
        "instructions.json",
        everywhere(b"JSON", b"YAML"),
        "instructions.json: the instructions of task",
    ),
    "a word of a call": (
        "cases.jsonl",
        in_first(b"refund-en/qa", b"Good morning", b"Good evening"),
        "card.json: signature.data",
    ),
    "a setting": (
        "settings.json",
        everywhere(b'"call_gate_tolerance": 0.0', b'"call_gate_tolerance": 0.1'),
        "card.json: signature.settings",
    ),
    "a weight": ("settings.json", everywhere(b'"weights": {}', b'"weights": {"qa": 1}'), "weights"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_found_and_named_though_its_hashes_were_made_to_fit(
    files: Files, what: str, tmp_path: Path
) -> None:
    name, change, expected = CHANGES[what]
    forged = {**files, name: change(files[name])}
    assert forged[name] != files[name], "the change must change something"
    found = verified(resealed(forged), tmp_path)
    assert expected in told(found)
    assert "SHA-256" not in told(found)


def test_hashes_find_what_was_not_resealed(files: Files, tmp_path: Path) -> None:
    forged = {**files, "provenance.json": files["provenance.json"].replace(b"tiny", b"tidy")}
    assert "provenance.json: its SHA-256 is not the one in manifest.json" in told(
        verified(forged, tmp_path)
    )


def test_a_case_that_was_taken_out_is_missed(files: Files, tmp_path: Path) -> None:
    forged = dict(files)
    for name in ("cases.jsonl", "outputs.jsonl", "verdicts.jsonl"):
        lines = files[name].splitlines(keepends=True)
        key = b'"id":"refund-en/qa"' if name == "cases.jsonl" else b'"refund-en/qa"'
        forged[name] = b"".join(line for line in lines if key not in line)
    found = told(verified(resealed(forged), tmp_path))
    assert "results.jsonl has 'refund-en/qa' in its place" in found


class TestSigning:
    @pytest.fixture(params=["ed25519", "ec", "rsa"])
    def keys(self, request: Any, tmp_path_factory: Any) -> tuple[Path, Path]:
        from cryptography.hazmat.primitives import serialization as form
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

        made: dict[str, Callable[[], Any]] = {
            "ed25519": ed25519.Ed25519PrivateKey.generate,
            "ec": lambda: ec.generate_private_key(ec.SECP256R1()),
            "rsa": lambda: rsa.generate_private_key(65537, 2048),
        }
        key = made[request.param]()
        folder = tmp_path_factory.mktemp("keys")
        private, public = folder / "key.pem", folder / "key.pub"
        private.write_bytes(
            key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
        )
        kind = form.PublicFormat.SubjectPublicKeyInfo
        public.write_bytes(key.public_key().public_bytes(form.Encoding.PEM, kind))
        return private, public

    def test_a_signed_dossier_is_checked_with_the_public_key(
        self, stored: ReportSource, keys: tuple[Path, Path], tmp_path: Path
    ) -> None:
        private, public = keys
        signed = unzipped(written(stored, ReportOptions(sign=load_signer(private))))
        found = verified(signed, tmp_path, key=public)
        assert told(found) == ""
        assert "the signature, which covers every file" in found.checked
        assert (found.is_authenticated, found.not_checked) == (True, [])
        without_key = verified(signed, tmp_path)
        assert not without_key.is_authenticated
        assert any("signature by sha256:" in left for left in without_key.not_checked)
        forged = {**signed, "provenance.json": b"{}\n"}
        forged_found = verified(resealed(forged), tmp_path, key=public)
        assert "the signed statement is not the one" in told(forged_found)
        assert not forged_found.is_authenticated

    def test_another_name_for_the_model_is_consistent_and_not_authenticated(
        self, files: Files, tmp_path: Path
    ) -> None:
        forged = {n: raw.replace(b"careful", b"gpt-best") for n, raw in files.items()}
        found = verified(resealed(forged), tmp_path)
        assert told(found) == ""
        assert not found.is_authenticated
        assert any("which models answered" in left for left in found.not_checked)

    def test_no_signature_and_no_key(self, files: Files, tmp_path: Path) -> None:
        key = tmp_path / "none.pem"
        key.write_text("nothing")
        assert "the dossier is not signed" in told(verified(files, tmp_path, key=key))
        with pytest.raises(UsageError, match="expected a private key"):
            load_signer(key)


def with_other_number(raw: bytes, path: Sequence[Any]) -> bytes:
    """A file in which one number, of its first line if it has lines, is a little smaller."""
    first, rest = (raw, b"") if raw.startswith(b"{\n") else raw.split(b"\n", 1)
    document = json.loads(first)
    place = document
    for key in path[:-1]:
        place = place[key]
    assert isinstance(place[path[-1]], float), "a number that the sample has"
    place[path[-1]] *= 0.99
    return json.dumps(document, ensure_ascii=False).encode() + b"\n" + rest


class TestWithoutText:
    def test_nothing_that_was_said_is_in_it(self, sample: ReportSource, tmp_path: Path) -> None:
        files = unzipped(written(sample, ReportOptions(without_text=True)))
        everything = b"\n".join(files.values())
        for view in sample.cases:
            texts = [turns(view.case.transcript)[0].text]
            texts += [verdict.quote for a in view.answers for verdict in a.verdicts]
            for text in texts:
                shown = json.dumps(text, ensure_ascii=False)[1:-1].encode()
                assert len(shown) < 20 or shown not in everything
        found = verified(files, tmp_path)
        assert told(found) == ""
        assert any("without text" in left for left in found.not_checked)
        assert any("from the recorded measures" in checked for checked in found.checked)

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            (("card.json", "models", 0, "tasks", "qa", "score"), "careful.qa.score"),
            (("card.json", "models", 0, "tasks", "qa", "ungated_score"), "careful.qa.ungated"),
            (("results.jsonl", "metrics", "qa.structure"), "ungated_score"),
            (("results.jsonl", "score"), "score: 0."),
            (("results.jsonl", "ungated_score"), "ungated_score: 0."),
        ],
        ids=lambda value: "/".join(map(str, value)) if isinstance(value, tuple) else "",
    )
    def test_a_score_that_does_not_follow_from_the_measures_is_found(
        self, stored: ReportSource, change: tuple[Any, ...], named: str, tmp_path: Path
    ) -> None:
        files = unzipped(written(stored, ReportOptions(without_text=True)))
        name, *path = change
        forged = {**files, name: with_other_number(files[name], path)}
        assert named in told(verified(resealed(forged), tmp_path))

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            (("models", 0, "final", "b"), "sample-large.final.b"),
            (("models", 1, "tasks", "text", "metrics", "text.structure", "value"), "structure"),
            (("ranking", 0, "efficiency"), "ranking.efficiency"),
        ],
        ids=["final", "row", "efficiency"],
    )
    def test_finals_rows_and_ranks_are_recomputed(
        self, sample: ReportSource, change: Sequence[Any], named: str, tmp_path: Path
    ) -> None:
        files = unzipped(written(sample, ReportOptions(without_text=True)))
        forged = {**files, "card.json": with_other_number(files["card.json"], change)}
        assert named in told(verified(resealed(forged), tmp_path))

    @pytest.mark.parametrize(
        ("place", "value", "named"),
        [
            (("models", 3, "final", "status"), "valid", "sample-small.final.status"),
            (("models", 3, "blockers"), [], "sample-small.blockers: has 0 entries"),
            (("models", 0, "final", "official"), False, "sample-large.final.official"),
            (("models", 0, "cost", "per_1000_calls"), 1.0, "sample-large.cost.per_1000_calls"),
            (("models", 0, "cost", "total"), 1.0, "sample-large.cost.total"),
            (("ranking", 0, "cost_per_1000_calls"), 1.0, "ranking.cost_per_1000_calls"),
            (("zeroed_ranking", -1, "obstacles"), [], "zeroed_ranking.obstacles"),
            (("estimate",), True, "estimate: True is stored"),
            (
                ("models", 3, "tasks", "qa", "metrics", "qa.false_pass_rate", "rating"),
                "Good",
                "qa.false_pass_rate.rating",
            ),
        ],
        ids=lambda value: "/".join(map(str, value)) if isinstance(value, tuple) else "",
    )
    def test_what_follows_from_scores_is_recomputed(
        self, sample: ReportSource, place: Sequence[Any], value: Any, named: str, tmp_path: Path
    ) -> None:
        files = unzipped(written(sample, ReportOptions(without_text=True)))
        card = json.loads(files["card.json"])
        inner = card
        for key in place[:-1]:
            inner = inner[key]
        assert inner[place[-1]] != value, "the sample says something else"
        inner[place[-1]] = value
        forged = {**files, "card.json": json.dumps(card).encode()}
        assert named in told(verified(resealed(forged), tmp_path))

    @pytest.mark.parametrize("seed", range(3))
    def test_an_honest_dossier_of_random_answers_is_not_accused(
        self, seed: int, tmp_path: Path
    ) -> None:
        """Repeats, outages, malformed and unjudged answers, estimates and other gates."""
        data = make_dataset(Random(seed), 4)
        paths = {name: tmp_path / f"{name}.jsonl" for name in ("cases", "outputs", "verdicts")}
        for name, path in paths.items():
            lines = map(json.dumps, getattr(data, name))
            path.write_text("\n".join(lines), encoding="utf-8")
        config = ScoreConfig(
            cases=[paths["cases"]],
            outputs=[paths["outputs"]],
            verdicts=[paths["verdicts"]],
            intervals=False,
            judge="offline" if seed else "none",
            settings={"gates": "formula_only"} if seed == 2 else {},
        )
        with scored_source(config) as source:
            files = unzipped(written(source, ReportOptions(without_text=True)))
        assert told(verified(files, tmp_path)) == ""

    def test_its_scorecard_is_still_bound_by_hashes(
        self, sample: ReportSource, tmp_path: Path
    ) -> None:
        files = unzipped(written(sample, ReportOptions(without_text=True)))
        forged = {**files, "card.json": another_digit(files["card.json"])}
        assert "card.json: its SHA-256 is not the one" in told(verified(forged, tmp_path))


@pytest.mark.parametrize(
    "name", ["../card.json", "/etc/passwd", "C:\\x", "card.json ", "CON", "x/../card.json"]
)
def test_s05_a_name_that_no_dossier_has_is_refused(files: Files, name: str, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(DataError, match="not a file of a dossier|twice"):
        verified({name: b"x", **files}, tmp_path)
    assert sorted(tmp_path.rglob("*")) == [*before, tmp_path / "dossier.zip"]


def test_a_name_that_occurs_twice_is_refused(files: Files, tmp_path: Path) -> None:
    out = io.BytesIO()
    with pytest.warns(UserWarning, match="Duplicate name"), ZipFile(out, "w") as archive:
        for name, raw in [*files.items(), ("card.json", b"{}")]:
            archive.writestr(name, raw)
    path = tmp_path / "twice.zip"
    path.write_bytes(out.getvalue())
    with pytest.raises(DataError, match=r"contains card.json twice"):
        verify(path)


def test_s09_a_bomb_is_refused(files: Files, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="zip bomb"):
        verified({**files, "cases.jsonl": b" " * 50_000_000}, tmp_path)


def test_one_that_is_larger_than_allowed_is_refused(files: Files, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="size limit"):
        verified(files, tmp_path, max_bytes=10_000)


@pytest.mark.parametrize("cut", [0, 10, 2_000, -30])
def test_what_is_no_zip_is_refused(files: Files, cut: int, tmp_path: Path) -> None:
    path = tmp_path / "cut.zip"
    path.write_bytes(zipped(files)[:cut])
    with pytest.raises(DataError, match="expected a dossier"):
        verify(path)


def test_one_with_a_file_missing_is_refused(files: Files, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no prompts.jsonl"):
        verified({name: raw for name, raw in files.items() if name != "prompts.jsonl"}, tmp_path)


@pytest.mark.parametrize("name", ["settings.json", "models.json", "manifest.json", "card.json"])
def test_a_file_that_is_not_ours_is_a_clear_error(files: Files, name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=name):
        verified({**files, name: b"[1]"}, tmp_path)


def test_lines_that_are_not_ours_are_differences(files: Files, tmp_path: Path) -> None:
    for name in ("cases.jsonl", "verdicts.jsonl", "results.jsonl", "prompts.jsonl"):
        forged = {**files, name: b'"x"\n' + files[name]}
        assert name.split(".")[0] in told(verified(resealed(forged), tmp_path))


def test_the_command_ends_with_1_where_something_differs(project: Path, tmp_path: Path) -> None:
    target, store = tmp_path / "run.zip", project / ".callscore" / "runs.db"
    done = run("report", "1", "--store", store, "--format", "dossier", "-o", target)
    assert done.returncode == 0, done.stderr
    done = run("verify", target)
    assert done.returncode == 0, done.stderr
    assert "Consistent, not authenticated" in done.stdout
    assert "not checked: which models answered" in done.stdout
    files = unzipped(target.read_bytes())
    target.write_bytes(zipped({**files, "card.json": another_digit(files["card.json"])}))
    done = run("verify", target)
    assert done.returncode == 1
    assert "DIFFERS   card.json: models.careful.tasks.qa" in done.stdout
    target.write_bytes(b"nothing")
    assert run("verify", target).returncode == 2


FORGED_KEYS: Sequence[tuple[str, Sequence[Any]]] = [
    ("card.json", ("models", 0, "tasks", "nope")),
    ("card.json", ("models", 0, "tasks", "text", "subscores", "nope")),
    ("card.json", ("models", 0, "tasks", "text", "metrics", "nope")),
    ("results.jsonl", ("task",)),
    ("results.jsonl", ("metrics", "nope")),
]


@pytest.mark.parametrize("without_text", [False, True])
@pytest.mark.parametrize(("name", "path"), FORGED_KEYS, ids=lambda value: str(value))
def test_a_forged_task_row_or_part_is_a_difference(
    stored: ReportSource, name: str, path: Sequence[Any], without_text: bool, tmp_path: Path
) -> None:
    files = unzipped(written(stored, ReportOptions(without_text=without_text)))
    first, rest = files[name], b""
    if name == "results.jsonl":
        first, _, rest = files[name].partition(b"\n")
    document = json.loads(first)
    place = document
    for key in path[:-1]:
        place = place[key]
    is_added = isinstance(place, dict) and path[-1] == "nope"
    place[path[-1]] = next(iter(place.values())) if is_added else "nope"
    forged = {**files, name: json.dumps(document).encode() + b"\n" + rest}
    assert "nope" in told(verified(resealed(forged), tmp_path))


def test_c68_a_run_names_what_compared_instead_of_muse_and_its_dossier_is_consistent(
    tmp_path: Path,
) -> None:
    sample = Path(callscore.__file__).parent / "demo" / "calls" / "cases.jsonl"
    wanted = ("refund-en/translation", "card-en/translation", "parcel-es/translation")
    lines = [line for line in sample.read_text(encoding="utf-8").splitlines() if line]
    chosen = [line for line in lines if json.loads(line)["id"] in wanted]
    (tmp_path / "cases.jsonl").write_text("\n".join(chosen), encoding="utf-8")
    model = {"name": "m", "provider": "simulated", "params": {"fabricated_facts": 0.5}}
    path = eval_file(tmp_path, [model], judge="offline", embedder="auto")
    card, target = tmp_path / "card.json", tmp_path / "run.zip"
    assert run("run", path, "--json", card).returncode == 0
    metrics = json.loads(card.read_bytes())["models"][0]["tasks"]["translation"]["metrics"]
    meaning = metrics["translation.meaning"]
    assert (meaning["measured_by"], meaning["rating"]) == ("chrF in 1 of 3 calls", None)
    store = tmp_path / ".callscore" / "runs.db"
    assert run("report", 1, "--store", store, "--format", "dossier", "-o", target).returncode == 0
    done = run("verify", target)
    assert done.returncode == 0, done.stdout


def test_c138_a_dossier_with_a_simulated_model_next_to_a_real_one_is_consistent(
    tmp_path: Path,
) -> None:
    sample = Path(callscore.__file__).parent / "demo" / "calls" / "cases.jsonl"
    cases = [json.loads(line) for line in sample.read_text(encoding="utf-8").splitlines()]
    outputs = [
        {"case_id": case["id"], "model": "real", "output": case["expected_outcome"]}
        for case in cases
        if case["task"] == "entity"
    ]
    recorded = "\n".join(map(json.dumps, outputs))
    (tmp_path / "outputs.jsonl").write_text(recorded, encoding="utf-8")
    models: list[dict[str, Any]] = [
        {"name": "real", "provider": "replay", "outputs": ["outputs.jsonl"]},
        {"name": "simulated", "provider": "simulated"},
    ]
    path = eval_file(tmp_path, models, data="sample", tasks=["entity"])
    assert run("run", path).returncode == 0
    target, store = tmp_path / "run.zip", tmp_path / ".callscore" / "runs.db"
    assert run("report", 1, "--store", store, "--format", "dossier", "-o", target).returncode == 0
    done = run("verify", target)
    assert done.returncode == 0, done.stdout
