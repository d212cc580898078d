"""The report: one offline page that answers the study's question and shows its evidence."""

from tare.report.content import ReportAnswers
from tare.report.page import chart_scripts
from tare.report.writing import Format, write_report

__all__ = ["Format", "ReportAnswers", "chart_scripts", "write_report"]
