"""Where processes run. Apart from the lab, only these modules start or poll processes.

Each backend has a folder: `process`, `slurm`, `gridengine`, `psij`, `kubernetes`. `batch` has what the batch
systems share; `hosts` and `ownership` have what all backends share.
"""
