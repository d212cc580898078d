"""PBS Professional, LSF, Flux and others, through PSI/J, the portable submission library of HPC."""
