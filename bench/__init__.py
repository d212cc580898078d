"""Measure on this machine: Tare against its goals (`make bench`), published articles (`make articles`)."""
