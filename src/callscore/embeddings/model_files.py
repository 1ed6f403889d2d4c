"""Model files: unchanged since their installation, and never a pickle."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from importlib.metadata import Distribution
from pathlib import Path

from callscore.core.errors import ConfigError

PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
SAFE = ".safetensors"


def verify_file(package: Distribution, name: str) -> Path:
    """A file of an installed package; raises ConfigError if its SHA-256 is not the recorded one.

    Without a recorded hash there is nothing to check (S-21).
    """
    found = next((file for file in package.files or () if file.as_posix() == name), None)
    path = Path(str(package.locate_file(name)))
    if found is not None and found.hash is not None and found.hash.mode == "sha256":
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
        if urlsafe_b64encode(digest).decode().rstrip("=") != found.hash.value:
            again = f"pip install --force-reinstall {package.name}"
            raise ConfigError(
                f"{path}: was altered since it was installed; expected the file of the package: "
                f"{again}"
            )
    return path


def refuse_pickles(weights: Path) -> None:
    """Raise ConfigError if the weights are only available as a pickle, which could run
    code (S-17).
    """
    for path in sorted(weights.rglob("*")):
        is_pickle = path.suffix in PICKLES and path.is_file()
        if is_pickle and not any(file.suffix == SAFE for file in path.parent.iterdir()):
            raise ConfigError(f"{path}: is a pickle; expected weights as *{SAFE}")
