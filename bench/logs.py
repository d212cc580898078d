"""Synthetic long logs of each tool, in the tools' own formats.

`start` and `end` are the first and the last part of one run. `body` is repeated between them to make a log
long. It has rows of intervals or time steps if the tool prints those. Otherwise it has results, as in a log
to which many runs append.
"""

# ruff: noqa: E501 - the tools' own lines are as long as they are

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

PIECE_BYTES = 1 << 20
"""The approximate size of the pieces in which a log is made."""


class Log(NamedTuple):
    """The parts of a log of `workload`."""

    workload: str
    body: str
    start: str = ""
    end: str = ""

    def dense(self, n_bytes: int) -> Iterator[str]:
        """Yield pieces of a log of about `n_bytes` that has only output of the tool."""
        return self._pieces(self.body, n_bytes)

    def runs(self, n_bytes: int) -> Iterator[str]:
        """Yield pieces of a log of about `n_bytes` that repeats the whole output of a run."""
        return self._repeated(self.start + self.body + self.end, n_bytes)

    def rows(self, n_bytes: int) -> Iterator[str]:
        """Yield pieces of a log of about `n_bytes`: one run, then only its lines with figures, repeated."""
        yield self.start + self.body
        lines = (self.body + self.end).splitlines(keepends=True)
        rows = [line for line in lines if any(map(str.isdigit, line)) and not line.startswith("#")]
        yield from self._repeated("".join(rows), n_bytes)

    def noisy(self, n_bytes: int) -> Iterator[str]:
        """Yield pieces of a log of about `n_bytes`, of which 95 % are messages of other programs."""
        n_noise = -(-19 * len(self.body) // len(NOISE))
        return self._pieces(self.body + NOISE * n_noise, n_bytes)

    def _pieces(self, body: str, n_bytes: int) -> Iterator[str]:
        yield self.start
        yield from self._repeated(body, n_bytes)
        yield self.end

    @staticmethod
    def _repeated(text: str, n_bytes: int) -> Iterator[str]:
        piece = text * max(1, min(PIECE_BYTES, n_bytes) // len(text))
        for _ in range(max(1, n_bytes // len(piece))):
            yield piece


NOISE = """\
[n1:00042] UCX  WARN  transport 'tcp' is not configured, the default of this node is used instead
srun: job 33869 has been allocated resources
2 more processes have sent help message help-mpi-btl-tcp.txt / dropped inbound connection
    0x7f12a3 (libmpi.so.40+0x42) [rank 12] retrying after 250 ms, attempt 3 of 5
slurmstepd: task 17 on n2 waits at the barrier (12.4 s)

# loaded module gcc/13.2.0 openmpi/5.0.3 ucx/1.16
INFO:root:heartbeat 1718 mem=512.3MiB cpu=97.4% io=0.2MB/s
"""


def _rows(head: str, row: str, values: Iterator[tuple[float, ...]]) -> str:
    return head + "".join(row % one for one in values)


def _sizes(factor: float) -> Iterator[tuple[float, ...]]:
    for power in range(1, 23):
        size = 1 << power
        yield size, 1.5 + size / factor, 0.25 + size / factor * 1.1


_OSU = _rows("\n# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n", "%-10d%18.2f\n",
             ((size, time) for size, time, _ in [(1, 1.5, 0), *_sizes(9000)]))  # fmt: skip
_IMB_START = """\
#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part
#----------------------------------------------------------------
# Minimum message length in bytes:   2
# Maximum message length in bytes:   4194304
"""
_IMB = _rows(
    """
#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
""",
    "%13d         1000%13.2f%13.2f\n",
    _sizes(9000),
)
_IPERF3_START = (
    "Connecting to host 10.0.0.2, port 5201\n[  5] local 10.0.0.1 port 40000 connected to 10.0.0.2\n"
)
_IPERF3_END = """\
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-9999.00 sec  10.9 TBytes  9.41 Gbits/sec   12             sender
[  5]   0.00-9999.04 sec  10.9 TBytes  9.41 Gbits/sec                  receiver

iperf Done.
"""
_PERFTEST = """\
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_0
 Number of qps   : 1            Transport type : IB
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
""" + _rows("", " %-10d 5000%18.2f%19.2f%21.6f\n",
          ((size, peak, mean, mean * 125 / size) for size, peak, mean in _sizes(90000))) + "-" * 87 + "\n"  # fmt: skip
_OPENFOAM = """\
Time = 17

smoothSolver:  Solving for Ux, Initial residual = 0.0012, Final residual = 9.1e-05, No Iterations 4
smoothSolver:  Solving for Uy, Initial residual = 0.0213, Final residual = 1.7e-03, No Iterations 4
GAMG:  Solving for p, Initial residual = 0.0174, Final residual = 0.00016, No Iterations 6
time step continuity errors : sum local = 0.00011, global = -3.2e-06, cumulative = 0.0004
smoothSolver:  Solving for omega, Initial residual = 0.0003, Final residual = 2.1e-05, No Iterations 3
smoothSolver:  Solving for k, Initial residual = 0.0026, Final residual = 0.00018, No Iterations 3
ExecutionTime = 42.17 s  ClockTime = 43 s

"""
_GROMACS = """\
           Step           Time
           5000       10.00000

   Energies (kJ/mol)
        LJ (SR)   Coulomb (SR)   Coul. recip.      Potential    Kinetic En.
    1.46081e+05   -9.36154e+05    4.21812e+03   -7.85855e+05    1.37861e+05
   Total Energy  Conserved En.    Temperature Pressure (bar)   Constr. rmsd
   -6.47994e+05   -6.48231e+05    2.99871e+02   -1.21034e+01    0.00000e+00

"""
_SPECFEM = """\
 Time step #         2000
 Time:    3.166667      minutes
 Elapsed time in seconds =    32.7412
 Elapsed time in hh:mm:ss =    0 h 00 m 32 s
 Mean elapsed time per time step in seconds =   1.6370E-02
 Max norm displacement vector U in solid in all slices (m) =   1.2345E-05
 Max non-dimensional potential Ufluid in fluid in all slices =   3.3E-08

"""
_ELBENCHO = """\
OPERATION RESULT TYPE        FIRST DONE  LAST DONE
========= ================   ==========  =========
WRITE     Elapsed ms       :       1843       1921
          IOPS             :       1111       1066
          Throughput MiB/s :       1111       1066
          Total MiB        :       2048       2048
          IO lat us        : [ min=92 avg=912 max=10222 ]
---
RMFILES   Elapsed ms       :         13         14
          Files/s          :       7477       7483
          Total files      :         98        104
---
"""
_FIO_STATUS = "Jobs: 4 (f=4): [W(4)][41.2%][w=512MiB/s][w=512 IOPS][eta 00m:10s]\n"
_FIO = """\
{
  "fio version" : "fio-3.36",
  "jobs" : [
    {
      "jobname" : "write",
      "groupid" : 0,
      "error" : 0,
      "write" : {
        "io_bytes" : 536870912,
        "bw" : 524288,
        "iops" : 512.5,
        "clat_ns" : {"mean" : 7812.5, "percentile" : {"50.000000" : 7712, "99.000000" : 9920}}
      }
    }
  ]
}
"""
_IOR = """\
IOR-4.0.0: MPI Coordinated Test of Parallel I/O
Began               : Wed Mar  9 11:55:45 2022
Command line        : ior -w -r -t 1m -b 1g -o data
TestID              : 0
repetitions         : 1
access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
write     1066.21    1066.90    0.003740    1048576    1024.00    0.000812   0.959801   0.000411   0.960401   0
read      4211.02    4213.10    0.000941    1048576    1024.00    0.000212   0.243051   0.000101   0.243177   0
Max Write: 1066.21 MiB/sec (1118.00 MB/sec)
Max Read:  4211.02 MiB/sec (4415.57 MB/sec)

Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     StdDev    Mean(s) Test# #Tasks
write        1066.21    1066.21    1066.21       0.00    1066.21    1066.21    1066.21       0.00    0.96040     0      4
read         4211.02    4211.02    4211.02       0.00    4211.02    4211.02    4211.02       0.00    0.24317     0      4
Finished            : Wed Mar  9 11:56:01 2022
"""
_MDTEST = """\
-- started at 05/03/2024 09:55:26 --

mdtest-4.0.0 was launched with 4 total task(s) on 2 node(s)
SUMMARY rate: (of 1 iterations)
   Operation                     Max            Min           Mean        Std Dev
   ---------                     ---            ---           ----        -------
   File creation              12811.119      12811.119      12811.119          0.000
   File stat                 212118.411     212118.411     212118.411          0.000
   File read                  52118.012      52118.012      52118.012          0.000
   File removal               14118.212      14118.212      14118.212          0.000
   Tree creation                611.212        611.212        611.212          0.000
   Tree removal                 311.112        311.112        311.112          0.000
-- finished at 05/03/2024 09:56:01 --
"""
_STREAM = """\
STREAM version $Revision: 5.10 $
-------------------------------------------------------------
This system uses 8 bytes per array element.
Array size = 120000000 (elements), Offset = 0 (elements)
Each kernel will be executed 10 times.
-------------------------------------------------------------
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           93311.2     0.020711     0.020576     0.020912
Scale:          91211.7     0.021211     0.021050     0.021400
Add:            95111.9     0.030411     0.030280     0.030711
Triad:          95221.1     0.030311     0.030245     0.030500
-------------------------------------------------------------
Solution Validates: avg error less than 1.000000e-13 on all three arrays
"""
_SOCKPERF = """\
sockperf: == version #3.10-no.git ==
sockperf: Starting test...
sockperf: Test end (interrupted by timer)
sockperf: [Total Run] RunTime=10.000 sec; Warm up time=400 msec; SentMessages=59986; ReceivedMessages=59985
sockperf: [Valid Duration] RunTime=9.550 sec; SentMessages=57400; ReceivedMessages=57400
sockperf: ====> avg-latency=83.147 (std-dev=8.246, mean-ad=5.1, median-ad=5.2, siqr=3.5, cv=0.099)
sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0
sockperf: Summary: Latency is 83.147 usec
sockperf: Total 57400 observations; each percentile contains 574.00 observations
sockperf: ---> <MAX> observation =  401.118
sockperf: ---> percentile 99.999 =  401.118
sockperf: ---> percentile 99.990 =  255.301
sockperf: ---> percentile 99.900 =  160.442
sockperf: ---> percentile 99.000 =  111.211
sockperf: ---> percentile 90.000 =   91.007
sockperf: ---> percentile 75.000 =   85.902
sockperf: ---> percentile 50.000 =   82.120
sockperf: ---> percentile 25.000 =   79.044
sockperf: ---> <MIN> observation =   61.012
"""
_NETPERF = """\
MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to n2 () port 0 AF_INET : first burst 0
MEAN_LATENCY=26.42
MIN_LATENCY=18
MAX_LATENCY=411
STDDEV_LATENCY=5.11
P50_LATENCY=25
P90_LATENCY=31
P99_LATENCY=44
THROUGHPUT=37611.22
THROUGHPUT_UNITS=Trans/s
"""
_HPL_START = """\
================================================================================
HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018
================================================================================
"""
_HPL_ROW = """\
================================================================================
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR11C2R4       20480   192     2     4              31.42             1.8233e+02
"""
_HPL_END = """\
--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   2.67481e-03 ...... PASSED
================================================================================

Finished      1 tests with the following results:
              1 tests completed and passed residual checks,
              0 tests completed and failed residual checks,
              0 tests skipped because of illegal input values.
--------------------------------------------------------------------------------

End of Tests.
================================================================================
"""
_HPL = "Column=000003072 Fraction=15.0% Gflops=1.792e+02\n" * 20
_HPCG = """\
HPCG-Benchmark
version=3.1
Machine Summary=
Machine Summary::Distributed Processes=4
Global Problem Dimensions=
Global Problem Dimensions::Global nx=208
Iteration Count Information=
Iteration Count Information::Result=PASSED
Benchmark Time Summary=
Benchmark Time Summary::Total=60.12
GB/s Summary=
GB/s Summary::Raw Total B/W=88.12
GFLOP/s Summary=
GFLOP/s Summary::Raw Total=11.62
Final Summary=
Final Summary::HPCG result is VALID with a GFLOP/s rating of=11.51
Final Summary::HPCG 2.4 rating for historical reasons is=11.60
Final Summary::Results are valid but execution time (sec) is=60.12
"""
_HPCC = """\
########################################################################
This is the DARPA/DOE HPC Challenge Benchmark version 1.5.0 October 2012
########################################################################
Begin of Summary section.
VersionMajor=1
Language=C
Success=1
sizeof_char=1
CommWorldProcs=4
HPL_Tflops=0.182
StarDGEMM_Gflops=41.2
PTRANS_GBs=6.11
MPIRandomAccess_GUPs=0.0321
StarSTREAM_Triad=8.11
MPIFFT_Gflops=11.2
MaxPingPongLatency_usec=2.11
End of Summary section.
########################################################################
End of HPC Challenge tests.
"""

_MICROBENCH = """\
{"tare":"row","op":"pingpong","bytes":8,"unit":"us","n":10000,"min":1.1,"p1":1.1,"p25":1.2,"p50":1.25,"p75":1.3,"p90":1.4,"p99":2.1,"p99.9":4.2,"max":9.1,"mean":1.3}
"""

LOGS = {
    "elbencho": Log("elbencho.write", _ELBENCHO),
    "fio": Log("fio.write", _FIO_STATUS, end=_FIO),
    "gromacs": Log("gromacs.water", _GROMACS, " :-) GROMACS - gmx mdrun, 2024.2 (-:\n",
                   "               Core t (s)   Wall t (s)        (%)\n"
                   "       Time:      335.211       42.117      795.9\n"
                   "                 (ns/day)    (hour/ns)\n"
                   "Performance:       41.211        0.582\n"
                   "Finished mdrun on rank 0 Sat May  4 09:55:26 2024\n"),
    "hpcc": Log("hpcc", _HPCC),
    "hpcg": Log("hpcg", _HPCG),
    "hpl": Log("hpl", _HPL, _HPL_START, _HPL_ROW + _HPL_END),
    "imb": Log("imb.pingpong", _IMB, _IMB_START, "# All processes entering MPI_Finalize\n"),
    "ior": Log("ior", _IOR),
    "iperf2": Log("iperf2", "[  3] 17.0-18.0 sec  1.10 GBytes  9.41 Gbits/sec\n" * 20,
                  "Client connecting to n2, TCP port 5001\n",
                  "[  3]  0.0-9999.0 sec  10.9 TBytes  9.41 Gbits/sec\n"),
    "iperf2 CSV": Log("iperf2", "20240503095526,10.0.0.1,40000,10.0.0.2,5001,3,17.0-18.0,1176371200,9410969600\n",
                      end="20240503095527,10.0.0.1,40000,10.0.0.2,5001,3,0.0-9999.0,11762535628800,9410969600\n"),
    "iperf3": Log("iperf3", "[  5]  17.00-18.00  sec  1.10 GBytes  9.41 Gbits/sec    0   3.12 MBytes\n",
                  _IPERF3_START, _IPERF3_END),
    "lammps": Log("lammps.lj", "      1000    1.6842358   -4.7908265            0    -2.265205    5.6139121\n",
                  "LAMMPS (2 Aug 2023)\n",
                  "Loop time of 31.4211 on 4 procs for 10000 steps with 256000 atoms\n\n"
                  "Performance: 137490.123 tau/day, 318.258 timesteps/s\n"
                  "99.7% CPU use with 4 MPI tasks x 1 OpenMP threads\n\nTotal wall time: 0:00:31\n"),
    "mdtest": Log("mdtest", _MDTEST),
    "namd": Log("namd.apoa1", "ENERGY:    1000    20974.8940     19756.6569      5724.4523       179.8271"
                "        -337741.4216     23251.1007         0.0000         0.0000     45359.0789\n\n",
                "Info: NAMD 3.0 for Linux-x86_64-MPI\nInfo: Running on 8 processors, 8 nodes, 2 physical nodes.\n",
                "Info: Benchmark time: 8 CPUs 0.0211 s/step 0.2442 days/ns 512.1 MB memory\n"
                "WallClock: 42.117  CPUTime: 41.911  Memory: 512.118 MB\n"),
    "netperf": Log("netperf.tcp_rr", _NETPERF),
    "openfoam": Log("openfoam.motorbike", _OPENFOAM,
                    "Build  : v2312\nExec   : simpleFoam -parallel\nnProcs : 8\n", "End\n\n"),
    "osu": Log("osu.latency", _OSU),
    "perftest": Log("perftest.write_bw", _PERFTEST),
    "qperf": Log("qperf", "tcp_bw:\n    bw  =  1.17 GB/sec\ntcp_lat:\n    latency  =  12.2 us\n"),
    "sockperf": Log("sockperf.ping_pong", _SOCKPERF),
    "specfem3d_globe": Log("specfem3d_globe", _SPECFEM, " **** Specfem3D MPI Solver ****\n",
                           " Time loop finished. Timing info:\n Total elapsed time in seconds =    1311.2\n"
                           " End of the simulation\n\n"),
    "stream": Log("stream", _STREAM),
    "tare": Log("tare.p2p", _MICROBENCH, '{"tare":"header","version":1,"ranks":2}\n',
                '{"tare":"end","rows":1}\n'),
    "wrf": Log("wrf.conus-12km",
               "Timing for main: time 2019-11-26_12:01:12 on domain   1:    0.31214 elapsed seconds\n",
               "taskid: 0 hostname: n1\n Ntasks in X            2 , ntasks in Y            4\n",
               "Timing for Writing wrfout_d01 for domain        1:    0.41211 elapsed seconds\n"
               "wrf: SUCCESS COMPLETE WRF\n"),
}  # fmt: skip
"""The logs by name, one for every tool whose output is lines of text."""
