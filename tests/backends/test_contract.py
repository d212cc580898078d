"""What every backend and launcher owes to a program, wherever it runs: the same as a shell at the node.

`substrate` is each in turn. One that is to join, such as pods, needs no more than a case of that fixture.
A launcher may add words of its own to what goes wrong, and its own exit code where the program is not there.
"""

from __future__ import annotations

import itertools
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from backends.substrates import (
    IN_GRID_ENGINE,
    SPEC,
    WHOLE_NODES,
    Launched,
    Queue,
    Substrate,
    in_grid_engine,
    in_slurm,
    mpi_platform,
    processes,
    require_grid_engine,
    require_slurm,
    ssh_agent,
    through_psij,
)
from lab.calls import running_lab
from support.sleeping import sleeping
from support.waiting import until
from tare.core.site import Platform
from tare.lab import AGENT, Lab
from tare.plugins.backends.psij.options import PsijOptions
from tare.plugins.backends.psij.systems import Executor
from tare.plugins.backends.slurm.options import SlurmOptions

HOSTILE = (
    "two words", "$(touch harm)", "`id`", "quote'\"", "new\nline", "*", "-n", "--", "", " ", "a\\b", "µ€",
    "a;b|c&d", "%s", "{node1}", "~", "!!", "#",
)  # fmt: skip
LAUNCHERS = ("openmpi4", "openmpi5", "mpich", "intelmpi")
_numbers = itertools.count(time.monotonic_ns())


@pytest.fixture(scope="module")
def shared() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def lab(shared: ExitStack, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return shared.enter_context(running_lab(SPEC, tmp_path_factory.mktemp("run")))


@pytest.fixture(scope="module")
def slurm_lab(lab: Lab) -> Lab:
    require_slurm()
    lab.add_service("slurm")
    return lab


@pytest.fixture(scope="module")
def grid_engine_lab(lab: Lab) -> Lab:
    require_grid_engine()
    lab.add_service("gridengine")
    return lab


@pytest.fixture(scope="module")
def ssh(shared: ExitStack, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    return shared.enter_context(ssh_agent(tmp_path_factory.mktemp("sshd")))


@pytest.fixture(
    params=[
        "here",
        "ssh",
        "ssh-staged",
        pytest.param("lab", marks=pytest.mark.lab),
        pytest.param("slurm", marks=pytest.mark.lab),
        pytest.param("slurm-packed", marks=pytest.mark.lab),
        pytest.param("srun", marks=pytest.mark.lab),
        pytest.param("gridengine", marks=pytest.mark.lab),
        pytest.param("gridengine-packed", marks=pytest.mark.lab),
        pytest.param("gridengine-mpich", marks=pytest.mark.lab),
        pytest.param("psij-slurm", marks=pytest.mark.lab),
        pytest.param("psij-slurm-packed", marks=pytest.mark.lab),
        "psij-local",
        *LAUNCHERS,
    ]
)
def substrate(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Substrate]:
    name: str = request.param
    folder = tmp_path / "it's a folder"
    folder.mkdir()
    if name == "srun":
        queue = Queue(in_slurm(request.getfixturevalue("slurm_lab")), folder, is_packed=False)
        yield Launched(
            queue, name, Platform(launcher=name, backend="slurm", options=SlurmOptions()), is_allocated=True
        )
        return
    if name.startswith("gridengine"):
        in_queue = in_grid_engine(request.getfixturevalue("grid_engine_lab"))
        queue = Queue(in_queue, folder, is_packed=name == "gridengine-packed", platform=IN_GRID_ENGINE)
        platform = mpi_platform("mpich") if name == "gridengine-mpich" else None
        yield Launched(queue, "mpich", platform, agent=WHOLE_NODES.agent) if platform else queue
        return
    if name in LAUNCHERS:
        platform = mpi_platform(name)
        with processes(folder, (), {}, None, None) as found:
            yield Launched(found, name, platform, is_allocated=False)
        return
    if name.startswith("slurm"):
        yield Queue(in_slurm(request.getfixturevalue("slurm_lab")), folder, is_packed=name == "slurm-packed")
        return
    if name.startswith("psij"):
        executor = Executor(name.split("-")[1])
        own_lab = None if executor is Executor.LOCAL else request.getfixturevalue("slurm_lab")
        with through_psij(executor, tmp_path, own_lab) as scheduler:
            by_psij = Platform(backend="psij", options=PsijOptions(executor=executor))
            yield Queue(scheduler, folder, is_packed=name.endswith("packed"), platform=by_psij)
        return
    agent: tuple[str, ...] = ()
    env: dict[str, str] = {}
    if name == "lab":
        agent, env = (str(AGENT),), request.getfixturevalue("lab").env
    elif name != "here":
        agent = request.getfixturevalue("ssh")
    place = tmp_path / "on the node" / "place" if name == "ssh-staged" else None
    with processes(folder, agent, env, "n1" if agent else None, place) as found:
        yield found


def is_launched(substrate: Substrate) -> bool:
    return isinstance(substrate, Launched)


def lasting() -> str:
    """Return how long a program sleeps that nobody waits for: a number by which it is found."""
    return f"60.{next(_numbers)}"


def asleep(*numbers: str) -> int:
    """Return how many processes sleep for one of these times, on any node, which all are this machine."""
    return sum(len(sleeping(number)) for number in numbers)


def test_output_and_exit_code(substrate: Substrate) -> None:
    ended = substrate.run("sh", "-c", "echo out; echo err >&2; exit 7")
    assert (ended.code, ended.signal, ended.is_timeout, ended.fault) == (7, None, False, None)
    assert (substrate.folder / "stdout").read_text() == "out\n"
    said = (substrate.folder / "stderr").read_text()
    assert said == "err\n" or (is_launched(substrate) and "err\n" in said)


@pytest.mark.parametrize("code", [1, 126, 254, 255])
def test_exit_codes_are_the_programs_own(substrate: Substrate, code: int) -> None:
    ended = substrate.run("sh", "-c", f"exit {code}")
    assert (ended.code, ended.fault) == (code, None)


def test_a_signal_is_distinguished_from_an_exit_code(substrate: Substrate) -> None:
    ended = substrate.run("sh", "-c", "kill -SEGV $$")
    if is_launched(substrate):  # each says it in its own way; in none is it success
        assert ended.code != 0
        assert ended.fault is None
    else:
        assert (ended.code, ended.signal) == (None, signal.SIGSEGV)


def test_a_program_that_is_not_there_is_the_programs_fault(substrate: Substrate) -> None:
    ended = substrate.run("no-such-program")
    assert ended.fault is None
    assert ended.code == 127 or (is_launched(substrate) and ended.code != 0)
    outputs = [(substrate.folder / name).read_text() for name in ("stdout", "stderr")]
    is_named = any("no-such-program" in text for text in outputs)
    # Intel MPI's mpiexec often dies so on a busy machine, before it has printed what its proxy says.
    assert is_named or (is_launched(substrate) and ended.signal == signal.SIGPIPE)


def test_arguments_arrive_as_they_are(substrate: Substrate) -> None:
    substrate.run(sys.executable, "-c", "import sys; print(ascii(sys.argv[1:]))", *HOSTILE)
    assert (substrate.folder / "stdout").read_text() == f"{list(HOSTILE)!a}\n"
    assert not (substrate.folder / "harm").exists()


def test_the_environment_arrives_as_it_is(substrate: Substrate) -> None:
    env = {f"HOSTILE_{number}": value for number, value in enumerate(HOSTILE)}
    show = "import os; print(ascii([os.environ[f'HOSTILE_{n}'] for n in range(%d)]))"
    substrate.run(sys.executable, "-c", show % len(HOSTILE), env=env)
    assert (substrate.folder / "stdout").read_text() == f"{list(HOSTILE)!a}\n"


def test_standard_input_is_empty(substrate: Substrate) -> None:
    assert substrate.run("sh", "-c", "read line || exit 3").code == 3


def test_ten_megabytes_that_are_no_text_arrive_whole(substrate: Substrate) -> None:
    substrate.run(sys.executable, "-c", r"import sys; sys.stdout.buffer.write(b'\xff\x00\n\x1e' * 2_500_000)")
    data = (substrate.folder / "stdout").read_bytes()
    assert len(data) == 10_000_000
    assert data == b"\xff\x00\n\x1e" * 2_500_000


def test_it_starts_in_its_working_folder_and_what_it_makes_is_there_afterwards(substrate: Substrate) -> None:
    (substrate.folder / "input").write_text("given")
    ended = substrate.run("sh", "-c", "cat input; mkdir 'a b'; echo made >'a b/product'")
    assert (ended.code, ended.fault) == (0, None)
    assert (substrate.folder / "stdout").read_text() == "given"
    assert (substrate.folder / "a b" / "product").read_text() == "made\n"


def test_a_time_out_ends_the_program_and_its_children_and_keeps_what_they_wrote(substrate: Substrate) -> None:
    stubborn, child = lasting(), lasting()
    script = f"echo before; trap '' TERM; sleep {child} & sleep {stubborn}"
    ended = substrate.run("sh", "-c", script, timeout_s=2)
    assert ended.is_timeout
    assert (ended.code, ended.fault) == (None, None)
    until(lambda: asleep(stubborn, child) == 0)
    said = (substrate.folder / "stdout").read_text()
    assert said == "before\n" or (is_launched(substrate) and said.startswith("before\n"))


def test_an_interrupt_ends_the_program_and_its_children(substrate: Substrate, tmp_path: Path) -> None:
    up, long, child = tmp_path / "up", lasting(), lasting()
    substrate.interrupt("sh", "-c", f"sleep {child} & : >{up}; sleep {long}", when=up.exists)
    until(lambda: asleep(long, child) == 0)


def test_an_interrupt_while_it_starts_leaves_nothing(substrate: Substrate) -> None:
    long = lasting()
    substrate.interrupt("sleep", long, when=lambda: True)
    until(lambda: asleep(long) == 0)
    time.sleep(0.5)  # what was still starting is there by now, and ends
    until(lambda: asleep(long) == 0)
