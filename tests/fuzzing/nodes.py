"""What nodes, batch systems, clusters, libraries and programs under test say, each read as Tare reads it."""

from __future__ import annotations

import base64
import contextlib
import gzip
import importlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from backends.kubernetes.sent_results import packed
from fuzzing.target import CORPUS, TESTS, Target, as_text, files_of
from tare.core.case import Layout
from tare.core.errors import NOT_JSON, BackendError
from tare.core.redaction import redact_text, redact_words
from tare.core.safe_folder import SafeFolder
from tare.core.scheduler import Task
from tare.core.site import Network, Platform
from tare.core.telemetry import Epoch, Host, Span
from tare.core.visible_text import visible, visible_json
from tare.execution.failure_reasons import abort_of, error_of, reason_of
from tare.execution.fault_owner import _is_down
from tare.execution.placement import check_placement
from tare.execution.transport_reports.libraries import intelmpi, libfabric, openmpi, ucx
from tare.execution.transport_reports.verdict import confirms, contradiction, describe
from tare.plugins.backends.batch import record
from tare.plugins.backends.batch.phases import Phase
from tare.plugins.backends.gridengine import commands as gridengine
from tare.plugins.backends.gridengine import states as gridengine_states
from tare.plugins.backends.kubernetes.diagnosis import (
    control_groups,
    node_watch,
    nodes,
    phases,
    queueing,
    quotas,
    refusals,
)
from tare.plugins.backends.kubernetes.manifests import attachments
from tare.plugins.backends.kubernetes.objects.observed import SeenEvent, SeenJob, SeenNode, SeenPod
from tare.plugins.backends.kubernetes.scheduling.results import keep_failure
from tare.plugins.backends.kubernetes.transfer.following import lines
from tare.plugins.backends.kubernetes.transfer.receiving import Receiver
from tare.plugins.backends.ownership import sessions
from tare.plugins.backends.slurm import commands
from tare.plugins.backends.slurm.states import is_out, phase_of
from tare.plugins.collectors import packets
from tare.plugins.collectors.facts import collect_facts
from tare.plugins.collectors.interfaces import read_traffic
from tare.plugins.collectors.sampler import raw_name, read_timeline, settle
from tare.plugins.collectors.sampler.bundle import source_texts
from tare.probes.records import SEPARATOR, read_records

_NODE = TESTS / "telemetry/node"
_RUNNER = TESTS / "execution"
_SEAT = (
    b"autogroup -20\nhost n1\nnode pod-node\nrank 0\nsize 1\nthreads 2,4\n"
    b"Cpus_allowed_list: 0-3,8\nsockets 0 1\nboot 2b1c\n"
)
_STEPS = (
    b"job 7 n[1-2]\nbegan 1700000000.5 99.10\nstep run 0 1700000001.5 100.10 1700000003.5 102.10\n",
    b"began 1700000000,5 99.1\nstep storage 1 1700000001,5 1.5 1700000003,5 3.5\nstep run 137 1.5 2.5\n",
)
_POD = {
    "metadata": {"name": "", "labels": {"a": "b"}, "annotations": {attachments.STATUS: "[]"}},
    "spec": {"nodeName": "", "containers": [{"resources": {"requests": {"cpu": "250m"}}}]},
    "status": {
        "phase": "Running",
        "reason": "Evicted",
        "conditions": [{"type": "Ready", "status": "False", "reason": "r", "message": "m"}],
        "containerStatuses": [{"ready": False, "state": {"terminated": {"exitCode": 137, "reason": "x"}}}],
        "allocatable": {"cpu": "8"},
    },
}
_LIMITS = {
    "/sys/fs/cgroup/cpu.stat": "usage_usec 5\nthrottled_usec 17\n",
    "/sys/fs/cgroup/cpu.max": "200000 100000\n",
    "/sys/fs/cgroup/cpuset.cpus.effective": "0-3,8\n",
    "/sys/fs/cgroup/cpu/cpu.stat": "throttled_time 17\n",
    "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000\n",
    "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
}


def of_nodes() -> Iterator[Target]:
    """Yield what nodes tell of themselves."""
    facts = _records({path: _shown(path) for path in _PATHS})
    yield Target("facts", lambda data: collect_facts(read_records(as_text(data))), (facts,), ())
    tree = {"/proc/net/dev": _shown("/proc/net/dev"), "/sys/class": _tree()}
    yield Target("traffic", lambda data: read_traffic(read_records(as_text(data))), (_records(tree),), ())
    counted = (
        b'{"counted":{"interface":"fab0","n_packets":9,"sent":[[66,5],[1514,4]],"received":[[66,1]],'
        b'"cpu_s":0.5},"is_over":true}\n'
    )
    yield Target("packets", _packets, (counted, b'{"is_refused":true}\n'), ())
    yield Target("seats", _seats, (_SEAT,), ())
    yield Target("interface state", lambda data: _is_down(as_text(data)), (b"0x1003 1\n",), ())
    yield Target("mark", _mark, (b"c:99:1:x", str(sessions.new_session("c")).encode() + b"x"), ())
    yield Target("samples", _samples, (_recording(),), ())


def of_batch_systems() -> Iterator[Target]:
    """Yield what Slurm, Grid Engine and a cluster say, and what jobs leave behind."""
    queue = (
        b"17|RUNNING|tare-x|None|lab|/home/u/campaign\n18|CANCELLED by 0|y|||\n19_[1-3]|PENDING|z|a|p|b\n",
    )
    yield Target("squeue", _queue, queue + files_of(CORPUS / "slurm", "*.txt"), ())
    grid_engine = files_of(TESTS / "backends/gridengine_output")
    yield Target("qstat and qacct", _grid_engine, grid_engine, (BackendError,))
    yield Target("landed", _landed, _STEPS, ())
    pod = json.dumps(_POD).encode()
    yield Target("pods", _pods, (pod, *files_of(CORPUS / "mpijob", "*.json")), NOT_JSON)
    status = b'[{"interface":"net1","ips":["10.0.0.1"]},{"interface":"eth0"}]'
    yield Target(
        "attachments", lambda data: attachments.duplicate_address("net1", [as_text(data)] * 2), (status,), ()
    )
    yield Target("limits of pods", _limits, (_records(_LIMITS),), ())
    yield Target("log of a pod", _log, (_packed(),), ())


def of_programs() -> Iterator[Target]:
    """Yield what libraries and failed programs say, and what is shown of it."""
    said = files_of(_RUNNER / "transport_reports")
    yield Target("transport", _transport, said, ())
    failures = files_of(_RUNNER / "failures")
    yield Target("reasons", _reasons, failures, ())
    secrets = b"curl -H 'Authorization: Bearer abcdefghijklmnop' https://u:p@h/?token=0123456789abcdef0123\n"
    yield Target("redaction", _redacted, (secrets, *failures), ())


_PATHS = (
    "/proc/cpuinfo", "/proc/meminfo", "/proc/self/limits", "/proc/self/status", "/proc/version",
    "/proc/sys/kernel/osrelease", "/proc/cmdline", "/etc/os-release", "/proc/net/dev",
)  # fmt: skip


def _shown(path: str) -> str:
    """Return the beginning of a file of this machine; a file that is not there is empty."""
    try:
        return Path(path).read_text(errors="replace")[:4000]
    except OSError:
        return ""


def _records(texts: dict[str, str]) -> bytes:
    """Return records as scripts on nodes print them, all before the end of each source."""
    from tare.plugins.collectors.facts import sources as fact_sources

    told = "".join(f"{SEPARATOR}{name}{SEPARATOR}{text}" for name, text in texts.items())
    return (
        "".join(f"{told}{SEPARATOR}end of {one.name}{SEPARATOR}\n" for one in fact_sources()[:2]).encode()
        + told.encode()
    )


def _tree() -> str:
    counters = "infiniband/mlx5_0/ports/1/counters/port_"
    return (
        "net/ib0/device/infiniband/mlx5_0 \nnet/ib0/dev_port 0\nnet/bond0/lower_ib0 \nnet/bond0/bonding \n"
        f"{counters}rcv_data 4294967295\n{counters}xmit_data 17\n{counters}rcv_packets 3\n"
        "infiniband/mlx5_0/ports/1/link_layer InfiniBand\ninfiniband/mlx5_0/device/uevent DRIVER=mlx5_core\n"
        "infiniband/efa_0/ports/1/hw_counters/tx_bytes 5\ninfiniband/efa_0/ports/1/hw_counters/rx_bytes 6\n"
        "cxi/cxi0/device/telemetry/hni_sts_rx_ok_octets 17@1700\ncxi/cxi0/device/net/hsn0 \n"
        "cxi/cxi0/device/telemetry/hni_sts_tx_ok_octets 18@1700\n"
    )


def _mark(data: bytes) -> None:
    sessions.parse(as_text(data))
    sessions.judge(as_text(data), takes_old=True)
    sessions.is_gone(as_text(data), "c")


def _packets(data: bytes) -> None:
    found = packets.read_counts(as_text(data), "cure")
    msgspec.json.encode(found)


def _seats(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "0.n1.7").write_bytes(data)
        check_placement(Path(folder), Layout(nodes=1, ranks=1, ranks_per_node=1), slots=4, hostnames=["n1"])


def _recording() -> bytes:
    """Return what the sampler writes of the node that lies among the tests, twice, a second apart."""
    lines: dict[str, list[str]] = {}
    for name in sorted(source_texts()):
        source = importlib.import_module(f"tare.plugins.collectors.sampler.sources.{name}")
        own: list[str] = []
        for path in source.paths(str(_NODE)):
            text = Path(path).read_text().splitlines()
            own += [f"{path} {line}" for line in text] if source.HAS_PATHS else text
        lines[name] = source.shorten(own)
    head = {"sampler": 1, "node": "n1", "period_s": 1.0, "machine": "m", "sources": sorted(lines)}
    samples = [{"t": at, "w": 1700000000 + at, "s": lines} for at in (0.5, 1.5, 2.5)]
    return "".join(json.dumps(one) + "\n" for one in (head, *samples)).encode()


def _samples(data: bytes) -> None:
    """Read a node's recording while its run goes on, and make figures and a timeline of it at the end."""
    with tempfile.TemporaryDirectory() as folder:
        place = SafeFolder(Path(folder))
        (place / raw_name("n1")).replace(data, is_synced=False)
        read_timeline(place)
        epoch = Epoch("run", 1700000001.0, 1700000002.0)
        figures = settle(Path(folder), Span(hosts={"n1": Host(zero_at=1700000000.0)}, epochs=(epoch,)))
        if any(not -1e300 < one < 1e300 for one in figures.values()):
            raise ArithmeticError(f"{figures} is not finite")
        read_timeline(place)


def _queue(data: bytes) -> None:
    for job in commands.parse_queue(as_text(data)):
        phase_of(job.state)
        is_out(job.state)


def _grid_engine(data: bytes) -> None:
    text = as_text(data)
    gridengine_states.end_of(gridengine.parse_accounting(text))
    for name, state in gridengine.parse_instances(text):
        gridengine_states.is_out(state, is_disabled_out=bool(name))
    list(gridengine.parse_jobs(text))
    gridengine.parse_comments(text)
    gridengine.parse_reasons(text)


def _landed(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        layout, platform = Layout(nodes=1, ranks=1, ranks_per_node=1), Platform()
        task = Task(name="t", folder=folder, steps=(), layout=layout, platform=platform, timeout_s=9.0)
        (folder / "progress").write_bytes(data)
        record.result_without_record(task, record.read_progress(folder), Phase.ENDED, "over")
        (folder / "progress").rename(folder / "landed")
        (folder / "before.n1").write_bytes(data)
        if found := record.read_complete(folder):
            record.result_of(task, found)


def _pods(data: bytes) -> None:
    pod = msgspec.json.decode(data, type=SeenPod)
    _ = msgspec.json.decode(data, type=SeenJob).failure
    msgspec.json.decode(data, type=SeenEvent)
    node = msgspec.json.decode(data, type=SeenNode)
    other = msgspec.json.decode(data, type=SeenPod)
    nodes.node_facts(node)
    nodes.neighbours([other])
    phases.why_pending([pod], [" Warning x"])
    job, event = msgspec.json.decode(data, type=SeenJob), msgspec.json.decode(data, type=SeenEvent)
    list(refusals.obstacles([pod], [event], dict, lacks_workers=True, has_starter=False))
    quotas.never(f"exceeded quota: q, {event.message}", {})
    queueing.queue_position([pod], job, [event])
    watched = node_watch.Nodes()
    watched.take(msgspec.Raw(data))
    list(watched.losses([pod]))
    phases.disruption(pod)
    phases.ended_badly(pod)
    phases.is_pull(pod)
    phases.phase_of([pod], 1, has_launcher_last=True)


def _attachments(data: bytes) -> None:
    attachments.duplicate_address("net1", [as_text(data)] * 2)


def _limits(data: bytes) -> None:
    files = read_records(as_text(data))
    control_groups.cpu_limit(files)
    control_groups.throttled_share(files, files, 1.0)


def _packed() -> bytes:
    piece = base64.b64encode(gzip.compress(b"1.5 us\n")).decode()
    return f"hello\n\x1etare piece stdout 0 {piece}\n".encode() + packed({"landed": _STEPS[0].decode()})


def _log(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "folder")
        folder.mkdir()
        for role in ("launcher", "server"):
            receiver = Receiver(folder, role, {"stdout"}, 2**20)
            for line in lines([data[:50], data[50:]]):
                receiver.take(line)
            with contextlib.suppress(ValueError):
                if receiver.lacks() == []:
                    receiver.keep_record()
            receiver.problem()
        keep_failure(as_text(data), folder)
        record.read_complete(folder)
        if sum(one.stat().st_size for one in folder.rglob("*")) > 2**22 or [*Path(name).iterdir()] != [
            folder
        ]:
            raise ValueError("more was written than is allowed")


def _transport(data: bytes) -> None:
    lines = data.decode(errors="surrogateescape").splitlines(keepends=True)
    libraries = (intelmpi, libfabric, openmpi, ucx)
    words = [word for one in libraries for line in lines for word in one.parse(line)]
    for one in libraries:
        any(one.is_chatter(line) for line in lines)
    describe(words)
    for provider in ("tcp", "verbs", "mlx"):
        contradiction(Network(interface="fab0", provider=provider), words)
        confirms(Network(interface="fab0", provider=provider), words)


def _reasons(data: bytes) -> None:
    head, _, tail = data.partition(b"##### stdout\n")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "stderr").write_bytes(head)
        (folder / "stdout").write_bytes(tail)
        for look in (reason_of, error_of, abort_of):
            told = look(folder, ["stderr", "stdout"])
            if not told.isprintable():
                raise ValueError(f"a reason that cannot be shown: {told!r}")


def _redacted(data: bytes) -> None:
    text = as_text(data)
    redact_text(text)
    redact_words(text.split(" ")[:200])
    visible_json(json.dumps(visible(text)))
