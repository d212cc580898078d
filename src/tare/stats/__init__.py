"""Compute statistics from arrays of numbers: estimates, ratios, intervals, p values and verdicts.

Arrays are blocks × cells, one column per cell, with NaN where a block did not measure the cell. Every
function processes all columns at once. Nothing here knows about campaigns; `tare.analysis` applies these
functions to them.
"""
