"""The command line: one file per command. No arithmetic here."""
