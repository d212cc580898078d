"""Output of fio in its forms, and readers of the figures in it."""

from __future__ import annotations

import io
import re

from tare.core.workload import Parsed
from tare.plugins.workloads.fio import WORKLOADS

FIO = {workload.pattern: workload for workload in WORKLOADS}


JSON = """\
fio: this platform does not support process shared mutexes, forcing use of threads.
{
  "fio version" : "fio-3.33",
  "global options" : {
    "bs" : "4k",
    "bs" : "4k"
  },
  "jobs" : [
    {
      "jobname" : "one",
      "groupid" : 0,
      "error" : 0,
      "read" : {
        "io_bytes" : 1511751680,
        "bw" : 30648,
        "iops" : 7662.030309,
        "clat_ns" : {
          "mean" : 7881000.5,
          "percentile" : {
            "50.000000" : 6258688,
            "99.000000" : 35913728
          }
        }
      },
      "write" : {
        "io_bytes" : 0,
        "bw" : 0,
        "iops" : 0.000000
      }
    }
  ],
  "disk_util" : [
    {
      "name" : "vda",
      "util" : 52.490975
    }
  ]
}
"""


TEXT = """\
one: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=4
fio-3.33
Starting 2 processes

one: (groupid=0, jobs=2): err= 0: pid=20565: Sat Nov 21 22:27:31 2026
  read: IOPS=66.9k, BW=261MiB/s (274MB/s)(262MiB/1001msec)
    slat (nsec): min=638, max=803900, avg=22838.36, stdev=25426.69
    clat (nsec): min=814, max=3536.2k, avg=43916.99, stdev=95821.38
     lat (usec): min=5, max=3560, avg=66.76, stdev=100.91
    clat percentiles (usec):
     |  1.00th=[    6], 50.00th=[   36], 95.00th=[   69], 99.00th=[  245],
     | 99.90th=[ 1647]
   bw (  KiB/s): min=260456, max=260456, per=97.29%, avg=260456.00, stdev= 0.00, samples=2
  lat (nsec)   : 1000=0.01%
  cpu          : usr=5.55%, sys=25.55%, ctx=74658, majf=0, minf=27

Run status group 0 (all jobs):
   READ: bw=261MiB/s (274MB/s), 261MiB/s-261MiB/s (274MB/s-274MB/s), io=262MiB (274MB), run=1001-1001msec

Disk stats (read/write):
  vda: ios=59677/29544, merge=0/0, ticks=921/6511, in_queue=7432, util=73.39%
"""


_ASKED = re.compile(r'"rw" : "(\w+)"|: \(g=0\): rw=(\w+)')


_OF_MIXES = {"rw": "read", "readwrite": "read", "randrw": "randread"}


def parse(text: str) -> Parsed:
    """Return what the workload reads whose pattern the log is of."""
    match = _ASKED.search(text)
    pattern = "read" if match is None else match[1] or match[2]
    return FIO.get(_OF_MIXES.get(pattern, pattern), FIO["read"]).parse(io.StringIO(text))


def figures(parsed: Parsed, operation: str = "read", **at: int | str) -> dict[str, float]:
    at |= {"operation": operation}
    return {one.fom: one.value for one in parsed.measurements if at.items() <= one.at.items()}


PERCENTILES = (
    "1.000000%=10;5.000000%=12;10.000000%=13;20.000000%=15;30.000000%=17;40.000000%=19;50.000000%=21;60.000000%=24;"
    "70.000000%=27;80.000000%=30;90.000000%=34;95.000000%=39;99.000000%=183;99.500000%=236;99.900000%=411;"
    "99.950000%=481;99.990000%=1400;0%=0;0%=0;0%=0"
)


READ = (
    f"120808;120446;30111;1003;0;0;0.000000;0.000000;2;2636;26.274757;37.005671;{PERCENTILES};"
    "2;2636;26.323388;37.008541;114168;127440;49.968977%;120804.000000;9384.721200"
)


NOTHING = ";".join(["0"] * 12 + ["0%=0"] * 20 + ["0"] * 9)


REST = ";".join(["4.391218%"] * 12 + ["0.01%"] * 22 + ["vda;52517;26153;0;11;961;6523;7483;71.73%"])


TERSE = f"3;fio-3.33;one;0;0;{READ};{NOTHING};{REST}\n"


TERSE_5 = f"5;fio-3.33;one;0;0;{READ};2;1;2;3;4;5;{NOTHING};0;0;0;0;0;0;{NOTHING};0;0;0;0;0;0;{REST}\n"
