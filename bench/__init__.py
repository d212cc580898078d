"""Performance goals, measured side by side on the machine at hand: `make bench`."""
