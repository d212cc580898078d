"""The scripts of pods, really run here."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import msgspec
import pytest

from backends.kubernetes.local_pods import SCRIPTS, Pods, bring_home, step, task_of
from tare.core.case import Case, Layout
from tare.core.scheduler import SharedCounter, SharedSampler
from tare.core.telemetry import Host, Span
from tare.plugins.backends.kubernetes.manifests.attachments import STATUS
from tare.plugins.backends.kubernetes.objects.observed import SeenMeta, SeenPod
from tare.plugins.backends.kubernetes.scheduling.job_result import read_result
from tare.plugins.collectors.sampler import program, settle
from tare.plugins.workloads.common.peers import peer_stage

HOSTILE = ("$(touch pwned)", "it's", 'a "b"', "`id`", "; exit 9", "ünï", "")


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


@pytest.mark.slow
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
