"""Runtimes: one file for each. A runtime turns a rank's command into one that runs it in a container."""
