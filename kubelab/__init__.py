"""Run a real Kubernetes on one machine, for tests: `python -m kubelab --help`.

The control plane, scheduler and API are real, built from Kubernetes' own sources. Doubles replace only what
one machine cannot have, and their names say that they are doubles.
"""
