"""One attempt, run for real on this machine: never a number from a run that did not come out well."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from support.doubles import DoubleWorkload
from tare.core.attempt import Attempt, Proof, State, Traffic
from tare.core.case import Case, Layout, Run
from tare.core.errors import BackendError, CampaignError, DiskFull
from tare.core.job import Counters
from tare.core.launch import Invocation, Placement
from tare.core.plan import Plan
from tare.core.safe_folder import SafeFolder
from tare.core.site import Network, Platform, Site
from tare.core.workload import Stage
from tare.execution import staging
from tare.execution.attempt_runner import AttemptRunner
from tare.execution.compose import Composer
from tare.plugins.backends.hosts.own_storage import OwnStorage
from tare.plugins.backends.ownership.sessions import new_session
from tare.plugins.backends.process.backend import ProcessBackend


class DoubleLauncher:
    """Stands for an MPI: starts one rank, here."""

    name = "double"

    def launch(self, program: Invocation, placement: Placement) -> Invocation:
        return program


class DoubleRuntime:
    """Stands for a container runtime: wraps nothing."""

    name = "double"

    def wrap(self, program: Invocation, platform: Platform, folder: str) -> Invocation:
        return program


SITE = Site(
    name="here",
    nodes=("n1", "n2"),
    platforms={"bare": Platform()},
    networks={"host": Network(interface="fab0")},
    storage={"scratch": "/nowhere"},
)
Execute = Callable[..., Attempt]


@pytest.fixture
def execute(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Execute]:
    """Run one attempt of a workload that is the given program; its leftovers are on a record of their own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    prefix = str(new_session("execution"))
    with ProcessBackend(label=prefix) as backend:

        def execute(
            *argv: str,
            stages: Sequence[Stage] = (),
            traffic: Sequence[Traffic] = ({}, {}),
            needs_transport: bool = False,
            nodes: int = 1,
            timeout_s: float = 20,
            number: int = 1,
            storage: str = "",
            keeps_storage: bool = False,
        ) -> Attempt:
            workload = DoubleWorkload(
                argv=argv or ("true",), stage_list=tuple(stages), needs_transport=needs_transport
            )
            readings = iter(traffic)
            case = Case(
                id="c", workload="double", platform="bare", network="host", storage="scratch",
                layout=Layout(nodes=nodes, ranks=nodes),
            )  # fmt: skip
            site = msgspec.structs.replace(SITE, storage={"scratch": storage or str(tmp_path)})
            return AttemptRunner(
                folder=tmp_path,
                plan=Plan(study="s", site="here", cases=(case,), timeout_s=timeout_s),
                composer=Composer(
                    site, {"double": workload}, lambda _: DoubleLauncher(), lambda _: DoubleRuntime()
                ),
                backend=backend,
                storage=OwnStorage(backend.ask, keeps=keeps_storage),
                counters=lambda _: next(readings),
                environment=lambda *_: "e",
                label=prefix,
            ).execute(case, Run(1, "c"), number)

        yield execute


def test_a_run_that_came_out_well_is_done_with_its_figures_and_evidence(
    execute: Execute, tmp_path: Path
) -> None:
    attempt = execute("sh", "-c", "echo value: 2.5")
    assert attempt.state is State.DONE
    assert [(one.fom, one.values) for one in attempt.series] == [("value", [2.5])]
    work = tmp_path / attempt.folder
    assert (work / "stdout").read_text() == "value: 2.5\n"
    assert json.loads((work / "command.json").read_text())[0]["argv"] == ["sh", "-c", "echo value: 2.5"]
    assert (work / "stderr").read_bytes() == b""


ABORT = "Abort(0) on node 3 (rank 3 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 0) - process 3"
"""After which MPICH's mpiexec ends with 0, whatever was printed before."""


@pytest.mark.parametrize(
    ("script", "state", "reason"),
    [
        ("echo value: 1; exit 3", State.FAILED, "exit code 3: the last that was printed: value: 1"),
        ("echo value: 1; echo boom >&2; exit 3", State.FAILED, "exit code 3: boom"),
        ("echo solve >&2; exit 139", State.FAILED, "exit code 139 (128 + SIGSEGV): solve"),
        ("echo value: 1; kill -SEGV $$", State.FAILED, "ended by signal SIGSEGV"),
        ("exit 3", State.FAILED, "exit code 3, and nothing was printed"),
        (
            f"echo value: 1; echo '{ABORT}' >&2",
            State.FAILED,
            "exit code is 0, but rank 3 called MPI_Abort with 0",
        ),
        (
            "echo 'srun: error: Unable to create step for job 5: Invalid account' >&2; echo value: 1",
            State.FAILED,
            "exit code is 0, but a step failed: srun: Unable to create step for job 5: Invalid account",
        ),
        (
            "echo 'srun: fatal: No command given to execute.' >&2; echo value: 1",
            State.FAILED,
            "exit code is 0, but a step failed: srun: No command given to execute.",
        ),
        ("echo valu", State.INVALID, "no line 'value:'"),
        ("echo ERROR: no mesh", State.INVALID, "no line 'value:'; the program had printed: ERROR: no mesh"),
        ("true", State.INVALID, "no line 'value:'"),
    ],
)
def test_what_went_wrong_is_reported_and_gives_no_number(
    execute: Execute, script: str, state: State, reason: str
) -> None:
    attempt = execute("sh", "-c", script)
    assert attempt.state is state
    assert reason in attempt.reason
    assert attempt.series == []


def test_what_srun_prints_while_it_waits_is_no_failure(execute: Execute) -> None:
    said = "srun: Job 5 step creation temporarily disabled, retrying (Requested nodes are busy)"
    assert execute("sh", "-c", f"echo '{said}' >&2; echo value: 1").state is State.DONE


def test_a_program_that_hangs_is_ended_and_failed(execute: Execute) -> None:
    attempt = execute("sh", "-c", "echo value: 1; sleep 60", timeout_s=0.3)
    assert (attempt.state, attempt.check, attempt.series) == (State.FAILED, "timeout", [])
    assert "still running after 0.3 s" in attempt.reason


def test_a_missing_program_reports_its_name(execute: Execute) -> None:
    assert "no-such-program: No such file" in execute("no-such-program").reason


def test_a_failed_stage_stops_the_rest_and_is_named(execute: Execute, tmp_path: Path) -> None:
    stages = [
        Stage(name="mesher", argv=("sh", "-c", "echo meshing; exit 4"), is_mpi=False),
        Stage(name="solver", argv=("sh", "-c", "echo value: 1"), is_mpi=False),
    ]
    attempt = execute(stages=stages)
    assert attempt.state is State.FAILED
    assert attempt.reason == "stage mesher exit code 4: the last that was printed: meshing"
    assert not (tmp_path / attempt.folder / "stdout").exists()


def test_stages_share_the_working_folder_and_its_input_files(execute: Execute) -> None:
    files = {"input.txt": "value: 7\n"}
    stages = [
        Stage(name="prepare", argv=("cp", "input.txt", "out.txt"), files=files, is_mpi=False),
        Stage(name="run", argv=("cat", "{work}/out.txt"), is_mpi=False),
    ]
    assert execute(stages=stages).series[0].values == [7.0]


def mesher(script: str, keeps: str = "mesh") -> list[Stage]:
    """Two stages: one that makes a mesh, counting its calls, and one that reads it."""
    return [
        Stage(name="mesher", argv=("sh", "-c", script), keeps=(keeps,), is_mpi=False),
        Stage(
            name="solver", argv=("sh", "-c", "echo value: $(cat mesh/size); echo 9 > mesh/size"), is_mpi=False
        ),
    ]


MESH = "echo x >> {work}/../../../calls; mkdir mesh; echo 5 > mesh/size; ln -s size mesh/link; echo meshed"


def test_what_a_stage_keeps_is_made_once_and_given_to_each_attempt_anew(
    execute: Execute, tmp_path: Path
) -> None:
    values = [execute(stages=mesher(MESH), number=number).series[0].values for number in (1, 2, 3)]
    assert values == [[5.0]] * 3, "what a solver writes into the mesh does not reach the next one"
    assert (tmp_path / "calls").read_text() == "x\n"
    assert (tmp_path / "attempts/c/1.3/mesher.stdout").read_text() == "meshed\n"


def test_another_command_makes_its_own(execute: Execute) -> None:
    first = execute(stages=mesher(MESH), number=1)
    other = execute(stages=mesher(MESH.replace("echo 5", "echo 6")), number=2)
    assert (first.series[0].values, other.series[0].values) == ([5.0], [6.0])


def test_changed_inputs_make_a_stage_run_again(execute: Execute, tmp_path: Path) -> None:
    source = tmp_path / "size.txt"
    stages = mesher(f"mkdir mesh; cp {source} mesh/size")
    stages[0] = msgspec.structs.replace(stages[0], inputs=(str(source),))
    source.write_text("1")
    first = execute(stages=stages, number=1)
    source.write_text("2")
    assert (first.series[0].values, execute(stages=stages, number=2).series[0].values) == ([1.0], [2.0])


@pytest.mark.parametrize("changed", ["mesher-compiler", "mesher-wrapper"])
def test_an_updated_program_makes_a_stage_run_again(
    execute: Execute, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    """Stand-ins for a compiler and its wrapper; the wrapper stays the same file, the compiler is a link."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "compiler-12").write_text("#!/bin/sh\n")
    (folder / "mesher-wrapper").write_text("#!/bin/sh\nmkdir mesh; cat ../../../size > mesh/size\n")
    for name in ("compiler-12", "mesher-wrapper"):
        (folder / name).chmod(0o755)
    (folder / "mesher-compiler").symlink_to("compiler-12")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    stages = mesher("")
    stages[0] = msgspec.structs.replace(
        stages[0], argv=(str(folder / "mesher-wrapper"),), programs=("mesher-compiler", "no-such-program")
    )
    values = []
    for number, size in enumerate((1, 2, 3), start=1):
        (tmp_path / "size").write_text(str(size))
        if size == 3:
            path = folder / changed
            path.write_text(path.read_text() + "# version 13\n")
        values += execute(stages=stages, number=number).series[0].values
    assert values == [1.0, 1.0, 3.0], "the second attempt is given what the first one made"


def test_a_stage_that_does_not_make_what_it_should_fails_the_run(execute: Execute, tmp_path: Path) -> None:
    attempt = execute(stages=mesher("echo nothing", keeps="mesh"))
    assert attempt.state is State.FAILED
    assert attempt.reason == "stage mesher made no mesh: the last that was printed: nothing"
    assert not list((tmp_path / "cache").iterdir())


def test_an_input_file_outside_the_working_folder_is_refused(execute: Execute) -> None:
    with pytest.raises(CampaignError, match="outside its working folder"):
        execute(stages=[Stage(argv=("true",), files={"../../harm": ""}, is_mpi=False)])


def own_folder(attempt: Attempt, tmp_path: Path) -> Path:
    record = json.loads((tmp_path / attempt.folder / "command.json").read_text())
    return Path(record[0]["storage"])


def test_a_run_writes_to_a_folder_of_its_own_on_the_storage_path(execute: Execute, tmp_path: Path) -> None:
    attempt = execute("sh", "-c", "echo value: 1; pwd > $1/x; ls $1; echo $1", "sh", "{storage}")
    said = (tmp_path / attempt.folder / "stdout").read_text().split()
    assert (attempt.state, said[:3]) == (State.DONE, ["value:", "1", "x"])
    folder = Path(said[3])
    assert folder == own_folder(attempt, tmp_path)
    assert folder.parent == tmp_path
    assert folder.name.endswith("-c-1.1")
    assert not folder.exists(), "it is removed after the run"


def test_the_storage_path_itself_holds_inputs(execute: Execute, tmp_path: Path) -> None:
    attempt = execute("echo", "value: 1", "{storage_path}/mesh")
    assert (tmp_path / attempt.folder / "stdout").read_text() == f"value: 1 {tmp_path}/mesh\n"
    assert "storage" not in json.loads((tmp_path / attempt.folder / "command.json").read_text())[0]


@pytest.mark.parametrize("script", ["touch $1/x; exit 3", "touch $1/x; sleep 60", "touch $1/x; kill -9 $$"])
def test_a_failed_run_leaves_nothing_on_the_storage_path(
    execute: Execute, tmp_path: Path, script: str
) -> None:
    attempt = execute("sh", "-c", script, "sh", "{storage}", timeout_s=1)
    assert attempt.state is State.FAILED
    assert not own_folder(attempt, tmp_path).exists()


def test_what_a_run_wrote_may_be_kept(execute: Execute, tmp_path: Path) -> None:
    attempt = execute("sh", "-c", "echo value: 1; echo 7 > $1/x", "sh", "{storage}", keeps_storage=True)
    assert (own_folder(attempt, tmp_path) / "x").read_text() == "7\n"


def test_links_that_a_run_left_are_not_followed(execute: Execute, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "data").touch()
    execute("sh", "-c", 'ln -s "$2" $1/link', "sh", "{storage}", str(precious))
    assert (precious / "data").exists()


def test_a_folder_that_became_a_link_is_left_unchanged(execute: Execute, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "data").touch()
    attempt = execute("sh", "-c", 'rmdir $1; ln -s "$2" $1', "sh", "{storage}", str(precious))
    assert (precious / "data").exists()
    assert own_folder(attempt, tmp_path).is_symlink(), "it is no folder of ours any more"


def test_a_storage_path_that_is_not_there_is_reported_with_its_cure(execute: Execute) -> None:
    attempt = execute("touch", "{storage}/x", storage="/nowhere/scratch")
    assert (attempt.state, attempt.check, attempt.is_settled) == (State.FAILED, "storage", True)
    assert "/nowhere/scratch/tare-" in attempt.reason
    assert "No such file or directory; let /nowhere/scratch be a folder there" in attempt.reason


def network(fab0: int) -> Traffic:
    both_ways = Counters(rx_bytes=fab0, rx_packets=9, tx_bytes=fab0, tx_packets=9)
    return {host: {"fab0": both_ways} for host in ("n1", "n2")}


def test_a_run_over_another_network_is_invalid_whatever_its_figures(execute: Execute) -> None:
    attempt = execute("echo", "value: 1", needs_transport=True, nodes=2, traffic=(network(500), network(500)))
    assert (attempt.state, attempt.check, attempt.series) == (State.INVALID, "transport", [])


def test_counters_are_taken_as_differences(execute: Execute) -> None:
    attempt = execute(
        "echo", "value: 1", needs_transport=True, nodes=2, traffic=(network(500), network(9500))
    )
    assert attempt.state is State.DONE
    assert attempt.traffic["n1"]["fab0"].rx_bytes == 9000
    assert "fab0 carried" in attempt.transport
    assert attempt.proof is Proof.NOT_PROVEN


def test_the_strength_of_the_proof_is_kept(execute: Execute) -> None:
    traffic = (network(500), network(9_000_500))
    attempt = execute("echo", "value: 1", needs_transport=True, nodes=2, traffic=traffic)
    assert attempt.proof is Proof.COUNTED


def test_a_host_out_of_reach_is_for_the_infrastructure_to_answer(
    execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    def out_of_reach(*_: object) -> None:
        raise BackendError("host n2 could not be reached")

    monkeypatch.setattr(ProcessBackend, "run", out_of_reach)
    attempt = execute("echo", "value: 1")
    assert (attempt.state, attempt.is_infrastructure) == (State.FAILED, True)
    assert attempt.reason == "host n2 could not be reached"


def test_one_node_needs_no_network(execute: Execute) -> None:
    assert execute("echo", "value: 1", needs_transport=True).state is State.DONE


def test_a_full_disk_stops_the_campaign_rather_than_fail_the_run(
    execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no room a program's output may be cut short and still look whole."""
    monkeypatch.setattr(staging, "_LEAST_SPACE", sys.maxsize)
    with pytest.raises(DiskFull, match="Everything recorded so far is safe"):
        execute("echo", "value: 1")


def test_no_space_for_the_evidence_is_a_full_disk_too(
    execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(SafeFolder, "replace", no_room)
    with pytest.raises(DiskFull):
        execute("echo", "value: 1")
