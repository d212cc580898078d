"""Facts and counters of nodes. Each file is one source."""
