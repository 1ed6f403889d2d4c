"""Tables that come with the program, as TOML files beside the modules that use them.

Parsing TOML would be the longest part of a start. So a table is compiled like the source of a
module, and Python keeps it in `__pycache__` by its own rules: parsed again where the file has
changed, and each time where nothing may be kept.
"""

from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

_SOURCE: Final = ".py"


def read_table(file: Path) -> dict[str, Any]:
    """The table in a TOML file of the package."""
    module = ModuleType(file.name)
    _TableLoader(file.name, f"{file}{_SOURCE}").exec_module(module)
    table: dict[str, Any] = module.TABLE
    return table


class _TableLoader(SourceFileLoader):
    """Loads `spec.toml` as if it were `spec.toml.py`, which `spec.py` does not stand in for."""

    def path_stats(self, path: str) -> Mapping[str, Any]:
        return super().path_stats(path.removesuffix(_SOURCE))

    def get_data(self, path: str) -> bytes:
        return super().get_data(path.removesuffix(_SOURCE))

    def source_to_code(  # type: ignore[override]  # a loader of files has its own signature
        self, data: Any, path: Any, fullname: str | None = None, *, _optimize: int = -1
    ) -> CodeType:
        import tomllib  # here, because a table that is kept needs no parser

        table = tomllib.loads(bytes(data).decode())
        return compile(f"TABLE = {table!r}", path, "exec", dont_inherit=True)
