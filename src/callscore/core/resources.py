"""Tables that ship with the package, as TOML files next to the modules that use them."""

from pathlib import Path
from typing import Any


def read_table(file: Path) -> dict[str, Any]:
    """The content of a TOML file of the package."""
    import tomllib  # here, because not every command needs a table

    return tomllib.loads(file.read_text(encoding="utf-8"))
