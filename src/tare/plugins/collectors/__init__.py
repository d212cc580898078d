"""What is known of the nodes: one source of facts or counters a file."""
