"""Runtimes: one file each; a command becomes the command that runs it inside."""
