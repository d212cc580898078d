"""Output of IOR, made up, and the reading of it."""

from __future__ import annotations

from support.outputs import reader
from tare.plugins.workloads.ior import WORKLOADS

(IOR,) = WORKLOADS

OUTPUT = """\
IOR-4.0.0: MPI Coordinated Test of Parallel I/O
Began               : Wed Mar  9 11:55:45 2022
Command line        : ior -a POSIX -w -r -i 2 -o /scratch/ior.data
TestID              : 0
StartTime           : Wed Mar  9 11:55:45 2022

Options: 
repetitions         : 2
xfersize            : 1 MiB

Results: 

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
WARNING: Expected aggregate file size       = 140737488355328
write     7020       7021       0.043952    1048576    1024.00    0.608956   45.61      0.594920   45.61      0   
read      8020       8021       0.033952    1048576    1024.00    0.508956   35.61      0.494920   35.61      0   
remove    -          -          -           -          -          -          -          -          0.120998   0   
write     7120       7121       0.042952    1048576    1024.00    0.604956   44.61      0.590920   44.61      1   
read      8120       8121       0.032952    1048576    1024.00    0.504956   34.61      0.490920   34.61      1   
Max Write: 7119.75 MiB/sec (7360.75 MB/sec)
Max Read:  8119.75 MiB/sec (8360.75 MB/sec)

Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     StdDev    Mean(s) Test#
write        7119.75    7019.75    7069.75       0.00    7119.75    7019.75    7069.75       0.00   45.60901     0
read         8119.75    8019.75    8069.75       0.00    8119.75    8019.75    8069.75       0.00   35.60901     0
Finished            : Wed Mar  9 11:56:31 2022
"""  # noqa: E501, W291  # IOR's own lines


parse = reader(IOR)
