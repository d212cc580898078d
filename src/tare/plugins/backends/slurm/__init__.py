"""Backend `slurm`: attempts are batch jobs, one each or a block in one allocation (sbatch(1), srun(1))."""
