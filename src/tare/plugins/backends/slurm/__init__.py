"""Backend `slurm`: each attempt is a batch job, or a block is one allocation (sbatch(1), srun(1))."""
