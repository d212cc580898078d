"""Find what a place offers: batch systems, nodes, networks, MPIs, file systems. One finder a file.

A finder runs commands through `commands.Commands`, and returns facts (see facts) or None. It calls `report`
with what it could not find out, and why. Nothing is changed, and only `nodes` starts anything on nodes.
"""
