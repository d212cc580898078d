"""Launchers: one file for each MPI's way to start ranks. Pure: from a placement to a command line."""
