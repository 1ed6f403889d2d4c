"""`python -m callscore` is `callscore`."""

from callscore.cli.main import main

main()
