"""What Grid Engine's commands print, and what is made of it; captured from Grid Engine 8.1.9 (Debian 12)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from tare.core.case import Layout
from tare.core.errors import BackendError
from tare.core.launch import Invocation
from tare.core.scheduler import SharedCounter, SharedSampler, Step, Task
from tare.core.site import Platform
from tare.plugins.backends.batch.leftovers import campaign_jobs
from tare.plugins.backends.batch.options import JobMode
from tare.plugins.backends.batch.phases import Phase
from tare.plugins.backends.batch.queue import QueuedJob, request_of
from tare.plugins.backends.gridengine.commands import (
    GridEngine,
    parse_accounting,
    parse_comments,
    parse_instances,
    parse_jobs,
    parse_reasons,
)
from tare.plugins.backends.gridengine.options import GridEngineOptions
from tare.plugins.backends.gridengine.plugin import BACKEND
from tare.plugins.backends.gridengine.script import _NODES, comment_in, qsub_options, render
from tare.plugins.backends.gridengine.states import end_of, is_out, obstacle_of, phase_of

CAPTURED = Path(__file__).with_name("gridengine_output")
GOLDEN = Path(__file__).with_name("goldens") / "gridengine.sh"
WHOLE = GridEngineOptions(parallel_environment="mpi-{slots}", slots_per_node=24)


def captured(name: str) -> str:
    return (CAPTURED / name).read_text()


def task(folder: str = "/c/attempts/a/1.1", *, nodes: int = 2, threads: int = 1) -> Task:
    return Task(
        name="tare-0123456789ab-a-1.1",
        folder=Path(folder),
        steps=(Step(name="run", invocation=Invocation(argv=("solver", "it's", "$(touch harm)"))),),
        layout=Layout(nodes=nodes, ranks=2 * nodes, ranks_per_node=2, threads=threads),
        platform=Platform(backend="gridengine", options=WHOLE),
        timeout_s=90.0,
        labels={"session": "ca:2:login1:"},
    )


def options_of(one: Task, options: GridEngineOptions) -> list[str]:
    return list(qsub_options(request_of([one]), options))


def test_jobs_are_read_with_their_whole_names_and_what_they_do() -> None:
    found = list(parse_jobs(captured("jobs.xml")))
    names = [f"tare-0123456789ab-c1-{number}.1" for number in (1, 2, 3, 4)]
    states = [(Phase.ACTIVE, "r"), *[(Phase.QUEUED, "qw")] * 3]
    assert found == [
        QueuedJob(str(number), *state, name)
        for number, state, name in zip((3, 4, 5, 6), states, names, strict=True)
    ]


def test_a_job_in_error_waits_and_its_own_reason_is_reported() -> None:
    (job,) = [one for one in parse_jobs(captured("error.xml")) if one.state == "Eqw"]
    assert job.phase is Phase.QUEUED
    assert "unable to find shell" in parse_reasons(captured("error-details.xml"))[job.id]


@pytest.mark.parametrize(
    ("state", "cure"),
    [("Eqw", "qmod -cj 7"), ("hqw", "qrls 7"), ("hEqw", "qmod -cj 7"), ("qw", ""), ("hr", "")],
)
def test_a_job_that_waits_until_somebody_acts_has_the_command_for_it(state: str, cure: str) -> None:
    found = obstacle_of(state, "7")
    assert (cure in found.cure and not found.is_final) if found else not cure


def test_the_reason_of_a_waiting_job_is_its_own_or_else_that_of_all_queues() -> None:
    assert parse_reasons(captured("details.xml")) == {
        "3": 'queue instance "lab@n2" dropped because it is full',
        "4": 'cannot run in PE "lab" because it only offers 0 slots',
        "5": 'queue instance "lab@n2" dropped because it is full',
    }


def test_a_jobs_context_names_its_owner() -> None:
    comments = parse_comments(captured("details.xml"))
    assert comments == {"3": "ca:2:n1: /home/it's", "4": "ca:2:n1: /home/it's"}
    jobs = [one._replace(comment=comments.get(one.id, "")) for one in parse_jobs(captured("jobs.xml"))]
    assert [(one.id, one.session, one.folder) for one in campaign_jobs(jobs)] == [
        ("3", "ca:2:n1:", "/home/it's"),
        ("4", "ca:2:n1:", "/home/it's"),
        ("5", "", ""),
        ("6", "", ""),
    ]


def test_jobs_that_are_gone_have_no_details() -> None:
    assert parse_comments(captured("unknown.xml")) == parse_reasons(captured("unknown.xml")) == {}


@pytest.mark.parametrize("text", ["", "<job_info>", "error: commlib error"])
def test_what_is_no_xml_is_an_outage_and_not_an_empty_queue(text: str) -> None:
    with pytest.raises(BackendError, match="no XML"):
        list(parse_jobs(text))


def test_accounting_distinguishes_a_limit_from_a_deletion() -> None:
    limit, deleted = (end_of(parse_accounting(captured(f"{name}.qacct"))) for name in ("limit", "deleted"))
    assert limit[0] is Phase.TIMED_OUT
    assert deleted[0] is Phase.CANCELLED
    assert deleted[1] == "over: failed 100 : assumedly after job, exit_status 137                  (Killed)"


@pytest.mark.parametrize(
    ("books", "phase"),
    [
        ({"failed": "0", "exit_status": "0"}, Phase.ENDED),
        ({"failed": "0", "exit_status": "1"}, Phase.ENDED),
        ({"failed": "0", "exit_status": "93"}, Phase.ENDED),
        ({"failed": "25  : rescheduling", "exit_status": "0"}, Phase.PREEMPTED),
        ({"failed": "100 : assumedly after job", "exit_status": "137", "ru_wallclock": "59s",
          "category": "-l h_rt=60 -pe a 2"}, Phase.CANCELLED),
        ({"failed": "100 : assumedly after job", "exit_status": "137", "ru_wallclock": "60s",
          "category": "-l h_rt=60 -pe a 2"}, Phase.TIMED_OUT),
        ({"failed": "26  : opening input/output file", "exit_status": "0"}, Phase.ENDED),
        ({"failed": "-nan", "exit_status": "0"}, Phase.ENDED),
        ({}, Phase.ENDED),
    ],
)  # fmt: skip
def test_jobs_in_the_accounting_are_over_and_it_shows_who_ended_them(
    books: dict[str, str], phase: Phase
) -> None:
    assert end_of(books)[0] is phase


def test_a_job_on_too_few_nodes_is_reported_with_the_cure() -> None:
    assert "allocation_rule" in end_of({"failed": "0", "exit_status": "93"})[1]


@pytest.mark.parametrize(
    ("state", "phase"),
    [
        ("qw", Phase.QUEUED), ("hqw", Phase.QUEUED), ("Eqw", Phase.QUEUED), ("Rq", Phase.UNKNOWN),
        ("r", Phase.ACTIVE), ("t", Phase.ACTIVE), ("Rr", Phase.ACTIVE), ("dr", Phase.COMPLETING),
        ("dt", Phase.COMPLETING), ("s", Phase.SUSPENDED), ("S", Phase.SUSPENDED), ("T", Phase.SUSPENDED),
        ("tsT", Phase.SUSPENDED), ("z", Phase.ENDED), ("", Phase.UNKNOWN), ("rX", Phase.UNKNOWN),
    ],
)  # fmt: skip
def test_states_are_read_letter_by_letter(state: str, phase: Phase) -> None:
    assert phase_of(state) is phase


def test_nodes_that_do_not_report_are_away_and_disabled_ones_only_where_asked() -> None:
    assert list(parse_instances(captured("instances.xml"))) == [("lab@n1", ""), ("lab@n2", "")]
    assert is_out("au", is_disabled_out=False)
    assert is_out("E", is_disabled_out=False)
    assert not is_out("a", is_disabled_out=True)
    assert (is_out("d", is_disabled_out=False), is_out("d", is_disabled_out=True)) == (False, True)


def test_the_script_is_the_golden_one() -> None:
    options = msgspec.structs.replace(
        WHOLE, queue="compute.q", project="proj42", resources={"exclusive": "true"}, lines=("-l ib",)
    )
    watched = msgspec.structs.replace(task(), sampler=SharedSampler(Path("/c/sampler.py"), 0.5))
    text = render([watched, task("/c/attempts/it's/1.1", nodes=1)], options, "cat /proc/cpuinfo")
    if os.environ.get("UPDATE_GOLDENS"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_bash_reads_the_script() -> None:
    text = render([task("/c/attempts/it's; exit 9/1.1")], WHOLE)
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", ["sh", "bash", "tcsh"])
@pytest.mark.parametrize("name", ["a!b", "!!", "it's", "back\\slash \\n", "$HOME `id`", "two\nlines", "%s *"])
def test_a_command_on_another_node_runs_in_any_folder_whatever_the_login_shell(
    tmp_path: Path, shell: str, name: str
) -> None:
    """As qrsh(1) does, the double gives the words of the command to a shell, joined by blanks."""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    on_node = re.search(r"^on_node\(\) \{.*?^\}", _NODES.read_text(), re.MULTILINE | re.DOTALL)
    assert on_node is not None
    folder = tmp_path / name
    folder.mkdir()
    double = tmp_path / "qrsh"
    double.write_text(
        f'#!/bin/sh\n[ "$1 $2" = "-inherit n2" ] || exit 9\nshift 2\ncd /\nexec {shell} -c "$*"\n'
    )
    double.chmod(0o755)
    script = f'this_node=n1\n{on_node[0]}\non_node n2 sh -c \'pwd; echo "$1"; exit 7\' sh "it\'s a!b"'
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == (f"{folder}\nit's a!b\n", 7), done.stderr
    assert list(folder.iterdir()) == []


def test_a_job_takes_the_slots_of_its_nodes() -> None:
    assert "-pe mpi-24 48" in options_of(task(), WHOLE)
    each = GridEngineOptions(parallel_environment="mpi-{slots}")
    assert "-pe mpi-6 12" in options_of(task(threads=3), each)


def test_what_a_context_holds_comes_back_as_it_was() -> None:
    (line,) = [
        one for one in options_of(task("/a b,c:d/é'\"/attempts/a/1.1"), WHOLE) if one.startswith("-ac")
    ]
    value = line.removeprefix("-ac tare=")
    assert not set(value) & set(" ,'\":=\n")
    assert comment_in(value) == "ca:2:login1: /a b,c:d/é'\""


@pytest.mark.parametrize(("slots", "is_watched"), [(2, False), (3, True)])
def test_nothing_watches_where_it_would_take_the_slots_of_the_ranks(slots: int, is_watched: bool) -> None:
    options = GridEngineOptions(parallel_environment="mpi", slots_per_node=slots)
    watched = msgspec.structs.replace(
        task(), sampler=SharedSampler(Path("/s.py"), 1), counter=SharedCounter(Path("/p.py"), "ib0")
    )
    assert ("\n  watch /s.py 1\n" in render([watched], options)) is is_watched
    assert ("\n  count /p.py ib0\n" in render([watched], options)) is is_watched
    alone = msgspec.structs.replace(watched, layout=Layout())
    assert "\n  watch /s.py 1\n" in render([alone], options)


class Faults:
    """Takes down the faults of options (see model.backend_plugin.OptionsReader)."""

    storage: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.found: list[tuple[str, tuple[str | int, ...]]] = []

    def fault(self, message: str, *path: str | int) -> None:
        self.found.append((message, path))

    def fault_of_platform(self, message: str) -> None:
        self.found.append((message, ()))

    def expand(self, text: str, *path: str | int) -> str:
        return text


def test_every_fault_of_options_is_reported_where_it_is() -> None:
    faults = Faults()
    written = GridEngineOptions(
        parallel_environment="a b", queue="q'", project="ok", resources={"h_rt": "1:0:0", "mem": "4G 5G"},
        lines=("-l ib", "now yes"), mode=JobMode.PACKED,
    )  # fmt: skip
    assert BACKEND.read_options(written, faults).is_packed
    assert [path for _, path in faults.found] == [
        ("parallel_environment",),
        ("queue",),
        ("resources", "h_rt"),
        ("resources", "mem"),
        ("lines", 1),
    ]


def test_a_platform_without_a_parallel_environment_is_a_fault() -> None:
    faults = Faults()
    BACKEND.read_options(None, faults)
    assert [path for _, path in faults.found] == [()]
    assert "parallel_environment" in faults.found[0][0]


class SaidAtTheSeam(GridEngine):
    """Stands for the commands themselves: each says what is given here."""

    def __init__(self, code: int, said: str) -> None:
        super().__init__((), None, {})
        self._answer = code, said

    def _run(self, argv: Sequence[str], unset: Sequence[str] = ()) -> subprocess.CompletedProcess[bytes]:
        code, said = self._answer
        return subprocess.CompletedProcess(list(argv), code, said.encode(), b"")


@pytest.mark.parametrize(("said", "number"), [("7\n", "7"), ("7.1-3:1\n", "7")])
def test_the_number_of_a_job_is_what_qsub_prints(said: str, number: str) -> None:
    assert SaidAtTheSeam(0, said).submit(Path("job.sh"), request_of([task()])) == number


def test_what_is_no_number_is_no_job() -> None:
    with pytest.raises(BackendError, match="instead of a job's number"):
        SaidAtTheSeam(0, "Your job 7 has been submitted").submit(Path("job.sh"), request_of([task()]))


def test_jobs_that_are_over_are_no_error_to_delete_and_an_outage_is() -> None:
    SaidAtTheSeam(1, 'denied: job "9999" does not exist\njob 4 is already in deletion\n').cancel(
        ["4", "9999"]
    )
    with pytest.raises(BackendError, match="qdel: error: commlib error"):
        SaidAtTheSeam(1, "error: commlib error: got select error (Connection refused)\n").cancel(["4"])


def test_without_accounting_the_end_of_a_job_is_unknown() -> None:
    assert SaidAtTheSeam(1, "error: job id 9999 not found\n").account(["9999"]) == []


def test_an_outage_is_reported_with_the_command_that_failed() -> None:
    with pytest.raises(BackendError, match=r"^qstat: error: commlib error"):
        SaidAtTheSeam(1, "error: commlib error: got select error (Connection refused)\n").jobs()
