"""Extensions from outside the repository: the pages of docs/extending, followed to the letter."""

from __future__ import annotations

from pathlib import Path

from commands import run_afresh
from eval_files import read_json
from extensions import Page, install


def test_a_provider_from_another_package_answers_is_priced_and_scored(tmp_path: Path) -> None:
    page = Page("provider.md")
    page.check_size()
    (done,) = page.run(tmp_path)
    assert done.returncode == 0, done.stderr
    card = read_json(tmp_path / "card.json")
    (model,) = card["models"]
    assert (model["model"], model["tasks"]["qa"]["n"]) == ("our-model", 1)
    assert model["tasks"]["qa"]["status"] == "valid"
    assert model["cost"]["status"] == "known"
    again = run_afresh("run", "eval.yaml", "--dry-run", env=_site(tmp_path), cwd=tmp_path)
    assert again.returncode == 0, again.stderr


def test_a_judge_from_another_package_decides_and_is_named_in_the_signature(
    tmp_path: Path,
) -> None:
    page = Page("judge.md")
    page.check_size()
    (done,) = page.run(tmp_path)
    assert done.returncode == 0, done.stderr
    card = read_json(tmp_path / "card.json")
    assert card["judging"]["judge"] == "keywords"
    assert "keywords:1" in card["signature"]
    assert card["models"][0]["tasks"]["qa"]["metrics"]["qa.evidence_backed_reasoning"]["n"] == 1


def test_without_the_package_its_names_are_unknown(tmp_path: Path) -> None:
    page = Page("provider.md")
    for name, body in page.files.items():
        (tmp_path / name).write_text(body, encoding="utf-8")
    done = run_afresh("run", "eval.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert "eval.yaml:3: models[0].provider: unknown provider; expected one of" in done.stderr
    done = run_afresh("score", "cases.jsonl", "--judge", "keywords", cwd=tmp_path)
    assert done.returncode == 2
    assert "judge 'keywords'; expected none, offline, or a YAML file" in done.stderr


def test_a_package_that_cannot_be_imported_is_an_error_of_the_config(tmp_path: Path) -> None:
    page = Page("provider.md")
    broken = {**page.package, "callscore_inhouse.py": "import no_such_module\n"}
    env = install(broken, tmp_path)
    for name, body in page.files.items():
        (tmp_path / name).write_text(body, encoding="utf-8")
    done = run_afresh("run", "eval.yaml", env=env, cwd=tmp_path)
    assert done.returncode == 2
    wanted = "'inhouse': callscore_inhouse:InhouseProvider cannot be imported: No module named"
    assert wanted in done.stderr


def _site(folder: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(folder / "site")}
