"""One command a file, each thin: parse, call, print."""
