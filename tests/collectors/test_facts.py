from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tare.plugins.collectors import cpu, limits, memory, mpi, nics, programs
from tare.plugins.collectors.facts import collect_facts, facts_script, probe_script, read_facts
from tare.plugins.collectors.facts import sources as fact_sources
from tare.plugins.collectors.source import Facts, Source, Subject
from tare.probes.records import read_records

TWO_SOCKETS = "".join(
    f"processor\t: {n}\nmodel name\t: Xeon 6430\nphysical id\t: {n // 4}\ncore id\t: {n // 2 % 2}\n\n"
    for n in range(8)
)


IFORT = (
    "Intel(R) Fortran Intel(R) 64 Compiler Classic for applications running on Intel(R) 64, Version 2021.10.0"
)


def ask(sources: tuple[Source, ...], subject: Subject | None = None) -> dict[str, str]:
    script = probe_script(sources, subject or Subject())
    output = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True)
    assert output.stderr == b""
    return read_records(output.stdout.decode())


def test_the_facts_of_this_machine_are_those_of_the_kernel() -> None:
    facts = collect_facts(read_records(run_script(facts_script(Subject()))))
    assert facts["kernel.release"] == Path("/proc/sys/kernel/osrelease").read_text().strip()
    assert not [fact for fact in facts if fact.startswith("not recorded")]
    assert not [fact for fact in facts if fact.startswith("nic.lo.")]


def test_what_may_be_run_on_and_before_others_is_reported() -> None:
    facts = collect_facts(read_records(run_script(facts_script(Subject()))))
    assert facts["affinity.cpus"]
    assert facts["priority.nice"].lstrip("-").isdigit()
    if Path("/proc/self/autogroup").exists():
        assert facts["priority.may_boost"] == ("yes" if os.geteuid() == 0 else "no")


def test_two_queries_of_one_machine_have_the_same_facts() -> None:
    script = facts_script(Subject(programs=("sh",)))
    assert collect_facts(read_records(run_script(script))) == collect_facts(read_records(run_script(script)))


def run_script(script: str) -> str:
    return subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False).stdout


def test_topology_is_counted_from_sockets_and_cores() -> None:
    facts = cpu.SOURCE.read({"/proc/cpuinfo": TWO_SOCKETS})
    assert (facts["cpu.sockets"], facts["cpu.cores"], facts["cpu.threads_per_core"]) == ("2", "4", "2")
    assert facts["cpu.model"] == "Xeon 6430"


def test_a_governor_that_is_not_the_same_on_all_cores_is_counted() -> None:
    path = "/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor"
    texts = {path.format(n): "powersave\n" if n == 3 else "performance\n" for n in range(4)}
    assert cpu.SOURCE.read(texts)["cpu.governor"] == "performance × 3, powersave × 1"


def test_memory_of_two_numa_nodes() -> None:
    node = "/sys/devices/system/node"
    texts = {
        f"{node}/node0/cpulist": "0-3\n",
        f"{node}/node1/cpulist": "4-7\n",
        "/proc/meminfo": "MemTotal: 8 kB\n",
    }
    facts = memory.SOURCE.read(texts)
    assert (facts["numa.nodes"], facts["numa.node1.cpus"], facts["memory.kib"]) == ("2", "4-7", "8")


def test_nics_have_driver_firmware_speed_and_mtu_but_not_those_of_containers() -> None:
    texts = {
        "/sys/class/net/ib0/mtu": "4092\n",
        "/sys/class/net/ib0/speed": "100000\n",
        "/sys/class/net/cali123/mtu": "1450\n",
        "driver ib0": "driver: mlx5_core\nversion: 5.8\nfirmware-version: 16.35.2000 (MT_08)\n",
        "/sys/class/infiniband/mlx5_0/fw_ver": "16.35.2000\n",
        "/sys/class/infiniband/mlx5_0/ports/1/rate": "100 Gb/sec (4X EDR)\n",
    }
    assert nics.SOURCE.read(texts) == {
        "nic.ib0.mtu": "4092",
        "nic.ib0.speed": "100000",
        "nic.ib0.driver": "mlx5_core",
        "nic.ib0.driver_version": "5.8",
        "nic.ib0.firmware": "16.35.2000 (MT_08)",
        "rdma.mlx5_0.firmware": "16.35.2000",
        "rdma.mlx5_0.type": "",
        "rdma.mlx5_0.board": "",
        "rdma.mlx5_0.port1.rate": "100 Gb/sec (4X EDR)",
    }


def test_limits_are_the_soft_ones() -> None:
    text = (
        "Limit              Soft Limit  Hard Limit  Units\nMax locked memory  65536       unlimited   bytes\n"
    )
    assert limits.SOURCE.read({"/proc/self/limits": text})["limit.locked_memory"] == "65536"


def ask_limits(folder: Path, groups: str, files: Mapping[str, str]) -> Facts:
    """Return the limits of a process in these control groups, whose files lie below `folder`."""
    (folder / "cgroup").write_text(groups)
    for name, text in files.items():
        path = folder / "fs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    script = limits.SOURCE.script.replace("/proc/self/cgroup", str(folder / "cgroup"))
    script = script.replace("/sys/fs/cgroup", str(folder / "fs"))
    facts = limits.SOURCE.read(ask((Source("limits", script, limits.SOURCE.read),)))
    return {name: value for name, value in facts.items() if name.startswith("cgroup")}


def test_a_limit_of_a_group_above_holds_for_those_below_it(tmp_path: Path) -> None:
    files = {
        "memory.max": "max\n",
        "job/memory.max": "1000\n",
        "job/step/memory.max": "max\n",
        "job/cpu.max": "400000 100000\n",
        "job/step/cpu.max": "20000 10000\n",
        "cpuset.cpus.effective": "0-63\n",
        "job/step/cpuset.cpus.effective": "0-3\n",
    }
    assert ask_limits(tmp_path, "0::/job/step\n", files) == {
        "cgroup.memory.max": "1000",
        "cgroup.cpu.max": "20000 10000",
        "cgroup.cpuset.cpus.effective": "0-3",
    }


def test_limits_of_control_groups_of_version_1_read_like_those_of_version_2(tmp_path: Path) -> None:
    groups = "5:cpu,cpuacct:/job\n4:memory:/job/step\n3:cpuset:/job\n1:name=systemd:/\n0::/\n"
    files = {
        "cpu/job/cpu.cfs_quota_us": "-1\n",
        "cpu/job/cpu.cfs_period_us": "100000\n",
        "memory/memory.limit_in_bytes": "9223372036854771712\n",
        "memory/job/memory.limit_in_bytes": "4096000\n",
        "memory/job/step/memory.limit_in_bytes": "9223372036854771712\n",
        "cpuset/job/cpuset.effective_cpus": "2-3\n",
    }
    assert ask_limits(tmp_path, groups, files) == {
        "cgroup.cpu.max": "max 100000",
        "cgroup.memory.max": "4096000",
        "cgroup.cpuset.cpus.effective": "2-3",
    }


def test_the_version_of_mpich_is_below_its_banner() -> None:
    output = "HYDRA build details:\n    Version:                                 4.2.3\n    CC: gcc\n"
    assert mpi.SOURCE.read({"mpirun": output})["mpi.version"] == "hydra 4.2.3"


def test_an_mpi_of_pypi_reports_its_package_and_version(tmp_path: Path) -> None:
    """What starts ranks says only the year: Intel's package has more releases than that."""
    packages = tmp_path / "lib/python3.11/site-packages"
    for name in ("impi_rt-2021.18.1", "pip-26.3", "setuptools-65.5.0"):
        (packages / f"{name}.dist-info").mkdir(parents=True)

    facts = mpi.SOURCE.read(ask((mpi.SOURCE,), Subject(prefix=str(tmp_path))))

    assert facts["mpi.packages"] == "impi_rt 2021.18.1"
    assert "mpi.packages" not in mpi.SOURCE.read(ask((mpi.SOURCE,), Subject(prefix="")))


def test_a_program_is_known_to_the_byte_with_its_libraries() -> None:
    facts = programs.SOURCE.read(
        ask((programs.SOURCE,), Subject(programs=(sys.executable, "no-such-program")))
    )
    name = Path(sys.executable).name
    assert len(facts[f"program.{name}.sha256"]) == 64
    assert "sha256:" in facts["library.libc.so.6"]
    assert not [fact for fact in facts if "no-such-program" in fact]


def test_a_program_reports_each_compiler_that_made_a_part_of_it(tmp_path: Path) -> None:
    program = tmp_path / "app"
    program.write_text(
        "#!/bin/sh -e\n\0GCC: (GNU) 4.8.5 20150623 (Red Hat 4.8.5-44)\0"
        "Intel(R) oneAPI DPC++/C++ Compiler 2024.1.0 (2024.1.0.20240213)  --driver-mode=g++\0"
        f"{IFORT} Build 20230609\0"
    )
    program.chmod(0o755)
    facts = programs.SOURCE.read(ask((programs.SOURCE,), Subject(programs=(str(program),))))
    assert facts["program.app.compiler"].split("; ") == [
        "GCC: (GNU) 4.8.5",
        IFORT,
        "Intel(R) oneAPI DPC++/C++ Compiler 2024.1.0",
    ]
    assert facts["program.app.interpreter"] == "/bin/sh -e"
    assert "program.app.linked" not in facts


def test_a_program_without_libraries_is_reported() -> None:
    texts = {"program /x/app": "/x/app\n\tnot a dynamic executable\n", "digests": "ab  /x/app\n"}
    facts = programs.SOURCE.read(texts)
    assert (facts["program.app.linked"], facts["program.app.sha256"]) == ("statically", "ab")


def test_files_may_have_blanks_in_their_paths() -> None:
    library = "/opt/my libs/libq.so"
    texts = {
        "program /x/my app": f"/x/my app\n\tlibq.so => {library} (0x00007f)\n",
        "digests": f"12  /x/my app\n34  {library}\n",
    }
    facts = programs.SOURCE.read(texts)
    assert facts["program.my app.sha256"] == "12"
    assert facts["library.libq.so"] == f"{library} sha256:34"


def test_a_library_that_is_not_found_is_reported() -> None:
    texts = {"program /x/app": "/x/app\n\tlibmpi.so.40 => not found\n", "digests": ""}
    assert programs.SOURCE.read(texts)["library.libmpi.so.40"] == "not found"


def broken(records: Mapping[str, str]) -> Facts:
    raise KeyError("nothing there")


def test_a_source_that_fails_is_recorded_and_stops_no_other() -> None:
    sources = (
        Source("first", "echo broken >&2; exit 3", broken),
        Source(
            "second", "capture greeting echo hello", lambda records: {"greeting": records["greeting"].strip()}
        ),
    )
    facts = read_facts(sources, ask(sources))
    assert facts == {"not recorded.first": "KeyError: 'nothing there'", "greeting": "hello"}


def test_a_node_that_is_cut_off_gives_the_sources_that_it_got_to() -> None:
    whole = run_script(facts_script(Subject()))
    half = collect_facts(read_records(whole[: len(whole) // 2]))
    assert half
    assert half.items() <= collect_facts(read_records(whole)).items()


def test_facts_have_nothing_in_them_that_a_terminal_obeys() -> None:
    source = Source("odd", "", lambda records: {"nic.\x1b[2J": "a\x9b2Jb\r\n"})
    (fact,) = read_facts((source,), {"end of odd": "\n"}).items()
    assert fact == ("nic. [2J", "a 2Jb  ")


def test_every_source_has_a_name_of_its_own() -> None:
    assert len({source.name for source in fact_sources()}) == len(fact_sources())
