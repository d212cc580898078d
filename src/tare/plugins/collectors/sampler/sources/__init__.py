"""What the sampler reads on a node: one source a file, which is its two sides and all that it gives.

On the node, where the file goes as it stands and Python may be 3.6, ``paths(root)`` names the files to keep
open and ``shorten(lines)`` keeps of their text what is worth keeping. Where a source `HAS_PATHS`, each line
begins with the path of its file. A source may have ``pause_s(lines)``: for how long not to read it again.

On the head ``counters(lines)`` makes named numbers of the lines that came back, and ``figures(watched)`` the
figures of a run, None of those that are not known (see plugins.collectors.sampler.figures.Watched). `FIGURES`
declares them: name, unit, which way is better, if any is, and what it is in words. `ORDER` is the source's
place among others. What is drawn against time stands in `COURSES`: name, title, unit, and whether a machine
tells it or each host of ranks; ``over_time(counted, seconds, interface)`` gives the values of one step.

A file that is put here is read, computed, shown, exported and documented: `sources` of
tare.core.telemetry_sources finds it.
"""
