"""The transport reports of real MPI libraries, and how they are judged.

transport_reports/*.txt are the outputs of Open MPI, UCX, libfabric and Intel MPI in the lab, with folders
renamed; those of libfabric 1.17 lack the variables that are not set. fab0 to fab2 and mgmt0 join n1 and n2.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.doubles import DoubleWorkload
from tare.core.attempt import State
from tare.core.case import Case, Layout
from tare.core.site import Network, Platform, Site
from tare.core.workload import Stage
from tare.execution.compose import Composer
from tare.execution.outcome import judge_reports
from tare.execution.transport_reports.gathering import gather, read_reports
from tare.execution.transport_reports.libraries import intelmpi, libfabric, openmpi, ucx
from tare.execution.transport_reports.report import TransportReport
from tare.execution.transport_reports.verdict import contradiction, describe, named_devices
from tare.plugins import registry
from tare.probes.placement import ASKED, reports_folder

RECORDINGS = Path(__file__).with_name("transport_reports")
FAB = Network(interface="fab0")

EXPECTED = {
    "openmpi-4.1.4-tcp": (openmpi, "Open MPI: tcp over fab0"),
    "openmpi-5-tcp-4-ranks": (openmpi, "Open MPI: tcp over fab0"),
    "openmpi-4.1.4-tcp-any-interface": (openmpi, "Open MPI: tcp"),
    "ucx-1.13.1-tcp": (ucx, "UCX: tcp over fab0"),
    "ucx-1.20.1-tcp-4-ranks": (ucx, "UCX: tcp over fab0"),
    "ucx-1.20.1-any-interface": (ucx, "UCX: tcp over fab0, fab1, fab2, mgmt0"),
    "intelmpi-2021.18-libfabric-tcp": (libfabric, "libfabric: tcp over fab0"),
    "intelmpi-2021.18-debug-5": (intelmpi, "Intel MPI: tcp over fab0"),
    "libfabric-1.17-any-interface": (libfabric, ""),
}


def reports_of(name: str) -> list[TransportReport]:
    library, _ = EXPECTED[name]
    return [
        report
        for line in (RECORDINGS / f"{name}.txt").read_text().splitlines()
        for report in library.parse(line)
    ]


@pytest.mark.parametrize("name", EXPECTED)
def test_a_real_library_is_understood(name: str) -> None:
    assert describe(reports_of(name)) == EXPECTED[name][1]


@pytest.mark.parametrize("name", [name for name in EXPECTED if "debug" not in name and "1.17" not in name])
def test_all_lines_that_a_verbose_library_prints_are_recognized_as_chatter(name: str) -> None:
    library, _ = EXPECTED[name]
    left = [
        line for line in (RECORDINGS / f"{name}.txt").read_text().splitlines() if not library.is_chatter(line)
    ]
    assert [line for line in left if "plm:rsh: Warning" not in line] == []


def test_every_recording_is_tested() -> None:
    assert {path.stem for path in RECORDINGS.iterdir()} == set(EXPECTED)


@pytest.mark.parametrize(
    "name", [name for name, (_, reason) in EXPECTED.items() if reason.endswith("tcp over fab0")]
)
def test_the_network_that_was_asked_for_is_no_contradiction(name: str) -> None:
    assert contradiction(FAB, reports_of(name)) is None


def test_further_interfaces_are_a_contradiction() -> None:
    assert contradiction(FAB, reports_of("ucx-1.20.1-any-interface")) == (
        "UCX chose fab1, fab2, mgmt0 for tcp, and the network is fab0"
    )


def test_another_interface_is_a_contradiction() -> None:
    reason = contradiction(Network(interface="eth9"), reports_of("openmpi-4.1.4-tcp"))
    assert reason == "Open MPI chose fab0 for tcp, and the network is eth9"


@pytest.mark.parametrize("provider", ["verbs", "mlx", "psm3", "efa"])
def test_tcp_on_an_rdma_network_is_a_contradiction(provider: str) -> None:
    reason = contradiction(
        Network(interface="fab0", provider=provider), reports_of("intelmpi-2021.18-libfabric-tcp")
    )
    assert reason == f"libfabric chose tcp, and the network asks for {provider}"


def test_only_shared_memory_is_a_contradiction() -> None:
    local = [one for one in reports_of("ucx-1.20.1-tcp-4-ranks") if one.is_local]
    reason = contradiction(FAB, local)
    assert reason == "UCX chose no way between nodes, only shared memory within them"


def test_an_infiniband_device_goes_by_a_name_of_its_own() -> None:
    line = "[1.2] [n1:1   :0] ucp_worker.c:1763 UCX  INFO    ep_cfg[1]: tag(rc_mlx5/mlx5_0:1)"
    reports = list(ucx.parse(line))
    assert describe(reports) == "UCX: rc_mlx5 over mlx5_0:1"
    assert contradiction(Network(interface="ib0", provider="verbs"), reports) is None
    assert contradiction(FAB, reports) == "UCX chose rc_mlx5, and the network asks for tcp"


def test_a_device_is_compared_with_those_that_the_site_names() -> None:
    line = "[1.2] [n1:1   :0] ucp_worker.c:1763 UCX  INFO    ep_cfg[1]: tag(rc_mlx5/mlx5_1:1)"
    reports, network = list(ucx.parse(line)), Network(interface="ib0", provider="verbs")
    reason = contradiction(network, reports, devices=named_devices({"UCX_NET_DEVICES": "mlx5_0:1,mlx5_2"}))
    assert reason == "UCX chose the device mlx5_1:1, and the site names mlx5_0:1, mlx5_2"
    for names in ("mlx5_0:1, mlx5_1:1", "mlx5_1", "all", "^mlx5_0:1", ""):
        assert contradiction(network, reports, devices=named_devices({"UCX_NET_DEVICES": names})) is None


def test_only_shared_memory_is_no_contradiction_if_some_ranks_were_not_asked() -> None:
    """Others may have talked between the nodes."""
    local = [one for one in reports_of("ucx-1.20.1-tcp-4-ranks") if one.is_local]
    assert contradiction(FAB, local, are_all_asked=False) is None
    everything = reports_of("openmpi-4.1.4-tcp")
    assert contradiction(Network(interface="eth9"), everything, are_all_asked=False) is not None


def test_a_library_without_reports_neither_proves_nor_disproves() -> None:
    assert describe([]) == ""
    assert contradiction(FAB, []) is None
    assert contradiction(FAB, reports_of("libfabric-1.17-any-interface")) is None


def attempt_folder(tmp_path: Path, stderr: str, **files: str) -> Path:
    """Return the folder of an attempt whose one stage, run, has ended."""
    folder = tmp_path / reports_folder("run")
    folder.mkdir(parents=True)
    for name, text in {ASKED: "", **files}.items():
        (folder / name).write_text(text)
    (tmp_path / "stderr").write_text(stderr)
    (tmp_path / "stdout").write_text("value: 1\n")
    return tmp_path


def test_the_program_keeps_its_standard_error_for_itself(tmp_path: Path) -> None:
    chatter = (RECORDINGS / "intelmpi-2021.18-libfabric-tcp.txt").read_text().splitlines(keepends=True)
    work = attempt_folder(tmp_path, "".join([*chatter[:50], "my own warning\n", *chatter[50:]]))
    gather(work, "run", "stdout", "stderr")
    assert (work / "stderr").read_text() == "my own warning\n"
    assert describe(read_reports(work, "run")) == "libfabric: tcp over fab0"


def test_what_is_kept_does_not_grow_with_ranks(tmp_path: Path) -> None:
    chatter = (RECORDINGS / "openmpi-5-tcp-4-ranks.txt").read_text()
    work = attempt_folder(tmp_path, chatter * 50)
    gather(work, "run", "stdout", "stderr")
    kept = (work / "transport/run.txt").read_text().splitlines()
    assert len(kept) == 8  # of each of two hosts: self, sm, tcp, and the interface
    assert describe(read_reports(work, "run")) == "Open MPI: tcp over fab0"


def test_errors_in_the_log_file_of_ucx_are_appended_to_standard_error(tmp_path: Path) -> None:
    complaint = "[1.2] [n1:1   :0] ucp_context.c:1 UCX  ERROR no active messages transport to n2\n"
    work = attempt_folder(
        tmp_path, "", **{"ucx-n1-1": (RECORDINGS / "ucx-1.13.1-tcp.txt").read_text() + complaint}
    )
    gather(work, "run", "stdout", "stderr")
    assert (work / "stderr").read_text() == complaint
    assert not (work / "transport/run").exists()


def test_errors_of_open_mpi_and_warnings_of_libfabric_stay(tmp_path: Path) -> None:
    errors = (
        "[n1:00015] *** An error occurred in MPI_Send\n"
        "[n1:00015] btl:tcp: connect() to 10.0.0.2:1024 failed: Connection refused (111)\n"
        "libfabric:7:1795319140::tcp:core:ofi_bind():9<warn> address in use\n"
    )
    work = attempt_folder(tmp_path, errors)
    gather(work, "run", "stdout", "stderr")
    assert (work / "stderr").read_text() == errors
    assert not (work / "transport/run.txt").exists()


def test_bytes_that_are_no_text_pass_through(tmp_path: Path) -> None:
    work = attempt_folder(tmp_path, "")
    (work / "stderr").write_bytes(
        b"\xff\xfe\n[n1:1] mca: bml: Using tcp btl for send to [[1,1],1] on node n2\n\x80"
    )
    gather(work, "run", "stdout", "stderr")
    assert (work / "stderr").read_bytes() == b"\xff\xfe\n\x80"


def test_where_no_library_was_asked_nothing_is_touched(tmp_path: Path) -> None:
    text = "libfabric:7:1::core:core:fi_fabric_():1<info> Using tcp provider 2.4\n"
    (tmp_path / "stderr").write_text(text)
    gather(tmp_path, "run", "stdout", "stderr")
    assert (tmp_path / "stderr").read_text() == text
    assert read_reports(tmp_path, "run") == ()


def test_the_number_of_asked_ranks_is_reported(tmp_path: Path) -> None:
    site = Site(
        name="s",
        nodes=("n1", "n2"),
        platforms={"bare": Platform(launcher="openmpi4", env={"UCX_NET_DEVICES": "mlx5_0:1"})},
        networks={"ib": Network(interface="ib0", provider="verbs")},
    )
    workloads = {"double": DoubleWorkload(stage_list=(Stage(argv=("app",)),), needs_transport=True)}
    composer = Composer(site, workloads, registry.launcher, registry.runtime)
    case = Case(id="ab", workload="double", platform="bare", network="ib", layout=Layout(2, 256, 128))
    (tmp_path / "transport").mkdir()
    attempt_folder = "[1.2] [n1:1   :0] ucp_worker.c:1763 UCX  INFO    ep_cfg[1]: tag(rc_mlx5/mlx5_0:1)\n"
    (tmp_path / "transport/run.txt").write_text(attempt_folder)
    chosen, outcome, is_confirmed = judge_reports(case, composer, tmp_path)
    assert chosen == "UCX: rc_mlx5 over mlx5_0:1; 64 of 256 ranks were asked"
    assert (outcome.state, is_confirmed) == (State.DONE, True)
    (tmp_path / "transport/run.txt").write_text(attempt_folder.replace("mlx5_0:1", "mlx5_1:1"))
    _, outcome, _ = judge_reports(case, composer, tmp_path)
    assert outcome.reason == "UCX chose the device mlx5_1:1, and the site names mlx5_0:1"
