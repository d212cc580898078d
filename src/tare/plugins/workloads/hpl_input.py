"""The input of HPL and HPCC: problem size, process grid, and the input file with both."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tare.core.case import Case
from tare.core.site import SiteFact
from tare.core.workload import Parameter, ParameterKind
from tare.plugins.workloads.common import declare

_DOUBLE_BYTES = 8

SIZE_PARAMETERS = (
    Parameter(
        name="memory",
        kind=ParameterKind.FRACTION,
        default=0.8,
        minimum=0.0001,
        summary="share of all nodes' memory that the matrix fills",
    ),
    Parameter(
        name="node_memory",
        kind=ParameterKind.BYTES,
        default=0,
        minimum=0,
        summary="memory of one node, to know the matrix from `memory`; 0 takes it from the site file",
        fact=SiteFact.NODE_MEMORY,
        unless="n",
    ),
    declare.whole("n", 0, "order of the matrix, instead of `memory`; 0 means from `memory`", minimum=0),
    declare.whole(
        "nb", 192, "block size: what suits the BLAS, such as 192, 232 (AMD), 384 (Intel)", minimum=1
    ),
)
"""The parameters for the size of the matrix, for both benchmarks."""

_TEMPLATE = """\
HPLinpack benchmark input file
Innovative Computing Laboratory, University of Tennessee
HPL.out      output file name (if any)
{device:<12} device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{n:<12} Ns
1            # of NBs
{nb:<12} NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
{p:<12} Ps
{q:<12} Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
"""
"""The settings follow HPL's TUNING notes for clusters: 1-ring modified broadcast, look-ahead 1."""


def size_faults(case: Case) -> Iterator[str]:
    """Yield the reasons why the order of the matrix is unknown, too large, or less than one block."""
    n, nb = int(case.parameters["n"]), int(case.parameters["nb"])
    share = float(case.parameters["memory"])
    if n == 0 and not case.parameters["node_memory"]:
        yield (
            f"{share:.0%} of a node's memory is meant, but its size is not known; "
            "set node_memory: 192GiB (as 'free' shows it there), or the order of the matrix, n: 20000, or "
            "add memory: 192GiB to the site file"
        )
    elif n == 0 and share > 1:
        yield f"memory is {share:.0%}, more than the nodes have; set memory: 80 %"
    elif order(case) < nb:
        yield f"the order of the matrix, {order(case)}, is less than one block, nb {nb}; set n: {nb}"


def order(case: Case) -> int:
    """Return the order N of the matrix: N² doubles fill the share of memory, N is a multiple of `nb`."""
    n = int(case.parameters["n"])
    if n:
        return n
    n_bytes = float(case.parameters["memory"]) * float(case.parameters["node_memory"]) * case.layout.nodes
    nb = int(case.parameters["nb"])
    return math.isqrt(int(n_bytes / _DOUBLE_BYTES)) // nb * nb


def grid(ranks: int) -> tuple[int, int]:
    """Return the most square grid (P, Q) with P × Q = `ranks` and P ≤ Q: HPL runs best on it on networks."""
    p = next(p for p in range(math.isqrt(ranks), 0, -1) if ranks % p == 0)
    return p, ranks // p


_RATE_ERROR = 0.02
"""Relative difference allowed between rate × time and the operations."""


def is_rate_of(n: int, time_s: float, gflops: float, time_error_s: float = 0.0) -> bool:
    """Return whether a rate is that of solving a system of order `n` in a time; True if it is NaN.

    HPL counts 2/3 n³ + 3/2 n² operations, whatever is done (HPL_pdtest.c). So a rate in another unit is found
    out, one that was cut short, and one of another row. `time_error_s` is how much the time may be rounded.
    """
    operations = (2 / 3 * n + 3 / 2) * n**2 / 1e9
    least, most = ((time_s + error) * gflops for error in (-time_error_s, time_error_s))
    return math.isnan(least) or least * (1 - _RATE_ERROR) <= operations <= most * (1 + _RATE_ERROR)


def hpl_dat(case: Case, *, device: int = 6) -> str:
    """Return the input file of HPL for one run of `case`; HPCC's begins with the same lines.

    `device` is where HPL writes: 6 for standard output, another number for the file.
    """
    p, q = grid(case.layout.ranks)
    return _TEMPLATE.format(device=device, n=order(case), nb=case.parameters["nb"], p=p, q=q)
