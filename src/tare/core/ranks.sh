# The number of this rank, as who started it says, in `rank`; empty where nobody does. A shell inside `srun --pty`
# hands its own PMI_RANK, PMIX_RANK and SLURM_PROCID, all of them 0, to what is started there: so the variables come
# first that only a launcher of ranks sets. Open MPI sets its own besides PMIX_RANK; Hydra (MPICH, Intel MPI) PMI_RANK,
# on nodes where SLURM_PROCID counts its proxies.
find_rank() {
  rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${PMIX_RANK:-${SLURM_PROCID:-${JOB_COMPLETION_INDEX:-}}}}}
}
