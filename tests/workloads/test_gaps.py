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
]


@pytest.mark.parametrize(("workload", "name", "damage"), DAMAGED)
def test_a_gap_in_real_output_is_reported(workload: str, name: str, damage: Damage) -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"no collection of real benchmark output at {CORPUS}")
    text = (CORPUS / name).read_text(errors="replace")
    whole = parse(workload, text)
    assert (whole.is_complete, whole.problems) == (True, ())
    parsed = parse(workload, "".join(damage(text.splitlines(keepends=True))))
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
