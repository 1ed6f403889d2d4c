"""Reports of what was scored before: sources are opened here, files written, dossiers verified."""
