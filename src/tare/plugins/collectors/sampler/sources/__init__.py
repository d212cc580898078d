"""Sources of the sampler. Each file is one source: its code on the node, on the head node, and its figures.

On the node, the file is used unchanged, and Python may be 3.6. ``paths(root)`` returns the files to keep
open, and ``shorten(lines)`` returns the lines of their text to record. If a source `HAS_PATHS`, each line
begins with the path of its file. A source may have ``pause_s(lines)``: how long not to read it again.

On the head node, ``counters(lines)`` turns recorded lines into named numbers. ``figures(stage)`` returns
the figures of a run; unknown ones are None (see plugins.collectors.sampler.figures.StageCounts). `FIGURES`
declares them: name, unit, which direction is better, if any, and a description. `ORDER` is the source's
position among the sources. `TIME_SERIES` declares the time series for charts: name, title, unit, and whether
it belongs to a machine or to each host of ranks. ``over_time(counted, seconds, interface)`` returns the
values of one time step.

A file in this folder is read, computed, shown, exported and documented: `sources` of
tare.core.telemetry_sources finds it.
"""
