"""The sub-commands of `tare`, one module each: it parses the options, calls other packages, and prints."""
