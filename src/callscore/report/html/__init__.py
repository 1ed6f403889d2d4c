"""The HTML report: one self-contained file for people who do not have the tool."""

from __future__ import annotations

from callscore.report.html.page import write
from callscore.report.source import ReportFormat

FORMAT = ReportFormat(
    "html", ".html", "one page that opens anywhere: verdict, pictures, every case", write
)
