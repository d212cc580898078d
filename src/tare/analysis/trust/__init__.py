"""Find what speaks against the numbers: scatter, drift, sessions that differ, noise, A/A campaigns."""
