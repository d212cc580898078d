"""Workloads: one module per program, with its command, parameters, figures of merit and parser.

The main module of a program offers its workloads in a tuple `WORKLOADS`, which is an entry point. Modules
whose names begin alike belong to the same program: ``ior`` has the workload, ``ior_output`` and ``ior_json``
read its output. A parser turns the lines of an output into measurements (see core.workload.Workload).
"""
