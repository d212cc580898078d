"""PBS Professional, LSF, Flux and others, through PSI/J, the portable job submission library of HPC."""
