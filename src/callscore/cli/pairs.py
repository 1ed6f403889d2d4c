"""Options of the form NAME=VALUE: weights, costs, settings."""

from __future__ import annotations

from collections.abc import Mapping

import click

weights_option = click.option(
    "--weights", multiple=True, help="Weights of the tasks in the Final Score: qa=0.5,entity=0.5."
)
decide_option = click.option(
    "--decide",
    multiple=True,
    help="What the recommended model is chosen by: by=quality,margin=0.02,allow_fail=true.",
)


def parse_pairs(option: str, entries: tuple[str, ...]) -> Mapping[str, str]:
    """`name=value` entries, several of them separated by commas, as a mapping."""
    found: dict[str, str] = {}
    for entry in entries:
        for pair in entry.split(","):
            name, equals, value = pair.rpartition("=")
            if not equals or not name.strip():
                raise click.BadParameter(f"{pair!r}; expected NAME=VALUE", param_hint=option)
            if name.strip() in found:
                raise click.BadParameter(f"{name.strip()!r} is given twice", param_hint=option)
            found[name.strip()] = value.strip()
    return found


def parse_numbers(option: str, entries: tuple[str, ...]) -> Mapping[str, float]:
    """`name=number` entries as a mapping."""
    try:
        return {name: float(value) for name, value in parse_pairs(option, entries).items()}
    except ValueError as error:
        raise click.BadParameter(f"{error}; expected NAME=NUMBER", param_hint=option) from None
