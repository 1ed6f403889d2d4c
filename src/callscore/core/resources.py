"""Tables that ship with the package, as TOML files next to the modules that use them."""

from pathlib import Path
from typing import Any


def read_table(file: Path) -> dict[str, Any]:
    """The table in a TOML file of the package."""
    return parse_table(file.read_text(encoding="utf-8"))


def parse_table(text: str) -> dict[str, Any]:
    """The table in TOML text."""
    import tomllib  # here, because not every command needs a table

    return tomllib.loads(text)
