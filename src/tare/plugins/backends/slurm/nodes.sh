# A site or a user may set SBATCH_EXPORT=NONE: srun would then start ranks, and MPIs their daemons, without what is set here.
unset SLURM_EXPORT_ENV
job_id=$SLURM_JOB_ID job_nodes=$SLURM_JOB_NODELIST this_node=${SLURMD_NODENAME-}
mapfile -t allocated < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
node0=${allocated[0]-}

on_each() { # Slurm itself may choose other nodes of the job, if the job has more than the task needs
  exec srun --overlap --nodelist="$(first_nodes "$nodes")" --nodes="$nodes" --ntasks="$nodes" --ntasks-per-node=1 --mem=0 --mpi=none "$@"
}
