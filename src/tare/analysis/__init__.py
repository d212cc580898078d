"""Analyse a campaign: estimates of its cases, comparisons, scaling, rules and quality warnings.

Most functions here take a `Campaign` and return frozen values; `tare.cli` and `tare.report` show them. The
statistics behind them are in `tare.stats`.
"""
