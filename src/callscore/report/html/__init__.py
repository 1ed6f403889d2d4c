"""The HTML report: one self-contained file that opens without Callscore."""

from __future__ import annotations

from callscore.report.html.page import write
from callscore.report.source import ReportFormat

FORMAT = ReportFormat("html", ".html", "one self-contained page: decision, pictures, cases", write)
