"""The command line: `tare` and what its commands share."""
