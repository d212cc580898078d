"""Survey a Kubernetes cluster: find, try by dry runs, and ask for what the API cannot know."""

from __future__ import annotations

import re

import msgspec

from tare.app.init.dialogue import Dialogue
from tare.app.init.kubernetes_draft import KubernetesChoice, has_operator, memory_of_pods, with_places
from tare.app.init.site_draft import Stated
from tare.core.counting import count
from tare.core.errors import BackendError, UsageError, shown
from tare.discovery.commands import Report
from tare.discovery.facts import NodeFacts
from tare.discovery.kubernetes import find_kubernetes
from tare.discovery.kubernetes_facts import Context, KubernetesFacts
from tare.discovery.node_probe import probe_script, read_node
from tare.plugins.backends.kubernetes.api.cluster import Cluster
from tare.plugins.backends.kubernetes.checks.admission import admission, as_users
from tare.plugins.backends.kubernetes.checks.short_job import run_short_job
from tare.plugins.backends.kubernetes.options import KubernetesOptions, Seccomp

_EXAMPLE = "docker.io/mpioperator/mpi-pi:openmpi"
_LAUNCHERS = ("openmpi4", "openmpi5", "mpich", "intelmpi")
_OF_JOBS = {"OpenMPI": "openmpi4", "MPICH": "mpich", "Intel": "intelmpi"}
_IN_NAMES = (
    (r"openmpi-?v?5|ompi5", "openmpi5"),
    (r"openmpi|ompi", "openmpi4"),
    (r"intel|oneapi", "intelmpi"),
    (r"mpich|mvapich", "mpich"),
)
_PREFIXES = (
    *("/opt/openmpi", "/opt/openmpi4", "/opt/openmpi5", "/opt/mpich", "/opt/intelmpi", "/opt/mvapich"),
    *("/opt/hpcx/ompi", "/opt/amazon/openmpi", "/opt/intel/oneapi/mpi/latest"),
    *("/usr/lib64/openmpi", "/usr/lib64/mpich", "/usr/local"),
)
"""Where images have MPIs that are not on the PATH."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")  # RFC 1123
_PATIENCE_S, _JOB_S = 10.0, 300


class ClusterWishes(msgspec.Struct, frozen=True, kw_only=True):
    """What the user said of a cluster. `job` names the Job that looks into the image; empty for none."""

    namespace: str = ""
    image: str = ""
    job: str = ""


def survey_kubernetes(
    context: Context, wishes: ClusterWishes, dialogue: Dialogue, report: Report
) -> tuple[KubernetesFacts, KubernetesChoice]:
    """Return what a cluster has, and what was chosen. Nothing is made in it but the Job that is announced.

    Raises BackendError or UsageError if its API server cannot be reached.
    """
    name = wishes.namespace or context.namespace
    if not _NAME.fullmatch(name):
        raise UsageError(f"{shown(name)} is not the name of a namespace; use a-z, 0-9 and '-'")
    options = KubernetesOptions(
        image=wishes.image or _EXAMPLE,
        namespace=name,
        context=context.name,
    )
    cluster = Cluster.connect(options, _PATIENCE_S)
    try:
        with dialogue.busy(f"Kubernetes, context {context.name}"):
            facts = find_kubernetes(cluster, context, report)
        n_nodes = sum(len(one.nodes) for one in facts.groups)
        dialogue.say(
            f"found    Kubernetes {facts.version}: context {context.name}, namespace {facts.namespace}, "
            f"{count(n_nodes, 'node that takes', 'nodes that take')} pods"
        )
        dialogue.say("         pods are tried by dry runs, which make nothing in the cluster")
        chosen = _image(facts, wishes.image, dialogue)
        memory = int(str(memory_of_pods(facts).value))
        options = msgspec.structs.replace(options, image=str(chosen.value), memory_bytes=memory)
        user, taken = _user(cluster, options, report)
        host = admission(cluster, taken, is_host=True)
        inside = (
            _look_inside(cluster, facts, taken, wishes, dialogue, report) if has_operator(facts) else None
        )
    finally:
        cluster.close()
    choice = KubernetesChoice(
        image=chosen,
        launcher=_launcher(facts, chosen, dialogue) if inside is None else None,
        inside=inside,
        user=user,
        is_root_by_constraint=taken.seccomp is Seccomp.CLUSTER,
        host_refusal=host.refusal,
    )
    return facts, choice


def _image(facts: KubernetesFacts, wanted: str, dialogue: Dialogue) -> Stated:
    if wanted:
        return Stated(wanted, "named by --image")
    used = next((one for one in facts.images if "${" not in one.image), None)
    default = used.image if used else _EXAMPLE
    chosen = dialogue.ask("Image with your programs, bash, MPI and sshd", default)
    if chosen != default:
        return Stated(chosen, "named when `tare init` asked")
    if used:
        return Stated(chosen, f"workers of MPIJob {used.job} run in it")
    return Stated(chosen, "a guess, the MPI Operator's example: name the image that has your programs")


def _launcher(facts: KubernetesFacts, image: Stated, dialogue: Dialogue) -> Stated:
    if not has_operator(facts):
        return Stated("none", "no MPI Operator starts ranks here; with it, the MPI in the image")
    job = next((one for one in facts.images if one.image == image.value and one.mpi in _OF_JOBS), None)
    if job is not None:
        default, origin = _OF_JOBS[job.mpi], f"mpiImplementation of MPIJob {job.job}"
    else:
        default = next((name for form, name in _IN_NAMES if re.search(form, str(image.value))), _LAUNCHERS[0])
        origin = "a guess by the image's name: the MPI in the image"
    chosen = dialogue.choose("MPI in the image", _LAUNCHERS, default)
    return Stated(chosen, origin if chosen == default else "named when `tare init` asked")


def _user(cluster: Cluster, options: KubernetesOptions, report: Report) -> tuple[Stated, KubernetesOptions]:
    """Return as whom pods run, and the options with which they are taken."""
    refusals = []
    for one in as_users(options):
        found = admission(cluster, one)
        if not found.refusal:
            under = f" under {found.constraint}" if found.constraint else ""
            return Stated(one.user, f"a pod of this user is taken{under}, by a dry run"), one
        refusals.append(found.refusal)
    report(f"as which user pods are taken: {refusals[0]}")
    return Stated(options.user, "not known: dry runs were refused"), options


def _look_inside(
    cluster: Cluster,
    facts: KubernetesFacts,
    options: KubernetesOptions,
    wishes: ClusterWishes,
    dialogue: Dialogue,
    report: Report,
) -> NodeFacts | None:
    """Return what a pod of the image reports about it; None where no Job was allowed, or it failed."""
    what = f"what is in {options.image}"
    if not wishes.job:
        report(f"{what}, since no job was run")
        return None
    dialogue.say(
        "To see which MPIs the image has, this Job of seconds runs in one pod, and is deleted then:",
        f"  {facts.namespace}/{wishes.job}: {options.image}, 1 CPU",
    )
    if not dialogue.confirm("May tare init run it?"):
        report(f"{what}, since no job was run")
        return None
    script = probe_script(node="image", prefixes=_PREFIXES)
    try:
        with dialogue.busy("a Job in the cluster (Ctrl-C deletes it)"):
            text = run_short_job(cluster, with_places(options, facts), wishes.job, script, _JOB_S)
    except BackendError as error:
        report(f"{what}: {error}")
        return None
    inside = read_node(text, dict.fromkeys(_PREFIXES, "in the image"))
    if inside is None:
        report(f"{what}: its pod did not report to the end")
    return inside
