"""What `tare clean` ends is known to be dead; all else it shows, and says why."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import TARE, Tare
from support.waiting import until
from tare.plugins.backends.ownership.sessions import Session, new_session
from tare.plugins.backends.process import control_groups

FREE = 4194303  # the highest pid there can be (proc(5), pid_max)
NOBODY = 65534

AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")


@pytest.fixture(scope="module")
def root() -> None:
    """Skip where namespaces cannot be made, or another user cannot run this Python."""
    tried = ["unshare", "--mount", "--uts", "--pid", "--fork", "--mount-proc", *AS_NOBODY]
    tried += [sys.executable, "-c", "import tare.plugins.backends.ownership.sessions"]
    if os.geteuid() != 0 or subprocess.run(tried, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root makes namespaces and other users, and not in every container")


@pytest.fixture
def dead() -> Session:
    """A session of this host and user, of a campaign of its own, whose tare is gone."""
    return new_session(f"clean{time.monotonic_ns()}")._replace(pid=FREE)


Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a process with this mark."""
    started = []

    def start(mark: str, *argv: str) -> subprocess.Popen[bytes]:
        words = [*argv, "sleep", "60"]
        process = subprocess.Popen(words, env={**os.environ, "TARE_JOB": mark}, start_new_session=True)
        started.append(process)
        until(lambda: name_of(process.pid) == "sleep")
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def lines(done: subprocess.CompletedProcess[str], word: str) -> list[str]:
    return [line for line in done.stdout.splitlines() if word in line]


def test_what_a_dead_run_left_is_ended(tare_here: Tare, dead: Session, start: Start) -> None:
    left = start(f"{dead}case/1.1;")
    assert lines(tare_here("clean", "--dry-run"), str(dead)) == [
        f"would end process {left.pid} of {dead}case/1.1;"
    ]
    assert left.poll() is None
    assert lines(tare_here("clean"), str(dead)) == [f"ended process {left.pid} of {dead}case/1.1;"]
    assert left.wait(10) == -signal.SIGKILL


def test_what_a_live_run_has_is_no_leftover(tare: Tare, start: Start) -> None:
    own = new_session(f"clean{time.monotonic_ns()}")
    alive = start(f"{own}case/1.1;")
    assert lines(tare("clean"), own.campaign) == []
    assert alive.poll() is None


def test_a_live_job_label_is_one_to_version_0_1_0_too() -> None:
    """Which takes the second and third of its parts for the pid and start of the run."""
    session = new_session("c")
    assert str(session).split(":")[:3] == ["c", str(os.getpid()), str(session.start)]


def test_a_run_is_dead_when_another_process_has_its_pid(tare_here: Tare, start: Start) -> None:
    session = new_session(f"clean{time.monotonic_ns()}")
    left = start(f"{session._replace(start=session.start - 1)}case/1.1;")
    assert "ended process" in "".join(lines(tare_here("clean"), session.campaign))
    assert left.wait(10) == -signal.SIGKILL


def test_a_run_is_dead_when_nobody_has_taken_leave_of_it(tare_here: Tare, start: Start) -> None:
    """As the child of a container's first process, which waits for none."""
    script = (
        "from tare.plugins.backends.ownership.sessions import new_session; "
        "print(new_session('zombie'), flush=True)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as runner:
        assert runner.stdout is not None
        session = runner.stdout.readline().strip()
        until(lambda: Path(f"/proc/{runner.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
        left = start(f"{session}case/1.1;")
        assert "ended process" in "".join(lines(tare_here("clean"), session))
        assert left.wait(10) == -signal.SIGKILL


@pytest.mark.parametrize("is_dead", [True, False])
def test_what_has_lost_its_job_label_is_ended_in_its_control_group(
    tare: Tare, dead: Session, *, is_dead: bool
) -> None:
    parent = control_groups.usable()
    session = dead if is_dead else new_session(dead.campaign)
    group = control_groups.make(f"{session}case/1.1;", parent)
    if group is None:
        pytest.skip("no control group may be made here")
    with subprocess.Popen(["sleep", "60"], preexec_fn=group.join, env={}) as unmarked:
        try:
            assert len(lines(tare("clean"), f"in the control group of {session}")) == is_dead
            assert unmarked.poll() is None or is_dead
            assert group.path.exists() != is_dead
        finally:
            unmarked.kill()
            unmarked.wait()
            group.remove()


FORGED = {
    "empty": "",
    "of one letter, with which every campaign may begin": "c",
    "a campaign alone": "{campaign}:",
    "cut short": "{campaign}:4194303:1:2:{here}",
    "of version 0.1.0": "{campaign}:4194303:1:case/1.1;",
    "with a line in it": "{session}case\n{session}case/1.1;",
    "with a terminal command in it": "{session}\x1b]52;c;aGFybQ==\x07",
    "with a number that is written otherwise": "{campaign}:4194303:01:2:{here}:x;",
    "of process 0": "{campaign}:0:1:2:{here}:x;",
    "of a process beyond all numbers": "{campaign}:99999999999999:1:2:{here}:x;",
}


def forge(kind: str, dead: Session) -> str:
    here = f"{dead.host}:{dead.machine}:{dead.boot}:{dead.uid}:{dead.namespaces}"
    return FORGED[kind].format(session=dead, campaign=dead.campaign, here=here)


@pytest.mark.parametrize("kind", FORGED)
def test_a_job_label_that_is_not_whole_is_shown_and_its_process_lives(
    tare: Tare, dead: Session, start: Start, kind: str
) -> None:
    forged = start(forge(kind, dead))
    live = start(f"{new_session(dead.campaign)}case/1.1;")
    done = tare("clean")
    (line,) = lines(done, f"process {forged.pid} of")
    assert "not made by this version of Tare, or is forged" in line
    assert line.startswith("  ")
    assert "\x1b" not in done.stdout
    assert (forged.poll(), live.poll()) == (None, None)


def test_labels_of_version_0_1_0_end_at_the_users_word(tare: Tare, start: Start, dead: Session) -> None:
    old = start(f"{dead.campaign}:{FREE}:1:case/1.1;")
    alive = start(f"{dead.campaign}:{os.getpid()}:{new_session('x').start}:case/1.1;")
    empty = start("")
    assert f"ended process {old.pid}" in tare("clean", "--old-marks").stdout
    assert old.wait(10) == -signal.SIGKILL
    assert (alive.poll(), empty.poll()) == (None, None)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"host": "login2"}, "it is of host login2: clean up there"),
        ({"machine": "0" * 16}, "another machine of this name: clean up there"),
        ({"boot": "0" * 32}, "before this host's last boot"),
        ({"namespaces": "1-1"}, "another PID namespace"),
        ({"namespaces": "-"}, "/proc does not tell"),
        ({"uid": 54321}, "changed or forged"),
    ],
)
def test_what_is_not_of_this_user_host_boot_and_namespace_is_shown(
    tare_here: Tare, dead: Session, start: Start, change: dict[str, Any], why: str
) -> None:
    other = start(f"{dead._replace(**change)}case/1.1;")
    (line,) = lines(tare_here("clean"), dead.campaign)
    assert why in line
    assert other.poll() is None


def test_what_was_before_the_last_boot_ends_at_the_users_word(
    tare_here: Tare, dead: Session, start: Start
) -> None:
    left = start(f"{dead._replace(boot='0' * 32)}case/1.1;")
    other = start(f"{dead._replace(boot='0' * 32, host='login2')}case/1.1;")
    assert f"ended process {left.pid}" in tare_here("clean", "--before-boot").stdout
    assert left.wait(10) == -signal.SIGKILL
    assert other.poll() is None


def test_it_is_reported_in_json_too(tare_here: Tare, dead: Session, start: Start) -> None:
    left = start(f"{dead}case/1.1;")
    other = start(f"{dead._replace(host='login2')}case/1.1;")
    told = json.loads(tare_here("clean", "--json", "--dry-run").stdout)
    assert (told["schema"], told["is_dry"], told["failed"]) == ("tare.clean/1", True, [])
    assert {"verb": "end", "what": f"process {left.pid} of {dead}case/1.1;"} in told["ended"]
    (shown,) = [one for one in told["left"] if one["what"].startswith(f"process {other.pid} ")]
    assert shown["why"] == "it is of host login2: clean up there"
    assert left.poll() is None


@pytest.mark.usefixtures("root")
class TestOtherUsers:
    def test_another_users_job_label_is_shown_to_root(
        self, tare_here: Tare, dead: Session, start: Start
    ) -> None:
        other = start(f"{dead._replace(uid=NOBODY)}case/1.1;", *AS_NOBODY)
        (line,) = lines(tare_here("clean"), dead.campaign)
        assert "it is user nobody's" in line
        assert other.poll() is None

    @pytest.mark.parametrize("mark", ["", "{dead}case/1.1;", "{alive}", "{campaign}:"])
    def test_another_user_can_have_nothing_of_root_s_ended(
        self, tare: Tare, dead: Session, start: Start, mark: str
    ) -> None:
        """An empty mark was a prefix of all marks: root's clean ended root's live ranks."""
        alive = new_session(dead.campaign)
        rank = start(f"{alive}case/1.1;")
        other = start(mark.format(dead=dead, alive=alive, campaign=dead.campaign), *AS_NOBODY)
        left = start(f"{dead}case/1.1;")
        done = tare("clean")
        assert left.wait(10) == -signal.SIGKILL
        assert (rank.poll(), other.poll()) == (None, None)
        assert lines(done, f"process {rank.pid} ") == []

    def test_a_tare_that_proc_hides_is_not_taken_for_dead(self, tmp_path: Path, start: Start) -> None:
        """Where /proc is mounted so that users see their own processes alone (proc(5), hidepid)."""
        session = new_session(f"clean{time.monotonic_ns()}")._replace(uid=NOBODY)  # a tare that is root's
        held = start(f"{session}case/1.1;", *AS_NOBODY)
        script = 'mount -t proc -o hidepid=2 proc /proc && mount --make-rprivate / && exec "$@"'
        words = ["unshare", "--mount", "sh", "-ec", script, "sh", *AS_NOBODY]
        code = (
            "import os, sys; from tare.plugins.backends.ownership.sessions import judge; "
            f"print(os.path.exists('/proc/{os.getpid()}'), judge({str(session) + 'case/1.1;'!r}))"
        )
        done = subprocess.run(
            [*words, sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        if done.stdout.startswith("True") or "mount" in done.stderr:
            pytest.skip("this kernel hides no process")
        assert f"/proc hides process {os.getpid()}" in done.stdout, done.stderr
        assert held.poll() is None


@pytest.mark.usefixtures("root")
class TestOtherPlaces:
    """Head nodes and containers, as the kernel makes them: namespaces."""

    def test_a_run_of_another_head_node_on_the_same_home_lives(
        self, tmp_path: Path, dead: Session, start: Start
    ) -> None:
        """Its folders are on record in the home folder that both see."""
        folder = tmp_path / "tare-1"
        other = tmp_path / "machine-id"
        other.write_text("0123456789abcdef0123456789abcdef\n")
        script = f'mount --bind {other} /etc/machine-id 2>/dev/null || :; hostname head2; exec "$@"'
        head2 = ["unshare", "--uts", "--mount", "sh", "-ec", script, "sh"]
        session = new_session(dead.campaign)
        # A process that this head node has, and the other has not: its pid is another's there.
        mark = f"{session._replace(pid=FREE)}case/1.1;"
        held = start(mark)
        for kind, record in records(mark, folder).items():
            put(tmp_path / "state/tare" / kind, record)
        folder.mkdir()
        done = run([*head2, TARE, "clean"])
        assert f"it is of host {session.host}: clean up there" in done.stdout
        assert len(lines(done, dead.campaign)) == 1
        assert len(lines(done, f"folder {folder}")) == 2
        assert folder.exists()
        assert held.poll() is None
        done = run([TARE, "clean"])
        assert not folder.exists()
        assert held.wait(10) == -signal.SIGKILL

    def test_a_run_in_a_container_lives(self, tare_here: Tare) -> None:
        campaign = f"contained{time.monotonic_ns()}"
        script = (
            "import subprocess, os; from tare.plugins.backends.ownership.sessions import new_session; "
            f"mark = str(new_session('{campaign}')) + 'case/1.1;'; "
            "subprocess.run(['sleep', '60'], env={**os.environ, 'TARE_JOB': mark})"
        )
        contained = [
            "unshare",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            sys.executable,
            "-c",
            script,
        ]
        with subprocess.Popen(contained) as outside:
            try:
                until(lambda: bool(lines(tare_here("clean", "--dry-run"), campaign)))
                done = tare_here("clean")
                told = "".join(lines(done, campaign))
                assert "another PID namespace, as in a container: clean up there" in told, done.stdout
                assert outside.poll() is None
            finally:
                outside.kill()

    def test_a_proc_of_another_namespace_proves_nothing(self, dead: Session, start: Start) -> None:
        """In a PID namespace that still sees the /proc of its host, pids mean something else."""
        held = start(f"{dead}case/1.1;")
        done = run(["unshare", "--pid", "--fork", TARE, "clean"])
        (line,) = lines(done, dead.campaign)
        assert "/proc does not tell" in line
        assert held.poll() is None


def records(mark: str, folder: Path) -> dict[str, dict[str, object]]:
    return {
        "staged": {"label": mark, "agent": ["false"], "hosts": ["n1"], "place": str(folder)},
        "storage": {"label": mark, "agent": [], "hosts": [None], "folder": str(folder)},
    }


def put(folder: Path, record: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "1.json"
    path.write_text(json.dumps(record))
    return path


def run(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)


def test_an_unreadable_record_is_no_proof(tare_here: Tare, state: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tare-1"
    folder.mkdir()
    for mark in ("", "c", "c:4194303:1:x;"):
        put(state / "storage", records(mark, folder)["storage"])
        assert lines(
            tare_here("clean"),
            f"folder {folder}: its job label was not made by this version of Tare, or is forged",
        )
    assert folder.exists()


@pytest.mark.usefixtures("root")
def test_a_record_that_another_user_has_put_there_is_shown(
    tare_here: Tare, dead: Session, state: Path, tmp_path: Path
) -> None:
    """The state folder may be one that others write to."""
    folder = tmp_path / "tare-1"
    folder.mkdir()
    record = put(state / "storage", records(f"{dead}case/1.1;", folder)["storage"])
    os.chown(record, NOBODY, NOBODY)
    assert lines(tare_here("clean"), "user nobody's, its job label user root's: changed or forged")
    assert folder.exists()
