"""Build the scripts that pods run, and collect their input files. Pure, but for reading both."""

from __future__ import annotations

import base64
import hashlib
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from tare.core.errors import UsageError
from tare.core.rank_variables import with_rank
from tare.core.scheduler import Step, Task
from tare.core.units import format_bytes
from tare.core.user_files import read_given
from tare.plugins.backends.kubernetes.objects.created import ConfigMap, Meta
from tare.plugins.backends.kubernetes.objects.naming import CAMPAIGN, MANAGED_BY, origin
from tare.plugins.backends.kubernetes.options import HOSTFILE, KubernetesOptions
from tare.probes.traffic import traffic_script

MOST_KIB = 4096
"""Larger files are not sent through the log, of which the kubelet keeps 10 MiB (containerLogMaxSize)."""

SAMPLER = "sampler.py"
"""The program that samples a pod's counters, if the study has telemetry."""

COUNTER = "counter.py"
"""The program that counts a pod's packets, if packets are counted."""

_SCRIPTS = Path(__file__).with_name("scripts")
MOST_INPUT = 900 * 1024
"""The most bytes of input files in a ConfigMap; etcd takes 1 MiB of one, with all names."""

_OWN = frozenset({"command.json", "manifests.yaml"})

Inputs = Mapping[str, str | bytes]
"""The input files of a task by their path in its folder: text, or bytes that are no text."""


def files_of(task: Task) -> Inputs:
    """Return the input files of a task. Raises UsageError if they are larger than a ConfigMap may be."""
    paths = sorted(one for one in task.folder.rglob("*") if one.is_file())
    found = {str(one.relative_to(task.folder)): one for one in paths}
    try:
        return read_files({name: path for name, path in found.items() if name not in _OWN})
    except ValueError as error:
        cure = "give the platform 'kubernetes: {work: {claim: …, path: …}}', a claim that holds the campaigns"
        raise UsageError(f"{task.name}: {error}; {cure}") from error


def read_files(paths: Mapping[str, Path]) -> Inputs:
    """Return the content of files by name.

    Raises ValueError if they are larger than a ConfigMap may be, and OSError for what is no file.
    """
    n_bytes = sum(path.stat().st_size for path in paths.values())
    if n_bytes > MOST_INPUT:
        size = format_bytes(n_bytes)
        raise ValueError(
            f"its input files are more than a ConfigMap holds ({size} of {MOST_INPUT >> 10} KiB)"
        )
    return {name: _content(read_given(path, MOST_INPUT)) for name, path in paths.items()}


def _content(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def probe_script() -> str:
    """Return the script that prints facts of a pod: its small files, and its network traffic."""
    return (_SCRIPTS / "probe.sh").read_text() + traffic_script()


def rank_script() -> str:
    """Return the script through which each rank in a pod starts."""
    return with_rank((_SCRIPTS / "rank.sh").read_text())


def config_map(task: Task, options: KubernetesOptions, facts: str, inputs: Inputs) -> ConfigMap:
    """Return the scripts and `inputs` of a task.

    Its name is a hash of its content, so that the runs of a case share it. `facts` is a shell script that
    each pod runs before the task, to print records (see job_result).
    """
    data = {name: (_SCRIPTS / name).read_text() for name in ("account.sh", "prepare.sh")}
    data["rank.sh"] = rank_script()
    data["probe.sh"] = probe_script()
    data |= {"facts.sh": facts, "task.sh": render(task, options)}
    if task.sampler is not None:
        data[SAMPLER] = task.sampler.program.read_text(encoding="utf-8")
    if task.counter is not None:
        data[COUNTER] = task.counter.program.read_text(encoding="utf-8")
    binary: dict[str, str] = {}
    for key, path in input_keys(inputs).items():
        content = inputs[path]
        if isinstance(content, str):
            data[key] = content
        else:
            binary[key] = base64.b64encode(content).decode("ascii")
    whole = sorted([*data.items(), *binary.items()])
    digest = hashlib.blake2b(msgspec.json.encode(whole), digest_size=8).hexdigest()
    campaign = task.labels.get("campaign", "")
    return ConfigMap(
        metadata=Meta(
            name=f"tare-{digest}-{campaign}".rstrip("-"),
            namespace=options.namespace,
            labels=MANAGED_BY | ({CAMPAIGN: campaign} if campaign else {}),
            annotations=origin(task),
        ),
        immutable=True,
        data=data,
        binary_data=binary,
    )


def input_keys(inputs: Iterable[str]) -> dict[str, str]:
    """Return the key of each input file in the ConfigMap, whose keys hold no '/'."""
    return {f"input-{number}": path for number, path in enumerate(sorted(inputs))}


def render(task: Task, options: KubernetesOptions) -> str:
    """Return the script that runs a task in its launcher, or in its only pod."""
    lines = [
        f"hostfile={HOSTFILE}",
        f"ssh=({shlex.join(options.ssh)})",
        f"sends_files={'no' if options.work else 'yes'}",
        f"is_pair={'yes' if task.steps[-1].is_pair else 'no'}",
        f"most_kib={MOST_KIB}",
        f"fetched_s={math.ceil(options.timeouts.fetched_s)}",
        "",
        (_SCRIPTS / "send_results.sh").read_text().rstrip(),
        "",
        (_SCRIPTS / "task.sh").read_text().rstrip(),
        "",
        f"task {max(math.ceil(task.timeout_s), 1)}",
        *([f"watch {task.sampler.period_s:g}"] if task.sampler else []),
        *([f"count {shlex.quote(task.counter.interface)}"] if task.counter else []),
        " &&\n".join(_steps(task)),
        "finish",
        'exit "$code"',
    ]
    return "\n".join([*lines, ""])


def _steps(task: Task) -> Iterator[str]:
    """Yield the steps. Those without ranks run in the first worker, because the launcher has few CPUs."""
    if task.own_storage:
        keep = " keep" if task.keeps_storage else ""
        folder = f'{shlex.quote(task.storage_path)}/tare-"$TARE_RUN"'  # the runs of a case share this script
        yield f"own {folder} {shlex.quote(task.steps[0].stderr)}{keep}"
    for step in task.steps:
        yield f"{'step' if step.is_mpi else 'step_on_first'} {shlex.join(_arguments(step))}"


def _arguments(step: Step) -> list[str]:
    env = [f"{name}={value}" for name, value in step.invocation.env.items()]
    return [step.name, step.stdout, step.stderr, *(["env", *env] if env else []), *step.invocation.argv]
