"""Writes one HTML page about a model and its data. Start with `report`."""

from perceptrons.report.build import Report, report
from perceptrons.report.subject import Origin

__all__ = ["Origin", "Report", "report"]
