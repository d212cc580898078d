"""For all backends: reach a site's hosts, and what runs or lies there during an attempt.

Samplers and packet counters run on hosts, containers may stay there, and runs have folders there.
"""
