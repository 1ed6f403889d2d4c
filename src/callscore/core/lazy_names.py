"""Public names that are imported on first use, so that importing the package stays fast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any


def load_name(namespace: dict[str, Any], modules: Mapping[str, Sequence[str]], name: str) -> object:
    """Import a public name and add it to the namespace of its module.

    `modules` lists names by the module below `callscore` that defines them. Python calls the
    `__getattr__` of a module only for names that the namespace does not have: once per name.
    """
    for module, names in modules.items():
        if name in names:
            namespace[name] = getattr(import_module(f"callscore.{module}"), name)
            return namespace[name]
    raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
