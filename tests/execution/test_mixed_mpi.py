"""Mixing mpirun of the host with another Open MPI in a container, and what proves which MPI ran."""

from __future__ import annotations

import io

import pytest

from tare.app.mixed_mpi import find_mixed, is_candidate
from tare.core.containers import ContainerOptions, ContainerShape
from tare.core.site import Platform
from tare.execution.printed_settings import contradictions, requested_settings
from tare.plugins import registry
from tare.plugins.collectors.images import SOURCE, installed_mpis
from tare.plugins.workloads.microbench.output import mpi_name
from workloads.cases import case_of

TRIXIE = """\
Package: libopenmpi40
Status: install ok installed
Version: 5.0.7-1
"""
BULLSEYE = """\
Package: libopenmpi3
Status: install ok installed
Version: 4.1.0-10
"""
DEBIAN = "orterun (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n"
BOX = Platform(
    launcher="openmpi4",
    prefix="/usr",
    runtime="charliecloud",
    container=ContainerOptions(rootfs="/images/box"),
)
HEADER = (
    '{"tare":"header","version":1,"source":"x","mpi":"Open MPI v5.0.7, package: Debian","ranks":2,'
    '"hosts":["n1","n2"],"clock":"c","clock_resolution_ns":1,"clock_overhead_ns":1.0,"iterations":9,'
    '"time_limit_s":1,"min_bytes":1,"max_bytes":64,"operations":["alltoall"]}\n'
)


def row(size: int, mean: float) -> str:
    return (
        f'{{"tare":"row","op":"alltoall","bytes":{size},"unit":"us","n":9,"min":1.0,"p50":1.0,"max":99.0,'
        f'"mean":{mean}}}\n'
    )


@pytest.mark.parametrize(
    ("packages", "fault", "is_note"),
    [
        (TRIXIE, "mpirun of the host is Open MPI 4.1.4, and its ranks would run with Open MPI 5.0.7", False),
        (BULLSEYE, "mpirun of the host is Open MPI 4.1.4, and its ranks would run with Open MPI 4.1.0", True),
    ],
)
def test_another_open_mpi_in_the_container_is_found(packages: str, fault: str, is_note: bool) -> None:
    mixed = find_mixed(BOX, f"{DEBIAN}packages:\n{packages}")
    assert mixed is not None
    assert mixed.fault.startswith(fault)
    assert mixed.is_note is is_note
    assert "launcher srun" in mixed.cure


@pytest.mark.parametrize(
    "packages", [TRIXIE.replace("5.0.7", "4.1.4"), "", TRIXIE.replace("ok installed", "ok config-files")]
)
def test_the_same_or_an_unknown_mpi_is_no_fault(packages: str) -> None:
    assert find_mixed(BOX, f"{DEBIAN}packages:\n{packages}") is None
    assert find_mixed(BOX, f"packages:\n{TRIXIE}") is None


def test_containers_with_the_hosts_mpi_or_with_their_own_mpirun_do_not_mix() -> None:
    def platform(launcher: str = "openmpi4", **options: object) -> Platform:
        box = ContainerOptions(rootfs="/images/box", **options)  # type: ignore[arg-type]  # by name
        return Platform(launcher=launcher, prefix="/opt/mpi", runtime="podman", container=box)

    assert is_candidate(platform())
    assert not is_candidate(platform(binds=("/opt/mpi",)))
    assert not is_candidate(platform(shape=ContainerShape.NODE))
    assert not is_candidate(platform("srun"))
    assert not is_candidate(Platform(launcher="openmpi4"))


def test_a_root_file_system_reports_its_mpi_and_distribution() -> None:
    assert installed_mpis(BULLSEYE.splitlines()) == {"Open MPI 4.1.0": "libopenmpi3 4.1.0-10"}
    facts = SOURCE.read({"release": 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\n', "mpi": TRIXIE})
    assert facts == {
        "platform.image_distribution": "Debian GNU/Linux 13 (trixie)",
        "platform.image_mpi": "Open MPI 5.0.7 (libopenmpi40 5.0.7-1)",
    }


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Open MPI v5.0.7, package: Debian OpenMPI, ident: 5.0.7", "Open MPI 5.0.7"),
        ("MPICH Version:      4.0.2", "MPICH 4.0.2"),
        ("Intel(R) MPI Library 2021.11 for Linux* OS", "Intel MPI 2021.11"),
        ("something else, of ours", "something else"),
    ],
)
def test_an_mpi_has_the_same_short_name_wherever_it_reports_it(text: str, name: str) -> None:
    assert mpi_name(text) == name


def test_a_run_with_another_mpi_than_its_platform_states_is_contradicted() -> None:
    workload = registry.workloads()["tare.collectives"]
    sizes = (1, 2, 4, 8, 16, 32, 64)
    lines = [HEADER, *(row(size, 2.0 + size) for size in sizes), '{"tare":"end","rows":7}\n']
    parsed = workload.parse(io.StringIO("".join(lines)))
    assert parsed.printed["mpi"] == ("Open MPI 5.0.7",)
    (mean,) = [one for one in parsed.measurements if one.fom == "time_small_mean"]
    assert mean.value == pytest.approx(2 + 127 / 7, abs=1e-6)
    assert mean.at == {"op": "alltoall"}
    case = case_of(workload)

    def found(mpi: str | None) -> list[str]:
        requested = requested_settings(workload, case, Platform(mpi=mpi))
        return [one for one in contradictions(workload, parsed, requested, "asked for") if "mpi" in one]

    assert found(None) == found("Open MPI 5.0.7") == []
    assert found("Open MPI 4.1.0") == [
        "tare.collectives printed mpi Open MPI 5.0.7, and Open MPI 4.1.0 was asked for"
    ]


def test_a_mean_over_small_messages_needs_all_of_them() -> None:
    workload = registry.workloads()["tare.collectives"]
    lines = [HEADER, *(row(size, 2.0) for size in (1, 2, 4)), '{"tare":"end","rows":3}\n']
    parsed = workload.parse(io.StringIO("".join(lines)))
    assert "time_small_mean" not in {one.fom for one in parsed.measurements}
