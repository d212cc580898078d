"""The scripts of pods, really run here, with an ssh that starts commands in folders of other 'pods'."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from backends.kubernetes.situations import BASE, Situation
from tare.core.case import Case, Layout
from tare.core.launch import Invocation
from tare.core.scheduler import SharedCounter, SharedSampler, Step, Task
from tare.core.telemetry import Host, Span
from tare.core.workload import Stage
from tare.execution.placement import read_placements
from tare.plugins.backends.kubernetes.manifests.attachments import STATUS
from tare.plugins.backends.kubernetes.manifests.script import probe_script, rank_script, render
from tare.plugins.backends.kubernetes.objects.observed import SeenMeta, SeenPod
from tare.plugins.backends.kubernetes.options import PhaseTimeouts
from tare.plugins.backends.kubernetes.scheduling.job_result import read_result
from tare.plugins.backends.kubernetes.transfer.following import lines
from tare.plugins.backends.kubernetes.transfer.framing import Sum
from tare.plugins.backends.kubernetes.transfer.receiving import MissingPart, Receiver
from tare.plugins.collectors.sampler import program, settle
from tare.plugins.workloads.common.peers import peer_stage
from tare.probes.placement import ASKED, with_files, with_placement_probe

SCRIPTS = (
    Path(__file__).parents[3]
    / "src"
    / "tare"
    / "plugins"
    / "backends"
    / "kubernetes"
    / "manifests"
    / "scripts"
)
HOSTILE = ("$(touch pwned)", "it's", 'a "b"', "`id`", "; exit 9", "ünï", "")


def bring_home(log: bytes, folder: Path, role: str) -> list[MissingPart]:
    """Take in a whole log; return what is missing then."""
    receiver = Receiver(folder, role, {"stdout", "stderr"}, 2**30)
    for line in lines([log]):
        receiver.take(line)
    if receiver.end is None:
        return [MissingPart("end", 0, Sum(1, None))]
    if lacks := receiver.lacks():
        return lacks
    receiver.keep_record()
    return []


class Pods(NamedTuple):
    """Folders that stand for the file systems of a launcher and two workers."""

    root: Path

    def start(self, task: Task, fetched_s: float = 60, **env: str) -> subprocess.Popen[bytes]:
        options = msgspec.structs.replace(BASE.options, timeouts=PhaseTimeouts(fetched_s=fetched_s))
        script = self.located(render(task, options))
        (self.root / "scripts" / "task.sh").write_text(script)
        environment = {
            "PATH": f"{self.root}/bin:{os.environ['PATH']}",
            "TARE_NODE": "w0",
            "POD": str(self.root),
            **env,
        }
        return subprocess.Popen(
            ["bash", str(self.root / "scripts" / "task.sh")],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
        )  # fmt: skip

    def run(self, task: Task, fetched_s: float = 60, **env: str) -> tuple[int, bytes]:
        with self.start(task, fetched_s, **env) as process:
            log, _ = process.communicate(timeout=30)
        return process.returncode, log

    def located(self, text: str) -> str:
        return text.replace("/tare/", '"$POD"/').replace("/etc/mpi/hostfile", f"{self.root}/hostfile")


@pytest.fixture
def pods(tmp_path: Path) -> Pods:
    found = Pods(tmp_path / "pod")
    for name in ("run/ranks", "work", "scripts", "bin"):
        (found.root / name).mkdir(parents=True)
    for name in ("account.sh", "probe.sh", "prepare.sh", "rank.sh"):
        made = {"probe.sh": probe_script, "rank.sh": rank_script}.get(name)
        text = made() if made else (SCRIPTS / name).read_text()
        (found.root / "scripts" / name).write_text(found.located(text))
    (found.root / "scripts" / "facts.sh").write_text("printf '\\036facts\\036here'\n")
    return found


@pytest.fixture
def workers(pods: Pods, tmp_path: Path) -> Pods:
    """Add two workers, and an ssh that knows them."""
    (pods.root / "hostfile").write_text("job-worker-0.job slots=2\njob-worker-1.job slots=2\n")
    for number in (0, 1):
        home = tmp_path / f"job-worker-{number}.job"
        for name in ("run/ranks", "work"):
            (home / name).mkdir(parents=True)
        (home / "scripts").symlink_to(pods.root / "scripts")
        (home / "run" / "node").write_text(f"w{number + 1}")
    ssh = pods.root / "bin" / "ssh"
    ssh.write_text(
        "#!/bin/bash\nwhile [[ $1 == -* ]]; do shift; [[ $1 == *=* || $1 =~ ^[0-9]+$ ]] && shift; done\n"
        f'host=$1; shift\nexport POD={tmp_path}/$host\nexec bash -c "${{*//$MAIN/$POD}}"\n'.replace(
            "$MAIN", str(pods.root).replace("/", "\\/")
        )
    )
    ssh.chmod(0o755)
    return pods


def task_of(folder: Path, *steps: Step, nodes: int = 1, timeout_s: float = 20) -> Task:
    folder.mkdir(exist_ok=True)
    situation: Situation = BASE._replace(layout=Layout(nodes=nodes, ranks=nodes))
    return msgspec.structs.replace(situation.task(folder, timeout_s), steps=steps)


def step(*argv: str, name: str = "run", **fields: object) -> Step:
    return msgspec.structs.replace(
        Step(name=name, invocation=Invocation(argv=argv, env={"VALUE": "a b"})), **fields
    )


def test_where_ssh_reaches_no_worker_its_message_is_reported(workers: Pods, tmp_path: Path) -> None:
    """Nothing was lost on the way: no rank has run there."""
    ssh = workers.root / "bin" / "ssh"
    ssh.write_text("#!/bin/sh\necho 'This account is currently not available.'\nexit 1\n")
    one = task_of(tmp_path / "home", step("true"), nodes=2)
    code, log = workers.run(one)
    assert code == 125
    assert b"tare end lost " not in log
    assert bring_home(log, one.folder, "launcher") == []
    assert "This account is currently not available" in read_result(one, [], None).reason


def test_a_task_of_one_pod_sends_its_files_and_exit_code(pods: Pods, tmp_path: Path) -> None:
    one = task_of(tmp_path / "home", step("sh", "-c", 'mkdir d; echo "$VALUE" | tee d/made; exit 3'))
    code, log = pods.run(one)
    assert bring_home(log, one.folder, "launcher") == []
    assert code == 3
    assert (one.folder / "d" / "made").read_text() == (one.folder / "stdout").read_text() == "a b\n"
    result = read_result(one, [], None)
    assert (result.exit.code, result.nodes, result.step) == (3, ("w0",), "run")
    assert result.before["w0"]["facts"] == "here"
    assert "lo:" in result.after["w0"]["/proc/net/dev"]


@pytest.mark.parametrize("n_nodes", [1, 2])
def test_the_sampler_watches_each_pod_and_what_it_wrote_is_received(
    pods: Pods, tmp_path: Path, n_nodes: int, request: pytest.FixtureRequest
) -> None:
    if n_nodes == 2:
        request.getfixturevalue("workers")
    path = pods.root / "scripts" / "sampler.py"
    path.write_text(program())
    one = task_of(tmp_path / "home", step("sleep", "0.3"), nodes=n_nodes)
    one = msgspec.structs.replace(one, sampler=SharedSampler(path, 0.1))
    code, log = pods.run(one)
    bring_home(log, one.folder, "launcher")
    result = read_result(one, [], None)
    assert code == 0
    nodes = ["w0"] if n_nodes == 1 else ["w1", "w2"]
    assert sorted(one.name for one in one.folder.glob("telemetry*")) == [
        f"telemetry.{n}.jsonl" for n in nodes
    ]
    figures = settle(one.folder, Span(hosts={node: Host() for node in nodes}, epochs=result.epochs))
    assert "cpu_user" in figures


@pytest.mark.parametrize("n_nodes", [1, 2])
def test_each_pod_counts_from_before_the_first_step_until_after_the_last_and_what_it_printed_is_received(
    pods: Pods, tmp_path: Path, n_nodes: int, request: pytest.FixtureRequest
) -> None:
    if n_nodes == 2:
        request.getfixturevalue("workers")
    path = pods.root / "scripts" / "counter.py"
    path.write_text("import sys; print(sys.argv[1], flush=True); print(sys.stdin.read() + 'over')")
    show = step("sh", "-c", f"cat {pods.root}/run/packets.*")
    one = msgspec.structs.replace(
        task_of(tmp_path / "home", show, nodes=n_nodes), counter=SharedCounter(path, "it's $(x)")
    )
    code, log = pods.run(one)
    bring_home(log, one.folder, "launcher")
    assert code == 0
    assert (one.folder / "stdout").read_text() == n_nodes * "it's $(x)\n"
    message = {path.name: path.read_text() for path in one.folder.glob("packets.*")}
    nodes = ["w0"] if n_nodes == 1 else ["w1", "w2"]
    assert message == {f"packets.{node}.txt": "it's $(x)\nover\n" for node in nodes}


def test_a_pod_without_python_is_not_watched_and_gets_a_reason(pods: Pods, tmp_path: Path) -> None:
    one = task_of(tmp_path / "home", step("true"))
    (pods.root / "bin" / "python3").symlink_to("/bin/false")
    one = msgspec.structs.replace(one, sampler=SharedSampler(SCRIPTS / "probe.sh", 0.1))
    code, log = pods.run(one)
    bring_home(log, one.folder, "launcher")
    assert code == 0
    assert read_result(one, [], None).exit.code == 0
    assert not list(one.folder.glob("telemetry.*.jsonl"))


@pytest.mark.parametrize("code", [0, 1])
def test_pods_that_have_one_address_are_named_as_the_cause(pods: Pods, tmp_path: Path, code: int) -> None:
    one = task_of(tmp_path / "home", step("sh", "-c", f"exit {code}"))
    _, log = pods.run(one)
    bring_home(log, one.folder, "launcher")
    assert one.network is not None
    status = msgspec.json.encode([{"interface": one.network.interface, "ips": ["10.91.0.2"]}]).decode()
    seen = [SeenPod(metadata=SeenMeta(name=name, annotations={STATUS: status})) for name in ("a", "b")]
    result = read_result(one, seen, None)
    message = result.problems[0] if code == 0 else result.reason
    assert message.startswith(f"two pods have the address 10.91.0.2 on {one.network.interface}")
    alone = read_result(one, seen[:1], None)
    assert "two pods" not in alone.reason + " ".join(alone.problems)


def test_the_client_of_a_pair_need_not_wait_for_the_ready_file_of_a_server_in_another_pod(
    pods: Pods, tmp_path: Path
) -> None:
    case = Case(id="ab12", workload="w", platform="p", layout=Layout(nodes=2, ranks=2))
    words = peer_stage(case, ["server"], ["echo", "{address0}"], 5201)
    home = tmp_path / "home"
    one = task_of(home, step("sh", f"{pods.root}/work/peer.sh", *words.argv[2:], is_pair=True), timeout_s=5)
    (pods.root / "work" / "peer.sh").write_text(words.files["peer.sh"])
    code, log = pods.run(one, JOB_COMPLETION_INDEX="1", TARE_ADDRESS0="10.0.0.7")
    bring_home(log, one.folder, "client")
    assert (code, (one.folder / "stdout").read_text()) == (0, "10.0.0.7\n")


def test_input_files_come_from_the_volume_hidden_ones_too_and_nothing_of_the_kubelet(
    pods: Pods, tmp_path: Path
) -> None:
    """A kubelet keeps the files of a ConfigMap in a folder with a date, to which the link ..data leads."""
    volume = pods.root / "inputs"
    dated = volume / "..2026_11_24"
    (dated / "in").mkdir(parents=True)
    for name, text in {"in/it's.dat": "1\n", ".rc": "2\n", "two words": "3\n"}.items():
        (dated / name).write_text(text)
    (volume / "..data").symlink_to(dated.name)
    for name in ("in", ".rc", "two words"):
        (volume / name).symlink_to(f"..data/{name}")
    one = task_of(tmp_path / "home", step("sh", "-c", "cat in/it*s.dat .rc 'two words'; ls -A"))
    code, log = pods.run(one)
    bring_home(log, one.folder, "launcher")
    assert code == 0
    printed = (one.folder / "stdout").read_text().splitlines()
    assert printed[:3] == ["1", "2", "3"]
    assert not [name for name in printed if name.startswith("..")]


def test_every_argument_arrives_as_it_is(pods: Pods, tmp_path: Path) -> None:
    one = task_of(
        tmp_path / "home", step("python3", "-c", "import sys; print(ascii(sys.argv[1:]))", *HOSTILE)
    )
    _, log = pods.run(one)
    bring_home(log, one.folder, "launcher")
    assert (one.folder / "stdout").read_text().strip() == ascii(list(HOSTILE))


def test_steps_share_the_time_of_their_task_and_the_first_that_fails_is_the_last(
    pods: Pods, tmp_path: Path
) -> None:
    one = task_of(tmp_path / "home", step("sleep", "30", name="slow"), step("true"), timeout_s=1)
    _, log = pods.run(one)
    bring_home(log, one.folder, "launcher")
    result = read_result(one, [], None)
    assert result.exit.is_timeout
    assert result.step == "slow"


def test_workers_are_probed_and_files_of_the_first_one_are_received(workers: Pods, tmp_path: Path) -> None:
    rank = f"{workers.root}/scripts/rank.sh"
    start = (
        'for host in job-worker-0.job job-worker-1.job; do ssh $host "PMI_RANK=${host:11:1} sh $0  $1"; done'
    )
    one = task_of(tmp_path / "home", step("bash", "-c", start, rank, "true"), nodes=2)
    (tmp_path / "job-worker-0.job" / "work" / "result").write_text("of rank 0\n")
    code, log = workers.run(one)
    bring_home(log, one.folder, "launcher")
    assert code == 0
    assert (one.folder / "result").read_text() == "of rank 0\n"
    result = read_result(one, [], None)
    assert result.nodes == ("w1", "w2")
    assert [result.after[node]["ranks"] for node in ("w1", "w2")] == ["0 w1\n", "1 w2\n"]
    assert result.problems == ()


def test_files_of_the_first_worker_that_cannot_be_copied_are_reported(workers: Pods, tmp_path: Path) -> None:
    one = task_of(tmp_path / "home", step("true"), nodes=2)
    tar = workers.root / "bin" / "tar"
    tar.write_text(f'#!/bin/sh\ncase "$*" in *-cf*) exit 2;; esac\nexec {shutil.which("tar")} "$@"\n')
    tar.chmod(0o755)
    _, log = workers.run(one)
    assert b"\x1etare end lost " in log


def test_what_ranks_and_libraries_wrote_in_each_worker_is_received(workers: Pods, tmp_path: Path) -> None:
    stage = with_files(Stage(argv=("true",)), reports_transport=True)
    for place in (workers.root, *tmp_path.glob("job-worker-*")):
        for name, text in stage.files.items():
            (place / "work" / name).parent.mkdir(parents=True, exist_ok=True)
            (place / "work" / name).write_text(text)
    work = f"{workers.root}/work"
    program = Invocation(argv=("sh", "-c", f"echo said >{work}/transport/run/$PMI_RANK"))
    words = shlex.join(with_placement_probe(program, stage, work).argv)
    start = (
        "for host in job-worker-0.job job-worker-1.job; do"
        " ssh $host \"PMI_RANK=${host:11:1} PMI_SIZE=2 sh $0 '' $1\"; done"
    )
    rank = f"{workers.root}/scripts/rank.sh"
    one = task_of(tmp_path / "home", step("bash", "-c", start, rank, words), nodes=2)
    _, log = workers.run(one)
    bring_home(log, one.folder, "launcher")
    assert [(seat.rank, seat.node) for seat in read_placements(one.folder / "ranks/run", 2)] == [
        (0, "w1"),
        (1, "w2"),
    ]
    assert sorted(path.name for path in (one.folder / "transport/run").iterdir()) == ["0", "1", ASKED]


def test_what_starts_no_ranks_runs_in_the_first_worker(workers: Pods, tmp_path: Path) -> None:
    one = task_of(tmp_path / "home", step("sh", "-c", "pwd", is_mpi=False), nodes=2)
    _, log = workers.run(one)
    bring_home(log, one.folder, "launcher")
    assert (one.folder / "stdout").read_text().strip() == f"{tmp_path}/job-worker-0.job/work"


def test_a_file_that_no_log_could_carry_waits_in_its_pod_until_that_is_deleted(
    pods: Pods, tmp_path: Path
) -> None:
    one = task_of(tmp_path / "home", step("truncate", "-s", "5M", "large"))
    with pods.start(one) as process:
        log = b""
        while b"tare end yes " not in log:
            log += os.read(process.stdout.fileno(), 65536)  # type: ignore[union-attr]
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    assert process.returncode == 0
    [lack] = bring_home(log, one.folder, "launcher")
    assert (lack.name, lack.whole.n_bytes) == ("large", 5 * 2**20)
    assert not (one.folder / "landed").exists()


def test_a_pod_that_nobody_fetches_from_ends_after_a_while(pods: Pods, tmp_path: Path) -> None:
    one = task_of(tmp_path / "home", step("truncate", "-s", "5M", "large"))
    code, log = pods.run(one, fetched_s=1)
    assert code == 0
    assert log.count(b"tare end yes ") > 1, "what was said once, a rotation of the log may have taken away"


@pytest.mark.parametrize("is_random", [True, False])
def test_what_a_program_prints_is_in_the_log_while_it_runs(
    pods: Pods, tmp_path: Path, *, is_random: bool
) -> None:
    source = "/dev/urandom" if is_random else "/dev/zero"
    program = f"head -c 700000 {source}; until [ -e go ]; do sleep 0.1; done; head -c 300000 {source}"
    one = task_of(tmp_path / "home", step("sh", "-c", program))
    with pods.start(one) as process:
        log = b""
        while b"tare piece stdout 524288 " not in log:
            log += os.read(process.stdout.fileno(), 65536)  # type: ignore[union-attr]
        (pods.root / "work" / "go").touch()
        log += process.communicate(timeout=20)[0]
    assert bring_home(log, one.folder, "launcher") == []
    assert (one.folder / "stdout").read_bytes() == (pods.root / "work" / "stdout").read_bytes()
    assert (one.folder / "stdout").stat().st_size == 1_000_000


def test_nothing_counts_as_received_of_a_log_that_was_cut(pods: Pods, tmp_path: Path) -> None:
    one = task_of(tmp_path / "home", step("true"))
    _, log = pods.run(one)
    for cut in (log[:-30], log[: len(log) // 2], log[40:]):
        assert bring_home(cut, one.folder, "launcher")
        assert not (one.folder / "landed").exists()


def test_names_of_every_kind_are_received(pods: Pods, tmp_path: Path) -> None:
    names = ["a b", "new\nline", "-n", "*", "\\back", "é", "'q'"]
    one = task_of(tmp_path / "home", step("python3", "-c", f"[open(n, 'w').write(n) for n in {names!r}]"))
    _, log = pods.run(one)
    assert bring_home(log, one.folder, "launcher") == []
    assert [(one.folder / name).read_text() for name in names] == names


def test_a_server_that_is_asked_to_end_reports_its_counters(pods: Pods, tmp_path: Path) -> None:
    program = f"until [ -e {pods.root}/work/done ]; do sleep 0.05; done"
    one = task_of(tmp_path / "home", step("sh", "-c", program, is_pair=True))
    with pods.start(one) as process:
        while not (pods.root / "work" / "progress").exists():
            time.sleep(0.05)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        log, _ = process.communicate(timeout=20)
    bring_home(log, one.folder, "server")
    assert {path.name for path in one.folder.iterdir()} == {"before.server", "after.server"}


@pytest.mark.parametrize("is_begun", [True, False])
def test_a_pod_that_is_deleted_ends_its_program(pods: Pods, tmp_path: Path, *, is_begun: bool) -> None:
    """Also while it is still probed, which takes a while where a node is busy."""
    one = task_of(tmp_path / "home", step("sh", "-c", "touch begun; exec sleep 60"), timeout_s=90)
    if not is_begun:
        (pods.root / "scripts" / "facts.sh").write_text("sleep 1\n")
    with pods.start(one) as process:
        while not (pods.root / "work" / ("begun" if is_begun else "progress")).exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    assert process.returncode == 143
