"""Report formats: terminal, HTML, Markdown, CSV, XLSX, JSON, JUnit, and those of other tools."""
