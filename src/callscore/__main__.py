"""Runs `python -m callscore`; handles an interrupt before the commands are imported."""

from __future__ import annotations

import signal

from callscore.cli.fast_exit import exit_at_once


def main() -> None:
    """Run the command line; an interrupt during its imports ends it without a traceback."""
    signal.signal(signal.SIGINT, exit_at_once)
    from callscore.cli.main import main as command_line

    command_line()


if __name__ == "__main__":
    main()
