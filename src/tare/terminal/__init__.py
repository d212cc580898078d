"""Print the output of commands: at a terminal, to pipes, and as JSON."""
