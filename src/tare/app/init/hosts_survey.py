"""Survey hosts over ssh: those that the user names, or the nodes of the job in which this program runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import msgspec

from tare.app.init.dialogue import Dialogue
from tare.core.counting import count
from tare.core.errors import BackendError
from tare.discovery.commands import said_if_slow
from tare.discovery.facts import Allocation, Found, NodeFacts
from tare.discovery.nodes import ASKING_S, SILENT_S, ScriptOf, ask_hosts
from tare.plugins.backends.hosts.commands import HostCommands
from tare.plugins.backends.hosts.openssh import wrapper_script

_MOST_HOSTS = 16


class HostsSurvey:
    """Asks hosts, if the user agrees (`may`). `notes` gets what could not be found out, and why."""

    def __init__(
        self,
        dialogue: Dialogue,
        may: Callable[[str], bool],
        script: ScriptOf,
        origins: Mapping[str, str],
        notes: list[str],
    ) -> None:
        self._dialogue, self._may, self._script = dialogue, may, script
        self._origins, self._notes = origins, notes
        self._ssh_script = str(wrapper_script("ssh") or "")

    def of_hosts(self, found: Found, hosts: tuple[str, ...]) -> tuple[Found, bool]:
        """Return `found` with the hosts, and whether ranks may start. Raises BackendError if none answers."""
        reported = len(self._notes)
        nodes, may_try = self._ask(hosts)
        if may_try and not nodes:
            raise BackendError("; ".join(self._notes[reported:]) or "no host could be asked")
        return self._with_hosts(found, hosts, nodes), may_try

    def of_allocation(self, found: Found, allocation: Allocation) -> tuple[Found, bool] | None:
        """Return `found` with the nodes of a job, and whether ranks may start; None if ssh reaches none."""
        where = f"{allocation.title} job {allocation.job}"
        names = ", ".join(allocation.hosts[:4]) + (", …" if len(allocation.hosts) > 4 else "")
        self._dialogue.say(f"found    this is {where}, on {names} ({allocation.origin})")
        reported = len(self._notes)
        nodes, may_try = self._ask(allocation.hosts)
        if may_try and not nodes:
            reasons = "; ".join(self._notes[reported:])
            self._notes[reported:] = [f"the nodes of {where}, since ssh reaches none of them: {reasons}"]
            return None
        with_hosts = self._with_hosts(found, allocation.hosts, nodes)
        return msgspec.structs.replace(with_hosts, allocation=allocation), may_try

    def _with_hosts(self, found: Found, hosts: tuple[str, ...], nodes: tuple[NodeFacts, ...]) -> Found:
        via = "over ssh" if nodes else ""
        return msgspec.structs.replace(found, hosts=hosts, ssh_script=self._ssh_script, nodes=nodes, via=via)

    def _ask(self, hosts: tuple[str, ...]) -> tuple[tuple[NodeFacts, ...], bool]:
        """Return what hosts say, if the user agrees, and whether she does."""
        asked = hosts[:_MOST_HOSTS]
        self._dialogue.say(
            f"To see their networks, folders and MPIs, a script of seconds runs on {', '.join(asked)}:",
            f"  {self._ssh_script or 'ssh'} HOST sh -c …",
            f"Then each MPI that is found starts two ranks on {' and '.join(asked[:2])}.",
        )
        if not self._may("run these"):
            self._notes.append(f"networks, folders and MPIs of {', '.join(asked)}, since none was asked")
            return (), False
        if len(asked) < len(hosts):
            self._notes.append(f"only the first {len(asked)} of {count(len(hosts), 'host')} were asked")
        reach = HostCommands((self._ssh_script or "ssh",), os.environ)

        def ask(host: str, script: str) -> str:
            return reach.run({host: script}, timeout_s=ASKING_S, silence_s=SILENT_S)[host]

        try:
            waits = "waits    hosts are looked at: modules, EESSI and Spack may take a minute each"
            with self._dialogue.busy("hosts over ssh"), said_if_slow(self._dialogue.say, waits):
                return ask_hosts(asked, ask, self._script, self._origins, self._notes.append), True
        finally:
            reach.close()
