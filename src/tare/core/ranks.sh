# Set `rank` to the number of this rank, from the variables of its launcher; to nothing if there are none.
# The variables that only a launcher of ranks sets come first: a shell inside `srun --pty` passes its own PMI_RANK,
# PMIX_RANK and SLURM_PROCID, all of them 0, to what it starts. Open MPI sets its own variable besides PMIX_RANK;
# Hydra (MPICH, Intel MPI) sets PMI_RANK on nodes where SLURM_PROCID counts its proxies.
find_rank() {
  rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${PMIX_RANK:-${SLURM_PROCID:-${JOB_COMPLETION_INDEX:-}}}}}
}
