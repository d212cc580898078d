"""The report: one offline page that answers the study's question and shows its evidence."""

from tare.report.content import ReportAnswers
from tare.report.page import write_report

__all__ = ["ReportAnswers", "write_report"]
