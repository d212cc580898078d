"""What the sampler reads on a node: one source a file.

Each has two sides. On the node, where the file goes as it stands and Python may be 3.6, ``paths(root)`` names
the files to keep open and ``shorten(lines)`` keeps of their text what is worth keeping. On the head
``counters(lines)`` makes named numbers of the lines that came back. Where a source `HAS_PATHS`, each line
begins with the path of its file.
"""
