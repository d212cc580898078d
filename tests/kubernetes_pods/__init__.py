"""Real pods, on real nodes of this machine: what they cost, and whether what they say is true."""
