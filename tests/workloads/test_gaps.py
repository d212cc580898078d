"""Logs that lost lines, or hold one twice, are not complete: no figure is dropped or changed in silence."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from support.outputs import parse

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
Lines = list[str]
Damage = Callable[[Lines], Lines]


def positions(lines: Lines, pattern: str) -> list[int]:
    return [at for at, line in enumerate(lines) if re.search(pattern, line)]


def without(pattern: str, which: int = 0, count: int = 1) -> Damage:
    """Return what takes out the line that matches, and those after it."""

    def damage(lines: Lines) -> Lines:
        at = positions(lines, pattern)[which]
        return lines[:at] + lines[at + count :]

    return damage


def twice(pattern: str, which: int = 0) -> Damage:
    def damage(lines: Lines) -> Lines:
        at = positions(lines, pattern)[which]
        return [*lines[: at + 1], *lines[at:]]

    return damage


def swapped(one: str, other: str) -> Damage:
    def damage(lines: Lines) -> Lines:
        first, second = positions(lines, one)[0], positions(lines, other)[0]
        found = [*lines]
        found[first], found[second] = lines[second], lines[first]
        return found

    return damage


def garbled(before: str, new: str, old: str = "") -> Damage:
    """Return what writes `new` in place of `old`, or of the number after `before`."""

    def damage(lines: Lines) -> Lines:
        text = "".join(lines)
        pattern = re.escape(old) if old else f"(?<={re.escape(before)})[0-9.]+"
        assert re.search(pattern, text)
        return [re.sub(pattern, new, text, count=1)]

    return damage


def joined(pattern: str) -> Damage:
    """Return what makes the line that matches a part of the one before it."""

    def damage(lines: Lines) -> Lines:
        at = positions(lines, pattern)[0]
        return [*lines[: at - 1], lines[at - 1].rstrip("\n") + lines[at], *lines[at + 1 :]]

    return damage


def beginning_at(pattern: str) -> Damage:
    """Return what leaves nothing of a log before the first line that matches."""
    return lambda lines: lines[positions(lines, pattern)[0] :]


DAMAGED: list[tuple[str, str, Damage]] = [
    ("mdtest", "mdtest/05-io500-4.1.0-stat.txt", without("^SUMMARY time")),
    ("mdtest", "mdtest/05-io500-4.1.0-stat.txt", without("^SUMMARY rate")),
    ("ior", "ior/16-cgpu-direct-32threads.out", twice("^remove ")),
    ("perftest.write_bw", "perftest/02-superbench-all-sizes.log", without(r"^ *2  ")),
    ("sockperf.ping_pong", "sockperf/01-pingpong-and-throughput-one-log.extract.txt", twice("# dropped")),
    ("qperf", "qperf/03-rdma-bw.extract.txt", without("^rc_rdma_read_bw:")),
    ("qperf", "qperf/03-rdma-bw.extract.txt", twice("4.62 GB")),
    ("iperf3", "iperf3/07-text-multi-worker.txt", without("^Connecting to host", 1)),
    ("iperf3", "iperf3/08-text-udp-server-side.txt", swapped(r" 0\.00-1\.00 ", "^- - -")),
    ("iperf3", "iperf3/13-text-udp-loss-summaries-only.log", without("sender", 1)),
    ("imb.biband", "imb/09-biband-ompi4-multi-groups.out", without(r"#processes = 4\b")),
    ("namd.apoa1", "namd/09-v3.0b6-pullcf.log", without("^PERFORMANCE:", -1)),
    ("openfoam.motorbike", "openfoam/09-log.simpleFoam-org8", without("^Time = 1$")),
    ("lammps.script", "lammps/12-bjarni-log.lammps", without("^Performance:", 2)),
    ("lammps.script", "lammps/12-bjarni-log.lammps", without("% CPU use", 2)),
    ("lammps.script", "lammps/12-bjarni-log.lammps", twice("^Loop time", 2)),
    ("hpcc", "hpcc/05-buaa-5node-complete.txt", without("^StarRandomAccess_GUPs=")),
    ("perftest.write_bw", "perftest/02-superbench-all-sizes.log", without(r"^ *64  ")),
    ("sockperf.ping_pong", "sockperf/02-virtualclient-pingpong-full-log.txt", without("percentile 90.000")),
    ("elbencho.write", "elbencho/07-perlmutter.csv", twice(",WRITE,")),
    ("fio.read", "fio/12-text-ceph-rw-4k.out", without(r"95\.00th=")),
    ("fio.read", "fio/12-text-ceph-rw-4k.out", without(r"^ *read *:")),
    ("gromacs.water", "gromacs/14-stackhpc-1400k-16nodes-stderr.err", garbled("PP/PME imbalance: ", "24,6")),
    ("gromacs.water", "gromacs/07-v2025.3-ok-mdrun-output.log", garbled("Average load imbalance: ", "nan")),
    ("lammps.script", "lammps/13-jkkdy-argon-stdout.log", garbled("", "606,1% CPU", old="606.1% CPU")),
    ("lammps.script", "lammps/14-jkkdy-argon-log.lammps", joined("^Loop time of .* for 50 steps")),
    ("hpcg", "hpcg/05-v3.1-valid-0.18.txt", without("HPCG 2.4 rating")),
    ("hpcc", "hpcc/11-docker-containers.txt", without("^SingleRandomAccess_LCG_GUPs=")),
    ("iperf3", "iperf3/13-text-udp-loss-summaries-only.log", garbled("", "1,103 ms", old="1.103 ms")),
    ("netperf.tcp_rr", "netperf/02-tcp_rr-omni-csv.txt", garbled("", ",nan,", old=",783.80,")),
    ("osu.allreduce", "osu/25-polaris-host-allreduce-v5.3-64rank.dat", garbled("", "4 54241", old="454241")),
    ("osu.allreduce", "osu/10-two-allreduce-tables-one-file.out", beginning_at("^64 ")),
    ("imb.biband", "imb/09-biband-ompi4-multi-groups.out", beginning_at(r"^ +64 ")),
    ("gromacs.water", "gromacs/06-v2025.3-ok-md.log", without("^ Average load imbalance:")),
    ("gromacs.water", "gromacs/12-2018.2-archer-0.5nsday.log", without("^ Average load imbalance:")),
    ("lammps.lj", "lammps/08-eks-gpu-kokkos-null.out", without("% CPU use")),
    ("namd.apoa1", "namd/07-v2.11-ubq_ws_eq.log", beginning_at("^ENERGY: +1800 ")),
    ("openfoam.motorbike", "openfoam/09-log.simpleFoam-org8", beginning_at("^Time = 10$")),
    ("imb.pingpong", "imb/07-pingpong-ompi4-ucx.out", without(r"^ +1 +1000 ")),
]


@pytest.mark.parametrize(("workload", "name", "damage"), DAMAGED)
def test_a_gap_in_real_output_is_reported(workload: str, name: str, damage: Damage) -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"no collection of real benchmark output at {CORPUS}")
    text = (CORPUS / name).read_text(errors="replace")
    whole = parse(workload, text)
    assert (whole.is_complete, whole.problems) == (True, ())
    damaged = "".join(damage(text.splitlines(keepends=True)))
    assert damaged != text
    parsed = parse(workload, damaged)
    assert not parsed.is_complete or parsed.problems


def test_threads_of_gromacs_own_mpi_are_ranks() -> None:
    log = "Log file opened on Sun\nUsing 2 MPI threads\nUsing 1 OpenMP thread per tMPI thread\n"
    printed = parse("gromacs.water", log).printed
    assert (printed["ranks"], printed["thread_mpi_ranks"]) == ((2,), (2,))


@pytest.mark.parametrize("interface", ["HDF5-1.8.16 (Parallel)", "HDF5"])
def test_iors_interface_is_named_without_its_version(interface: str) -> None:
    head = "IOR-3.0.1: MPI Coordinated Test of Parallel I/O\nTest 0 started: now\nSummary:\n"
    text = f"{head}\tapi  = {interface}\n"
    assert parse("ior", text).printed["api"] == ("HDF5",)
