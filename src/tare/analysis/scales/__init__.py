"""Compute how figures go with scale and size: speedup, efficiency, laws, fits and crossovers."""
