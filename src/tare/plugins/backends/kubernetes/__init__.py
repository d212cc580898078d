"""Backend `kubernetes`: run attempts in a cluster, as MPIJobs of the MPI Operator, Jobs, or pairs of pods."""
