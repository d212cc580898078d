"""A lab comes up whole and vanishes whole, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from lab.calls import Hosts
from tare.core.errors import LabError, UsageError
from tare.core.site import LabNetwork, LabNetworkKind, LabSpec
from tare.lab import Lab, find, start, state
from tare.plugins.backends.process.orphans import set_subreaper

pytestmark = pytest.mark.lab

PATIENCE_S = 20.0


def eventually(is_so: Callable[[], bool]) -> bool:
    """Wait for something that the kernel does in its own time."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


class Trace:
    """What a running lab has in the kernel: processes that carry its mark, and its namespaces."""

    def __init__(self, lab: Lab) -> None:
        self._mark = str(lab.folder).encode()
        self._namespaces = {
            Path(f"/proc/{pid}/ns/{kind}").readlink()
            for pid in (lab.holder_pid, *lab.record.pids.values())
            for kind in ("net", "mnt", "pid", "ipc", "uts")
        }

    def processes(self) -> list[int]:
        """Find those that have the mark in their command line or environment, or are in a namespace."""
        return [int(process.name) for process in Path("/proc").glob("[0-9]*") if self._is_of_the_lab(process)]

    def _is_of_the_lab(self, process: Path) -> bool:
        try:
            if self._mark in (process / "cmdline").read_bytes() + (process / "environ").read_bytes():
                return True
            return any(entry.readlink() in self._namespaces for entry in (process / "ns").iterdir())
        except OSError:  # it has ended, or is not ours and so not of the lab
            return False

    def has_vanished(self) -> bool:
        """Return whether nothing is left: a namespace without processes takes its links and mounts along."""
        return not self.processes()


@pytest.fixture
def two_nodes() -> LabSpec:
    return LabSpec(nodes=2, networks={"host": LabNetwork(kind=LabNetworkKind.BRIDGE)})


@pytest.fixture
def busy(run_folder: Path, two_nodes: LabSpec) -> Iterator[Lab]:
    """A lab with a process on each node that would never end by itself."""
    with start(two_nodes, owned=True) as lab:
        hosts = Hosts(lab)
        running = [
            hosts.start(node, "setsid nohup sleep 1000 & echo started; exec sleep 1000")
            for node in lab.spec.node_names
        ]
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == "started\n"
        yield lab
    for process in running:
        with process:
            pass


def test_stopping_a_lab_ends_everything_in_it(busy: Lab) -> None:
    trace = Trace(busy)
    assert len(trace.processes()) > len(busy.record.pids)

    busy.stop()

    assert trace.has_vanished()
    assert not busy.folder.exists()


def test_killing_the_holder_ends_everything_in_it(busy: Lab) -> None:
    trace = Trace(busy)

    os.kill(busy.holder_pid, signal.SIGKILL)

    assert eventually(trace.has_vanished)
    assert eventually(lambda: not busy.folder.exists())


def test_killing_the_holders_parent_ends_everything_in_it(busy: Lab) -> None:
    trace = Trace(busy)
    parent = int(Path(f"/proc/{busy.holder_pid}/stat").read_text().rpartition(")")[2].split()[1])

    os.kill(parent, signal.SIGKILL)

    assert eventually(trace.has_vanished)


def test_a_lab_that_lost_a_host_ends_instead_of_limping(busy: Lab) -> None:
    trace = Trace(busy)

    os.kill(busy.record.pids["n2"], signal.SIGKILL)

    assert eventually(trace.has_vanished)


def test_a_lab_whose_orphans_came_to_us_ends_at_once(two_nodes: LabSpec, run_folder: Path) -> None:
    """A process is not gone from its PID namespace before its parent took leave of it (pid_namespaces(7))."""
    was = set_subreaper(True)
    try:
        lab = start(two_nodes, owned=True)
        outside = subprocess.Popen(lab.command("n1", ["sleep", "600"]))
        (children,) = Path(f"/proc/{outside.pid}/task").glob("*/children")
        assert eventually(lambda: bool(children.read_text()))
        orphan = int(children.read_text())
        outside.kill()
        outside.wait()
        assert eventually(lambda: f"PPid:\t{os.getpid()}\n" in Path(f"/proc/{orphan}/status").read_text())
        began = time.monotonic()
        lab.stop()
        assert time.monotonic() - began < PATIENCE_S / 2, "it waited for what this process had to do"
        assert not Path(f"/proc/{orphan}").exists()
    finally:
        set_subreaper(was)


def test_asking_the_holder_to_end_ends_everything_in_it(busy: Lab) -> None:
    trace = Trace(busy)

    os.kill(busy.holder_pid, signal.SIGTERM)

    assert eventually(trace.has_vanished)


def test_an_owned_lab_ends_with_its_owner(run_folder: Path, two_nodes: LabSpec) -> None:
    program = (
        "import sys, time, msgspec; from tare.lab import start; from tare.core.site import LabSpec\n"
        "lab = start(msgspec.json.decode(sys.argv[1], type=LabSpec), owned=True)\n"
        "print(lab.folder, flush=True); time.sleep(1000)"
    )
    command = [sys.executable, "-P", "-c", program, msgspec.json.encode(two_nodes).decode()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        record = state.read(folder)
        assert record is not None
        trace = Trace(Lab(folder, record))
        owner.kill()

    assert eventually(trace.has_vanished)
    assert eventually(lambda: not folder.exists())


def test_a_named_lab_is_found_until_it_is_stopped(run_folder: Path, two_nodes: LabSpec) -> None:
    started = start(two_nodes, name="found", owned=False)
    try:
        assert find("found") == started
        assert find("other") is None
        assert find("found") == started
    finally:
        started.stop()

    assert find("found") is None


def test_a_name_is_given_once(run_folder: Path, two_nodes: LabSpec) -> None:
    with start(two_nodes, name="one", owned=False), pytest.raises(UsageError, match="up already"):
        start(two_nodes, name="one", owned=False)


def test_two_labs_live_side_by_side(run_folder: Path, two_nodes: LabSpec) -> None:
    with start(two_nodes, name="a", owned=False) as a, start(two_nodes, name="b", owned=True) as b:
        Hosts(a).call("n1", "touch /dev/shm/of-a")

        assert Hosts(a).exchange("n1", "n2", "n2.host", 100_000) > 0
        before = Hosts(a).sent_bytes("n1")
        assert Hosts(b).exchange("n1", "n2", "n2.host", 100_000) > 0

        assert Hosts(b).call("n1", "test -e /dev/shm/of-a").returncode == 1
        assert Hosts(a).sent_bytes("n1")["fab0"] - before["fab0"] < 1000


def test_the_state_of_a_killed_lab_is_cleaned(run_folder: Path, two_nodes: LabSpec) -> None:
    lab = start(two_nodes, name="killed", owned=False)
    os.kill(lab.holder_pid, signal.SIGKILL)
    assert eventually(lambda: not lab.is_running())

    assert find("killed") is None
    assert not lab.folder.exists()
    start(two_nodes, name="killed", owned=False).stop()


def test_a_process_that_has_the_pid_of_a_dead_holder_is_not_taken_for_it(
    run_folder: Path, two_nodes: LabSpec
) -> None:
    lab = start(two_nodes, name="reused", owned=False)
    lab.stop()
    impostor = state.ProcessIdentity.of(os.getpid())
    dead = msgspec.structs.replace(impostor, start_ticks=impostor.start_ticks - 1)
    lab.folder.mkdir()
    state.write(lab.folder, msgspec.structs.replace(lab.record, holder=dead), {}, state.FROM_OUTSIDE)

    assert find("reused") is None
    assert not lab.folder.exists()
    Lab(lab.folder, msgspec.structs.replace(lab.record, holder=dead)).stop()  # must not kill us


def test_a_lab_of_another_pid_namespace_is_left_alone(run_folder: Path, two_nodes: LabSpec) -> None:
    elsewhere = state.ProcessIdentity(pid=1, start_ticks=0, pid_namespace=1, boot="")
    folder = state.folder_of(state.base_folder(), "elsewhere")
    folder.mkdir()
    record = state.Record(
        name="elsewhere", spec=two_nodes, is_owned=False, started_at=0.0, holder=elsewhere, pids={}
    )
    state.write(folder, record, {}, state.FROM_OUTSIDE)

    assert find("elsewhere") is None
    start(two_nodes, owned=True).stop()
    assert folder.exists()
    with pytest.raises(LabError, match=rf"{folder}.* another PID namespace"):
        start(two_nodes, name="elsewhere", owned=False)


def test_a_lab_whose_record_cannot_be_read_is_left_alone(run_folder: Path, two_nodes: LabSpec) -> None:
    """Another version may have written it: its processes run, and only its folder says how to end them."""
    folder = state.folder_of(state.base_folder(), "newer")
    folder.mkdir()
    (folder / "lab.json").write_text('{"name": "newer", "holder": "of another form"}')

    assert find("newer") is None
    start(two_nodes, owned=True).stop()
    assert (folder / "lab.json").exists()
    with pytest.raises(LabError, match=r"newer/lab.json cannot be read.*remove"):
        start(two_nodes, name="newer", owned=False)


def test_a_process_with_the_pid_and_start_of_a_holder_before_the_last_boot_is_not_taken_for_it() -> None:
    now = state.ProcessIdentity.of(os.getpid())
    assert now.is_alive()
    assert not msgspec.structs.replace(now, boot="that of another boot").is_alive()


def test_looking_for_a_lab_from_inside_finds_it_and_harms_nothing(
    run_folder: Path, two_nodes: LabSpec
) -> None:
    program = "from tare.lab import find; lab = find('inside'); print(lab.holder_pid, lab.is_running())"
    with start(two_nodes, name="inside", owned=False) as lab:
        done = subprocess.run(
            lab.command("n1", [sys.executable, "-P", "-c", program]),
            capture_output=True,
            text=True,
            check=True,
        )

        assert done.stdout == "1 True\n"
        assert find("inside") == lab


def test_a_network_that_cannot_be_built_is_named_with_the_cure(run_folder: Path) -> None:
    larger_than_its_bridge = LabSpec(
        nodes=1,
        networks={
            "host": LabNetwork(kind=LabNetworkKind.BRIDGE),
            "jumbo": LabNetwork(kind=LabNetworkKind.MACVLAN, over="host", mtu=9000),
        },
    )

    with pytest.raises(LabError, match=r"network 'jumbo' \(macvlan\) cannot be built: .*modprobe"):
        start(larger_than_its_bridge, owned=True)

    assert [entry.name for entry in (run_folder / "tare").iterdir()] == [".lock"]


def test_a_rate_beyond_what_can_be_shaped_is_refused(run_folder: Path) -> None:
    fast = LabNetwork(kind=LabNetworkKind.BRIDGE, rate_bits_per_s=100e9)

    with pytest.raises(LabError, match="more than tbf can shape"):
        start(LabSpec(nodes=1, networks={"fast": fast}), owned=True)


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "a b", "x" * 100])
def test_a_bad_name_is_refused(run_folder: Path, two_nodes: LabSpec, name: str) -> None:
    with pytest.raises(UsageError, match="not a name for a lab"):
        start(two_nodes, name=name, owned=False)


def test_a_state_folder_that_others_may_write_is_refused(run_folder: Path, two_nodes: LabSpec) -> None:
    (run_folder / "tare").mkdir()
    (run_folder / "tare").chmod(0o777)

    with pytest.raises(LabError, match="not a private folder of yours"):
        start(two_nodes, owned=True)
