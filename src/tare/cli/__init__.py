"""The command line: the `tare` command, and the code that its sub-commands share."""
