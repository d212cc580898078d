"""How commands print: for people at a terminal, for pipes, and as JSON for machines."""
