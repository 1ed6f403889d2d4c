"""How values are shown: numbers, terminal, files."""
