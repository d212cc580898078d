"""The command line: one command a file, each thin: parse, call, print."""
