"""Find where a difference comes from: profiles of ranks, and what the nodes did meanwhile."""
