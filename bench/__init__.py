"""Benchmarks of Tare against its performance goals, measured on this machine: `make bench`."""
