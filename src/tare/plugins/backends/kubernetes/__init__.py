"""Backend `kubernetes`: run attempts in a cluster, as MPIJobs of the MPI Operator, Jobs, or pairs of pods.

Each package imports only those above it (see pyproject.toml):

- `objects`: what is created in a cluster and read from it, as types
- `api`: requests to an API server, and what is watched there
- `manifests`: a task as objects of a cluster, and the scripts of its pods
- `diagnosis`, `transfer`: what the state of a cluster says of a task; how its files come from its pods
- `scheduling`: a task from the creation of its objects until they are deleted
- `checks`: what `tare doctor` and `tare init` look at beforehand
"""
