"""Files and the journal: input files as streams, atomic output files, paid replies in SQLite."""
