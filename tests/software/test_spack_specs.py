"""Specs that Spack loads before a program."""

from __future__ import annotations

from pathlib import Path

from software.programs import run
from support.spack import spack_double
from tare.core.software import Software
from tare.probes.software import faults_in, read_fault


def test_spack_loads_specs_by_its_shell_function(work: Path, tmp_path: Path) -> None:
    root = spack_double(tmp_path / "spack root")
    setup = f"export SPACK_ROOT='{root}'"
    layers = (Software(setup=setup, spack=("gromacs@2024", "+mpi", "cflags=-O3 -g")),)
    done = run(work, layers, "sh", "-c", "echo $SPACK_LOADED")
    assert done.stdout == "gromacs@2024 +mpi cflags=-O3 -g\n", done.stderr
    run(work, (Software(setup=setup, spack=("missing",)),), "true")
    (found,) = faults_in(work)
    assert found.describe().endswith("Spec 'missing' matches no installed packages")


def test_a_full_stop_of_spack_does_not_end_the_sentence_of_tare() -> None:
    said = "==> Error: Spec 'none' matches no installed packages."
    words = read_fault(f"spack load none\nn1\n1\n{said}").sentence
    assert words == "spack load none failed: Spec 'none' matches no installed packages"


AMBIGUOUS = """\
\x1b[1;31m==>\x1b[0m Error: zlib matches multiple packages.
  Matching packages:
    \x1b[0;90mmcybs4z\x1b[0m zlib\x1b[0;36m@1.2.13\x1b[0m\x1b[0;32m%gcc\x1b[0m\x1b[0;32m@12.2.0\x1b[0m
    \x1b[0;90mtor2uzb\x1b[0m zlib\x1b[0;36m@1.3\x1b[0m\x1b[0;32m%gcc\x1b[0m\x1b[0;32m@12.2.0\x1b[0m
  Use a more specific spec (e.g., prepend '/' to the hash).
"""
"""What Spack 0.23 prints of `spack load zlib` where two versions are installed."""


def test_a_spec_of_several_packages_is_a_fault_that_names_them() -> None:
    words = read_fault(f"spack load zlib\nn1\n1\n{AMBIGUOUS}").sentence
    assert words == (
        "spack load zlib failed: zlib matches multiple packages. Matching packages: "
        "mcybs4z zlib@1.2.13%gcc@12.2.0 tor2uzb zlib@1.3%gcc@12.2.0 "
        "Use a more specific spec (e.g., prepend '/' to the hash)"
    )
