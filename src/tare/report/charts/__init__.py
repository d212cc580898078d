"""The figures of the report: their charts as Vega-Lite, for the screen and for paper."""
