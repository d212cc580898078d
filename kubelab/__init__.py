"""A real Kubernetes on one machine, for tests: `python -m kubelab --help`.

Control plane, scheduler and API are the real ones, built from Kubernetes' own sources. Doubles stand only for
what one machine cannot have, and say so in their names.
"""
