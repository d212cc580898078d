"""Survey a place: call the finders one after the other, and ask its user what they cannot know."""

from __future__ import annotations

import getpass
import grp
import os
import secrets
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec

from tare.app.init.dialogue import Dialogue
from tare.app.init.draft import Choice
from tare.app.init.hosts_survey import HostsSurvey
from tare.app.init.job_limits import limits_of
from tare.app.init.kubernetes_survey import ClusterWishes, survey_kubernetes
from tare.app.init.node_choice import node_class
from tare.app.init.slurm_choice import Submitter, account_of, partition_of, qos_of
from tare.app.init.slurm_request import request_of
from tare.app.init.slurm_survey import SlurmSurvey
from tare.core.errors import BackendError, CampaignError, UsageError, shown
from tare.discovery.allocations import find_allocation
from tare.discovery.batch_systems import find_batch_systems
from tare.discovery.commands import Commands, said_if_slow
from tare.discovery.facts import Allocation, BatchSystem, Found, NodeFacts, SlurmFacts
from tare.discovery.file_systems import candidates, read_mounts
from tare.discovery.kubernetes_contexts import find_contexts
from tare.discovery.kubernetes_facts import Context
from tare.discovery.node_probe import probe_script
from tare.discovery.nodes import ask_this_machine
from tare.discovery.slurm import find_slurm
from tare.lab.mpi import DISTRIBUTIONS, is_installed, mpi_folder
from tare.plugins.backends.slurm.variables import cluster_of, is_one_cluster

_MOUNTINFO = Path("/proc/self/mountinfo")
_STAGING = "/var/tmp"  # noqa: S108  # where hosts get copies; each has a folder of its own there


WAIT_S = 300
"""How long jobs wait in a queue by default."""


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What the user said at the start. Without `allows_jobs`, nothing runs on nodes of a batch system.

    Jobs that have not started after `wait_s` seconds are given up.
    """

    folder: Path
    hosts: tuple[str, ...] = ()
    partition: str = ""
    account: str = ""
    qos: str = ""
    context: str = ""
    namespace: str = ""
    image: str = ""
    allows_jobs: bool = True
    wait_s: int = WAIT_S


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """What was found and chosen, and whether platforms may be tried on nodes."""

    found: Found
    choice: Choice
    may_try: bool


def survey(commands: Commands, wishes: Wishes, dialogue: Dialogue) -> Survey:
    """Look around. Raises UsageError for a partition or account that is not there."""
    return _Surveyor(commands, wishes, dialogue).run()


class _Surveyor:
    """The state of a survey."""

    def __init__(self, commands: Commands, wishes: Wishes, dialogue: Dialogue) -> None:
        self.commands, self.wishes, self.dialogue = commands, wishes, dialogue
        self.notes: list[str] = []
        self.user = _user()
        self.cluster = cluster_of(os.environ)
        self.folders, self.prefixes = _folders(self.user), _prefixes()
        self.origins: Mapping[str, str] = self.folders | self.prefixes

    def run(self) -> Survey:
        with self.dialogue.busy("batch systems"):
            allocation = None if self._names_other_place() else find_allocation(os.environ, self.commands)
            is_elsewhere = allocation or self._names_other_place()
            slurm = None if is_elsewhere else self._slurm()
            n_known = len(self.notes)
            others = tuple(find_batch_systems(self.commands, self.notes.append))
        self.dialogue.say(*(f"         not known: {note}" for note in self.notes[n_known:]))
        self._say_batch_systems(slurm, others)
        contexts = () if allocation else self._contexts()
        context = self._place(slurm, contexts)
        if context and (cluster := self._in_cluster(context, others, contexts)):
            return cluster
        choice = self._choice(slurm) if slurm else Choice()
        with _marker(self.wishes.folder) as marker:
            found, may_try = self._looked(slurm, choice, allocation, marker)
        if found.hosts and not all(one.sees_folder for one in found.nodes):
            choice = msgspec.structs.replace(choice, staging=_STAGING)
        found = msgspec.structs.replace(
            found, batch_systems=others, contexts=contexts, notes=tuple(self.notes)
        )
        return Survey(found=found, choice=choice, may_try=may_try)

    def _slurm(self) -> SlurmFacts | None:
        """Return the Slurm that is here. Raises BackendError if the user means one that does not answer."""
        if not is_one_cluster(self.cluster):
            raise UsageError(
                f"SLURM_CLUSTERS is {shown(self.cluster)}, and a site is of one cluster; "
                "name one: SLURM_CLUSTERS=NAME tare init ('sacctmgr show cluster' lists them)"
            )
        n_known = len(self.notes)
        slurm = find_slurm(self.commands, self.user, self.notes.append)
        if slurm and any(one.is_up and one.nodes for one in slurm.partitions):
            return slurm
        if slurm and slurm.partitions:
            self.notes.append("Slurm answers, but has no partition that is up")
        reasons = "; ".join(self.notes[n_known:])
        if reasons:
            why = f"Slurm is installed here, and does not answer: {reasons}"
            if slurm:
                why = f"Slurm has no partition for runs: {reasons}"
            if self.wishes.partition or self.wishes.account or self.wishes.qos or self.cluster:
                raise BackendError(f"{why}; does scontrol ping answer?")
            cure = "" if slurm else "; once `scontrol ping` answers, call `tare init --force` here"
            self.dialogue.say(f"         {why}{cure}")
        return None

    def _say_batch_systems(self, slurm: SlurmFacts | None, others: Sequence[BatchSystem]) -> None:
        if slurm:
            names = ", ".join(one.name for one in slurm.partitions)
            self.dialogue.say(f"found    Slurm {slurm.version}: partitions {names}")
        for other in others:
            queues = f": queues {', '.join(other.queues)}" if other.queues else ""
            self.dialogue.say(f"found    {other.title} {other.version}{queues}")

    def _names_other_place(self) -> bool:
        """Return whether the user named hosts or a cluster, so that Slurm is not asked."""
        return bool(self.wishes.hosts) or self._names_cluster()

    def _names_cluster(self) -> bool:
        own = self.wishes
        return bool(own.context or own.namespace or own.image)

    def _contexts(self) -> tuple[Context, ...]:
        """Return the contexts of Kubernetes, if a cluster may be meant."""
        if self.wishes.hosts or self.wishes.partition or self.wishes.account or self.wishes.qos:
            return ()
        return find_contexts(os.environ, Path.home(), self.notes.append)

    def _place(self, slurm: SlurmFacts | None, contexts: Sequence[Context]) -> Context | None:
        """Return the context of the cluster for the runs; None for Slurm, or this machine."""
        own = self.wishes
        by_name = {one.name: one for one in contexts}
        current = next((one.name for one in contexts if one.is_current), "")
        wanted = own.context or (current if own.namespace or own.image else "")
        if wanted in by_name:
            return by_name[wanted]
        if self._names_cluster():
            known = ", ".join(by_name) or "none; KUBECONFIG names their file"
            which = f"no context {wanted!r}" if wanted else "no current context; name one with --context"
            raise UsageError(f"{which}; the contexts are: {known}")
        if not contexts:
            return None
        places = {f"Kubernetes, context {one.name}": one for one in contexts}
        other = f"Slurm {slurm.version}" if slurm else "this machine"
        default = other if slurm or not current else f"Kubernetes, context {current}"
        return places.get(self.dialogue.choose("Place for the runs", [*places, other], default))

    def _in_cluster(
        self, context: Context, others: tuple[BatchSystem, ...], contexts: tuple[Context, ...]
    ) -> Survey | None:
        """Return what a cluster has; None where it does not answer, and the user has not named it."""
        own = self.wishes
        job = f"tare-init-{secrets.token_hex(4)}" if own.allows_jobs else ""
        wishes = ClusterWishes(namespace=own.namespace, image=own.image, job=job)
        try:
            facts, choice = survey_kubernetes(context, wishes, self.dialogue, self.notes.append)
        except (BackendError, UsageError) as error:
            if self._names_cluster():
                raise
            self.notes.append(f"Kubernetes, context {context.name}: {error}")
            self.dialogue.say(f"         Kubernetes, context {context.name}, is left out: {error}")
            return None
        found = Found(
            host=socket.gethostname(),
            batch_systems=others,
            contexts=contexts,
            kubernetes=facts,
            via="the API server",
            notes=tuple(self.notes),
        )
        return Survey(found=found, choice=Choice(kubernetes=choice), may_try=False)

    def _choice(self, slurm: SlurmFacts) -> Choice:
        choose = self.dialogue.choose
        partition, why = partition_of(slurm, self.wishes.partition, _submitter(), choose)
        if why:
            self.dialogue.say(f"chosen   {why}")
        account = account_of(slurm, partition, self.wishes.account, choose)
        qos = qos_of(slurm, partition, account.value, self.wishes.qos, choose)
        limits = limits_of(slurm, partition, node_class(partition)[0], account.value, qos.value)
        origins = tuple(filter(None, (why, account.origin, qos.origin)))
        return Choice(
            partition=partition,
            account=account.value,
            qos=qos.value,
            cluster=self.cluster,
            limits=limits,
            origins=origins,
        )

    def _looked(
        self, slurm: SlurmFacts | None, choice: Choice, allocation: Allocation | None, marker: Path
    ) -> tuple[Found, bool]:
        """Return what nodes say of themselves, and whether platforms may be tried there."""
        found = Found(host=socket.gethostname(), slurm=slurm)
        script = partial(self._script, marker=marker)
        hosts = HostsSurvey(self.dialogue, self._may, script, self.origins, self.notes)
        if self.wishes.hosts:
            return hosts.of_hosts(found, self.wishes.hosts)
        if allocation and (within := hosts.of_allocation(found, allocation)):
            return within
        if slurm and choice.partition:
            nodes, via, may_try = self._ask_slurm(slurm, choice, marker)
            return msgspec.structs.replace(found, nodes=nodes, via=via), may_try
        waits = "waits    this machine is looked at: modules, EESSI and Spack may take a minute each"
        with self.dialogue.busy("this machine"), said_if_slow(self.dialogue.say, waits):
            nodes = ask_this_machine(self.commands, script(""), self.origins, self.notes.append)
        return msgspec.structs.replace(found, nodes=nodes, via="this machine"), True

    def _ask_slurm(
        self, slurm: SlurmFacts, choice: Choice, marker: Path
    ) -> tuple[tuple[NodeFacts, ...], str, bool]:
        partition = choice.partition
        if partition is None:
            return (), "", False
        request = request_of(slurm, partition, choice.limits, choice.account, choice.qos, choice.cluster)
        survey = SlurmSurvey(
            self.commands, self.dialogue, self._may, self.origins, self.notes, self.wishes.wait_s
        )
        script = self._script("", marker)
        nodes, may_try = survey.of_partition(slurm, partition, choice.limits, request, script)
        for one in nodes:
            if not one.sees_folder:
                self.notes.append(
                    f"{one.node} does not see {self.wishes.folder}: campaigns must lie where it does"
                )
        return nodes, "in a job of Slurm" if nodes else "", may_try

    def _may(self, what: str) -> bool:
        return self.wishes.allows_jobs and self.dialogue.confirm(f"May tare init {what}?")

    def _script(self, node: str, marker: Path) -> str:
        return probe_script(
            node=node, marker=str(marker), folders=list(self.folders), prefixes=list(self.prefixes)
        )


def _user() -> str:
    """Return the name of this user; its number where no one has named it, as in pods of OpenShift."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _submitter() -> Submitter:
    return Submitter(groups=_groups(), host=socket.gethostname(), is_root=os.geteuid() == 0)


def _groups() -> set[str]:
    """Return the names of this user's groups: partitions may take only some (slurm.conf(5), AllowGroups)."""
    names = set()
    for number in {os.getegid(), *os.getgroups()}:
        with suppress(KeyError):
            names.add(grp.getgrgid(number).gr_name)
    return names


def _folders(user: str) -> dict[str, str]:
    """Return the folders that may be storage paths, and who names each."""
    mounts = read_mounts(_MOUNTINFO.read_text(errors="replace")) if _MOUNTINFO.exists() else ()
    named: dict[str, str] = {}
    for path, origin in candidates(mounts, os.environ, user):
        if path.isprintable():
            named.setdefault(path, origin)
    return named


def _prefixes() -> dict[str, str]:
    """Return where MPIs of `tare lab setup` are installed, and who names each."""
    folder = mpi_folder()
    return {str(folder / name): "`tare lab setup`" for name in DISTRIBUTIONS if is_installed(name, folder)}


@contextmanager
def _marker(folder: Path) -> Iterator[Path]:
    """Have a file in `folder` that nodes see if they share the folder."""
    with ExitStack() as stack:
        with CampaignError.for_files(folder):
            file = stack.enter_context(tempfile.NamedTemporaryFile(prefix=".tare-init.", dir=folder))
        yield Path(file.name).resolve()
