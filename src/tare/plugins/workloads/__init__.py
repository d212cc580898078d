"""Workloads: one file a family, each with its command, parameters, figures of merit and parser."""
