# A site or a user may set SBATCH_EXPORT=NONE: srun would then start ranks, and MPIs their daemons, without what is set here.
unset SLURM_EXPORT_ENV
job_id=$SLURM_JOB_ID job_nodes=$SLURM_JOB_NODELIST this_node=${SLURMD_NODENAME-}
node0=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)

on_each() {
  exec srun --overlap --nodes="$nodes" --ntasks="$nodes" --ntasks-per-node=1 --mpi=none "$@"
}
