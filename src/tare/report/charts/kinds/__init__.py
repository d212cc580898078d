"""One module for each kind of chart that registers itself; see tare.report.charts.kind."""
