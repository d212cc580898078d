"""Tasks in a cluster, from their creation until their objects are deleted."""
