"""Backend `kubernetes`: attempts are MPIJobs of the MPI Operator, Jobs, or pairs of pods, in a cluster."""
