"""Pure numbers in, numbers out: estimates, ratios and what their intervals say.

Arrays are blocks × cells, one column a cell, with NaN where a block did not measure it; every
function treats all columns in one pass.
"""
