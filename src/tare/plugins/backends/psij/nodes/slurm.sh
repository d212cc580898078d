# Slurm: srun(1), scontrol(1).
job_id=$SLURM_JOB_ID
mapfile -t node_names < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
start_on() {
  srun --overlap --nodes=1 --ntasks=1 --nodelist="$1" --mpi=none --input=none "${@:2}"
}
