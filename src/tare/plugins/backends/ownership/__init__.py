"""For all backends: which session a process belongs to, and how processes that were left are ended."""
