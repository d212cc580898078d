"""Survey a place: call the finders one after the other, and ask its user what they cannot know."""

from __future__ import annotations

import getpass
import os
import secrets
import shlex
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from tare.app.init.dialogue import Dialogue
from tare.app.init.draft import Choice
from tare.app.init.kubernetes_survey import ClusterWishes, survey_kubernetes
from tare.core.errors import BackendError, CampaignError, UsageError
from tare.discovery.batch_systems import find_batch_systems
from tare.discovery.commands import Commands
from tare.discovery.facts import BatchSystem, Found, NodeFacts, Partition, SlurmFacts
from tare.discovery.file_systems import candidates, read_mounts
from tare.discovery.kubernetes_contexts import find_contexts
from tare.discovery.kubernetes_facts import Context
from tare.discovery.node_probe import probe_script
from tare.discovery.nodes import ask_hosts, ask_slurm, ask_this_machine, srun_command
from tare.discovery.slurm import find_slurm
from tare.lab.mpi import DISTRIBUTIONS, is_installed, mpi_folder
from tare.plugins.backends.hosts.openssh import wrapper_script
from tare.plugins.backends.ownership import sessions
from tare.plugins.backends.process.backend import ProcessBackend

_WAIT_S = 300
_MOUNTINFO = Path("/proc/self/mountinfo")
_STAGING = "/var/tmp"  # noqa: S108  # where hosts get copies; each has a folder of its own there
_MOST_HOSTS = 16


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What the user said at the start. Without `allows_jobs`, nothing runs on nodes of a batch system."""

    folder: Path
    hosts: tuple[str, ...] = ()
    partition: str = ""
    account: str = ""
    context: str = ""
    namespace: str = ""
    image: str = ""
    allows_jobs: bool = True


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
        self.folders, self.prefixes = _folders(self.user), _prefixes()
        self.ssh_script = str(wrapper_script("ssh") or "") if wishes.hosts else ""
        self.origins: Mapping[str, str] = self.folders | self.prefixes

    def run(self) -> Survey:
        with self.dialogue.busy("batch systems"):
            is_asked = not self._names_other_place()
            slurm = find_slurm(self.commands, self.user, self.notes.append) if is_asked else None
            others = tuple(find_batch_systems(self.commands, self.notes.append))
        if slurm and not any(one.is_up and one.nodes for one in slurm.partitions):
            self.notes.append("Slurm answers, but has no partition that is up")
            slurm = None
        if slurm:
            names = ", ".join(one.name for one in slurm.partitions)
            self.dialogue.say(f"found    Slurm {slurm.version}: partitions {names}")
        for other in others:
            self.dialogue.say(f"found    {other.title} {other.version}")
        contexts = self._contexts()
        context = self._place(slurm, contexts)
        if context and (cluster := self._in_cluster(context, others, contexts)):
            return cluster
        choice = self._choice(slurm) if slurm else Choice()
        nodes, via, may_try = self._nodes(slurm, choice)
        if self.wishes.hosts and not all(one.sees_folder for one in nodes):
            choice = msgspec.structs.replace(choice, staging=_STAGING)
        found = Found(
            host=socket.gethostname(),
            slurm=slurm,
            batch_systems=others,
            contexts=contexts,
            hosts=self.wishes.hosts,
            ssh_script=self.ssh_script,
            nodes=nodes,
            via=via,
            notes=tuple(self.notes),
        )
        return Survey(found=found, choice=choice, may_try=may_try)

    def _names_other_place(self) -> bool:
        """Return whether the user named hosts or a cluster, so that Slurm is not asked."""
        return bool(self.wishes.hosts) or self._names_cluster()

    def _names_cluster(self) -> bool:
        own = self.wishes
        return bool(own.context or own.namespace or own.image)

    def _contexts(self) -> tuple[Context, ...]:
        """Return the contexts of Kubernetes, if a cluster may be meant."""
        if self.wishes.hosts or self.wishes.partition or self.wishes.account:
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
        up = [one for one in slurm.partitions if one.is_up and one.nodes]
        names = [one.name for one in up]
        if self.wishes.partition and self.wishes.partition not in names:
            raise UsageError(
                f"no partition {self.wishes.partition!r} is up; --partition takes one of {', '.join(names)}"
            )
        name = self.wishes.partition or self.dialogue.choose("Partition for the runs", names, names[0])
        partition = next(one for one in up if one.name == name)
        return Choice(partition=partition, account=self._account(slurm, partition))

    def _account(self, slurm: SlurmFacts, partition: Partition) -> str:
        here = [one.name for one in slurm.accounts if one.partition in ("", partition.name)]
        accounts = list(dict.fromkeys(here))
        if self.wishes.account and accounts and self.wishes.account not in accounts:
            raise UsageError(
                f"no account {self.wishes.account!r}; --account takes one of {', '.join(accounts)}"
            )
        if self.wishes.account or len(accounts) < 2:
            return self.wishes.account
        default = "Slurm's default"
        chosen = self.dialogue.choose("Account to charge", [default, *accounts], default)
        return "" if chosen == default else chosen

    def _nodes(self, slurm: SlurmFacts | None, choice: Choice) -> tuple[tuple[NodeFacts, ...], str, bool]:
        """Return the facts of nodes, how they were asked, and whether platforms may be tried there."""
        with _marker(self.wishes.folder) as marker:
            if self.wishes.hosts:
                with self.dialogue.busy("hosts over ssh"):
                    nodes = self._ask_hosts(marker)
                if not nodes:
                    raise BackendError("; ".join(self.notes) or "no host could be asked")
                return nodes, "over ssh", self._may("start two ranks of each MPI on two hosts")
            if slurm and choice.partition:
                return self._ask_slurm(choice, marker)
            with self.dialogue.busy("this machine"):
                return self._ask_here(marker), "this machine", True

    def _ask_here(self, marker: Path) -> tuple[NodeFacts, ...]:
        script = self._script("", marker)
        return ask_this_machine(self.commands, script, self.origins, self.notes.append)

    def _ask_hosts(self, marker: Path) -> tuple[NodeFacts, ...]:
        hosts = self.wishes.hosts[:_MOST_HOSTS]
        if len(hosts) < len(self.wishes.hosts):
            self.notes.append(f"only the first {len(hosts)} of {len(self.wishes.hosts)} hosts were asked")
        label = str(sessions.new_session("init"))
        with ProcessBackend(label=label, agent=(self.ssh_script or "ssh",), hosts=hosts) as backend:

            def ask(host: str, script: str) -> str:
                return backend.ask([host], script)[host]

            def script(node: str) -> str:
                return self._script(node, marker)

            return ask_hosts(hosts, ask, script, self.origins, self.notes.append)

    def _ask_slurm(self, choice: Choice, marker: Path) -> tuple[tuple[NodeFacts, ...], str, bool]:
        partition = choice.partition
        n_nodes = min(2, len(partition.nodes)) if partition else 0
        options = {"partition": partition.name if partition else None, "account": choice.account or None}
        command = srun_command(n_nodes, options, _WAIT_S)
        self.dialogue.say(
            f"To see networks, folders and MPIs of compute nodes, this job of seconds runs on {n_nodes}:",
            f"  {shlex.join(command)} sh -c …",
            "Then each MPI that is found starts two ranks on two nodes, in a job of its own.",
        )
        if not self._may("run these jobs"):
            self.notes.append("networks, folders and MPIs of compute nodes, since no job was run")
            return (), "", False
        with self.dialogue.busy("a job on compute nodes (Ctrl-C cancels it)"):
            script = self._script("", marker)
            nodes = ask_slurm(self.commands, command, _WAIT_S, script, self.origins, self.notes.append)
        for one in nodes:
            if not one.sees_folder:
                self.notes.append(
                    f"{one.node} does not see {self.wishes.folder}: campaigns must lie where it does"
                )
        return nodes, "in a job of Slurm", bool(nodes)

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
        with CampaignError.for_writes(folder):
            file = stack.enter_context(tempfile.NamedTemporaryFile(prefix=".tare-init.", dir=folder))
        yield Path(file.name).resolve()
