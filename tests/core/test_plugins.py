"""What installed packages announce is found by name, and refused in plain words where it is bad."""

from __future__ import annotations

from pathlib import Path

import pytest

from callscore.core.errors import UsageError
from callscore.core.plugins import load_plugin, plugin_names

GROUP = "callscore.reports"


def install(folder: Path, package: str, entry: str) -> None:
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{entry}\n")


def test_an_installed_package_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path, "some-report", "paper = json:loads")
    assert "paper" in plugin_names(GROUP)
    assert load_plugin(GROUP, "paper")("1") == 1


def test_one_that_does_not_load_names_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path, "broken-report", "paper = no_such_module_here:FORMAT")
    with pytest.raises(UsageError, match="'paper' of broken-report cannot be loaded"):
        load_plugin(GROUP, "paper")


def test_two_packages_with_one_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path, "one-report", "paper = json:loads")
    install(tmp_path, "two-report", "paper = json:dumps")
    with pytest.raises(UsageError, match="announced by"):
        plugin_names(GROUP)
