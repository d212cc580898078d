from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tare.collectors import cpu, limits, memory, mpi, nics, programs
from tare.collectors.facts import SOURCES, collect_facts, facts_script
from tare.collectors.probe import probe_script, read_facts, read_records
from tare.collectors.source import Facts, Source, Subject

TWO_SOCKETS = "".join(
    f"processor\t: {n}\nmodel name\t: Xeon 6430\nphysical id\t: {n // 4}\ncore id\t: {n // 2 % 2}\n\n"
    for n in range(8)
)


def ask(sources: tuple[Source, ...], subject: Subject | None = None) -> dict[str, str]:
    script = probe_script(sources, subject or Subject())
    said = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True)
    assert said.stderr == b""
    return read_records(said.stdout.decode())


def test_this_machine_tells_what_the_kernel_tells() -> None:
    facts = collect_facts(read_records(run_script(facts_script(Subject()))))
    assert facts["kernel.release"] == Path("/proc/sys/kernel/osrelease").read_text().strip()
    assert not [fact for fact in facts if fact.startswith("not recorded")]
    assert not [fact for fact in facts if fact.startswith("nic.lo.")]


def test_two_answers_of_one_machine_are_the_same() -> None:
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


def test_the_version_of_mpich_is_below_its_banner() -> None:
    said = "HYDRA build details:\n    Version:                                 4.2.3\n    CC: gcc\n"
    assert mpi.SOURCE.read({"mpirun": said})["mpi.version"] == "hydra 4.2.3"


def test_a_program_is_known_to_the_byte_with_its_libraries() -> None:
    facts = programs.SOURCE.read(
        ask((programs.SOURCE,), Subject(programs=(sys.executable, "no-such-program")))
    )
    name = Path(sys.executable).name
    assert len(facts[f"program.{name}.sha256"]) == 64
    assert "sha256:" in facts["library.libc.so.6"]
    assert not [fact for fact in facts if "no-such-program" in fact]


def test_a_library_that_is_not_found_says_so() -> None:
    texts = {"program /x/app": "/x/app\n\tlibmpi.so.40 => not found\n", "digests": ""}
    assert programs.SOURCE.read(texts)["library.libmpi.so.40"] == "not found"


def broken(answers: Mapping[str, str]) -> Facts:
    raise KeyError("nothing there")


def test_a_source_that_fails_is_recorded_and_stops_no_other() -> None:
    sources = (
        Source("first", "echo broken >&2; exit 3", broken),
        Source(
            "second", "told greeting echo hello", lambda answers: {"greeting": answers["greeting"].strip()}
        ),
    )
    facts = read_facts(sources, ask(sources))
    assert facts == {"not recorded.first": "KeyError: 'nothing there'", "greeting": "hello"}


def test_a_node_that_is_cut_off_gives_the_sources_that_it_got_to() -> None:
    whole = run_script(facts_script(Subject()))
    half = collect_facts(read_records(whole[: len(whole) // 2]))
    assert half
    assert half.items() <= collect_facts(read_records(whole)).items()


def test_every_source_has_a_name_of_its_own() -> None:
    assert len({source.name for source in SOURCES}) == len(SOURCES)
