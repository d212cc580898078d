"""Tare: what a platform costs an HPC workload, against a reference, with its uncertainty."""

__version__ = "0.1.0"
