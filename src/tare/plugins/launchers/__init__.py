"""Launchers: one file for each MPI's method of starting ranks.

Pure functions from a placement to a command.
"""
