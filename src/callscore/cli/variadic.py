"""Options that take several values: `--outputs a.jsonl b.jsonl`."""

from __future__ import annotations

import click


class VariadicCommand(click.Command):
    """A command whose `multiple` options also take all the values that follow them.

    If that would leave no positional argument, each option takes one value, so that `--outputs
    a.jsonl cases.jsonl` works too.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat the option's name before each of its further values."""
        variadic = {
            name
            for parameter in self.params
            if isinstance(parameter, click.Option) and parameter.multiple
            for name in parameter.opts
        }
        spread = _repeat_options(args, variadic)
        if spread != args and _count_positionals(spread, self) == 0:
            spread = args
        return super().parse_args(ctx, spread)


def _repeat_options(args: list[str], variadic: set[str]) -> list[str]:
    spread: list[str] = []
    current = ""
    expects_value = False
    for arg in args:
        if arg.startswith("-") and arg != "-":
            current = arg if arg in variadic else ""
            expects_value = bool(current)
        elif current and not expects_value:
            spread.append(current)
        else:
            expects_value = False
        spread.append(arg)
    return spread


def _count_positionals(args: list[str], command: click.Command) -> int:
    flags = {
        name
        for parameter in command.params
        if isinstance(parameter, click.Option) and parameter.is_flag
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
    count = 0
    is_value = False
    for arg in args:
        if arg.startswith("-") and arg != "-":
            is_value = arg not in flags and "=" not in arg
        else:
            count += not is_value
            is_value = False
    return count
