"""Opens scored runs for reports, writes report files, verifies dossiers."""
