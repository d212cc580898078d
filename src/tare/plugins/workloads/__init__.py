"""Workloads: one module per program, with its command, parameters, figures of merit and parser.

Each module offers a tuple `WORKLOADS` through an entry point of the same name. The parser of a workload turns
the lines that its program printed into measurements (see core.workload.Workload).
"""
