"""Read the transport reports of MPI libraries: the verbose log lines that name the transport they chose.

There is one module for each library (see `libraries`). Each module parses single lines, because the lines of
several ranks are mixed.
"""
