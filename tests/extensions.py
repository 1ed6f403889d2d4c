"""Install the packages that the pages in docs/extending show."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from commands import CompletedCommand, run

PAGES = Path(__file__).parent.parent / "docs" / "extending"
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PACKAGE = "package/"
MAX_FILES, MAX_LINES = 3, 60


class Page:
    """A how-to page: the files of its package, its other files, and its commands."""

    def __init__(self, name: str) -> None:
        self.package: dict[str, str] = {}
        self.files: dict[str, str] = {}
        self.commands: list[str] = []
        self.additions: dict[str, str] = {}
        """What a later section of the page adds to a file of the package."""
        text = (PAGES / name).read_text(encoding="utf-8")
        for kind, options, body in FENCE.findall(text):
            _, _, path = options.partition("file=")
            if path.startswith(PACKAGE):
                self.package[path.removeprefix(PACKAGE).strip()] = body
            elif options.strip().startswith((f"add={PACKAGE}", f"rubric={PACKAGE}")):
                added = options.partition(PACKAGE)[2].strip()
                self.additions[added] = self.additions.get(added, "") + body
            elif path:
                self.files[path.strip()] = body
            elif kind == "console":
                self.commands += re.findall(r"^\$ callscore (.*)$", body, re.MULTILINE)

    def write_files(self, folder: Path) -> None:
        """Write the files that its commands read."""
        _write(self.files, folder)

    def check_size(self, most: int = MAX_LINES) -> None:
        lines = sum(body.count("\n") for body in self.package.values())
        assert len(self.package) <= MAX_FILES
        assert lines <= most

    def run(self, folder: Path) -> Sequence[CompletedCommand]:
        """Install the package below `folder`, write the files there and run the commands."""
        env = install(self.package, folder)
        self.write_files(folder)
        return [run(*command.split(), env=env, cwd=folder) for command in self.commands]


def install(package: Mapping[str, str], folder: Path) -> Mapping[str, str]:
    """Build the wheel of a package and unpack it; returns the environment that finds it."""
    source, site = folder / "source", folder / "site"
    _write(package, source)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    (wheel,) = (source / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return {"PYTHONPATH": str(site)}


def install_modules(package: Mapping[str, str], folder: Path) -> Mapping[str, str]:
    """The same without building a wheel, which is slow: write modules and entry points."""
    site = folder / "site"
    _write({name: text for name, text in package.items() if name != "pyproject.toml"}, site)
    groups = tomllib.loads(package["pyproject.toml"])["project"]["entry-points"]
    lines = [
        line
        for group, entries in groups.items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
    ]
    metadata = "Metadata-Version: 2.1\nName: extension\nVersion: 1.0\n"
    names = {"METADATA": metadata, "entry_points.txt": "\n".join(lines)}
    _write(names, site / "extension-1.0.dist-info")
    return {"PYTHONPATH": str(site)}


def _write(files: Mapping[str, str], folder: Path) -> None:
    for name, body in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body, encoding="utf-8")
