"""Start a lab, find a running one, run commands on its hosts, and stop it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, NoReturn, cast

import msgspec

from tare.core.decoding import decode_json
from tare.core.errors import LabError, UsageError
from tare.core.site import LabSpec
from tare.lab import containers, docker, state, storage
from tare.lab.delay import prefer
from tare.lab.holder import Report, Request
from tare.lab.reaping import wait_reaping
from tare.lab.services import SERVICES, service
from tare.lab.topology import Topology, lay_out

AGENT = Path(__file__).with_name("agent")
"""The command that starts another command on a host of a lab; called as ssh is, and needs `Lab.env`."""

_OPEN_MPI_SESSIONS = "PRTE_MCA_prte_tmpdir_base"
"""Where PRRTE keeps its session folders, named by pid. Pids are used again soon in a lab.

A killed run leaves its folder in /tmp. The next run with the same pid then failed: "The PMIx server's
listener thread failed to start".
"""

_START_TIMEOUT_S = 60.0
_STOP_TIMEOUT_S = 20.0

_ENTER = 'cd -- "$1" || exit 255; shift; exec "$@"'
"""nsenter(1) leaves the working directory in the old mount namespace; few versions have --wdns."""


@dataclasses.dataclass(frozen=True)
class Lab:
    """A running lab. As a context manager, it is stopped at the end."""

    folder: Path
    record: state.Record
    _keeper: subprocess.Popen[bytes] | None = dataclasses.field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """Return the name under which it was started."""
        return self.record.name

    @property
    def spec(self) -> LabSpec:
        """Return the specification from which it was built."""
        return self.record.spec

    @property
    def topology(self) -> Topology:
        """Return its hosts, fabrics and addresses."""
        return lay_out(self.record.spec)

    @property
    def holder_pid(self) -> int:
        """Return the pid of the process whose end ends the whole lab."""
        return self.record.holder.pid

    @property
    def env(self) -> dict[str, str]:
        """Return the environment variables that the agent and the programs in the lab need."""
        env = {"TARE_LAB_DIR": str(self.folder), _OPEN_MPI_SESSIONS: str(self.folder / "prte")}
        for name, one in SERVICES.items():
            if self.has_service(name):
                env |= one.environment(self.folder)
        return env

    def has_service(self, name: str) -> bool:
        """Return whether a service runs in it. Raises UsageError for a name that is not in SERVICES."""
        service(name)
        return self._marker(name).exists()

    def add_service(self, name: str, *, is_complete: bool = False) -> str:
        """Start a service, unless it runs already. Return what users should know about it.

        If it `is_complete`, it has everything that users of a standing lab may want (see services.Service).
        Raises LabError with the reason of a failure, and UsageError for a name that is not in SERVICES.
        """
        one = service(name)
        if self.has_service(name) and not one.is_extensible:
            return ""
        self._begun(name).touch()  # so a start that is killed is known to `stop`
        remark = one.start(self, is_complete=is_complete)
        self._marker(name).touch()
        return remark

    def _marker(self, service: str) -> Path:
        """Return the file that shows that a service runs, as seen from outside the lab."""
        return self.folder / f"has-{service}"

    def _begun(self, service: str) -> Path:
        """Return the file that shows that the start of a service has begun."""
        return self.folder / f"begun-{service}"

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the names of its nodes."""
        return self.topology.nodes

    @property
    def agent(self) -> tuple[str, ...]:
        """Return the command that starts another command on a host; called as ssh is, and needs `env`."""
        return (str(AGENT),)

    @property
    def docker_hosts(self) -> tuple[str, ...]:
        """Return the hosts that have a docker daemon."""
        folder = self._marker("docker")
        return tuple(sorted(path.name for path in folder.iterdir())) if folder.is_dir() else ()

    def add_docker(self, hosts: Sequence[str], images: Sequence[str] = ()) -> None:
        """Start a docker daemon on each of `hosts`, and load those of `images` that are root file systems.

        Daemons and images that exist already are kept. Raises LabError with the reason of a failure.
        """
        docker.bring_up(self, hosts, images)
        folder = self._marker("docker")
        folder.mkdir(exist_ok=True)
        for host in hosts:
            (folder / host).touch()

    def is_running(self) -> bool:
        """Return whether it is still running."""
        return self.record.holder.is_alive()

    def command(self, host: str, argv: Sequence[str]) -> list[str]:
        """Return the command that runs exactly `argv` on `host`, in this working directory.

        Raises UsageError when there is no such host.
        """
        aliases = self.topology.aliases()
        if host not in aliases:
            known = ", ".join(self.topology.hosts)
            raise UsageError(f"the lab {self.name!r} has no host {host!r}; it has {known}")
        options = (self.folder / "hosts" / host).read_text().split()
        return ["nsenter", *options, "--", "/bin/sh", "-c", _ENTER, "sh", str(Path.cwd()), *argv]

    def become(self, host: str, argv: Sequence[str]) -> NoReturn:
        """Replace this process by `argv` on `host`.

        The terminal, signals and exit code are then those of the command.
        """
        command = self.command(host, argv)
        try:
            os.execvpe(command[0], command, os.environ | self.env)  # noqa: S606  # there is no shell
        except FileNotFoundError:
            raise LabError("nsenter is not there; install util-linux") from None

    def stop(self) -> None:
        """Kill every process of the lab; its links and mounts end with them. Do nothing if it has ended."""
        # The keeper removes the folder, so this is asked before.
        had_containers = self.has_service("docker") or self._begun("containers").exists()
        _kill(self.record.holder)
        if self._keeper is not None:
            if self._keeper.stdin is not None:
                self._keeper.stdin.close()
            self._keeper.wait(_STOP_TIMEOUT_S)
        if had_containers:
            containers.forget_cgroups()
        state.remove(self.folder)

    def __enter__(self) -> Lab:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


def start(spec: LabSpec, *, name: str = "lab", owned: bool) -> Lab:
    """Build the lab that `spec` describes; return when it is ready.

    An owned lab ends with this process, and only this process knows it. Any other lab goes on as a daemon,
    which `find` finds by `name`. Raises LabError with the reason and the cure. Raises UsageError when `spec`
    or `name` is not possible, or a lab of that name exists already.
    """
    lay_out(spec)
    base = state.base_folder()
    folder = state.folder_of(base, name)
    with state.locked(base):
        state.prune(base)
        if owned:
            folder = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=base))
        else:
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                if why := state.obstacle(folder):
                    raise LabError(why) from None
                raise UsageError(
                    f"the lab {name!r} is up already; stop it with: tare lab down --name {name}"
                ) from None
        try:
            keeper = _launch(Request(name, spec, owned), folder)
        except LabError:
            state.remove(folder)
            raise
    record = state.read(folder)
    if record is None:
        raise LabError(f"the lab {name!r} ended as soon as it was built")
    lab = Lab(folder, record, keeper)
    for pid in record.switches.values():
        prefer(pid)
    if spec.storage:
        _with_storage(lab)
    return lab


def _with_storage(lab: Lab) -> None:
    """Mount the storage paths; stop the lab if that fails, or is interrupted."""
    try:
        storage.bring_up(lab, lab.topology)
    except BaseException:
        lab.stop()
        raise


def find(name: str = "lab") -> Lab | None:
    """Return the running lab of that name, or None; remove the files of one that has ended.

    None, too, for a lab that can be neither used nor ended from here (see `obstacle`).
    """
    base = state.base_folder()
    folder = state.folder_of(base, name)
    record = state.read(folder)
    if record is None or state.obstacle(folder):
        return None
    if state.is_stale(record):
        with state.locked(base):
            state.prune(base)
        containers.forget_cgroups()  # of a lab that was killed
        return None
    return Lab(folder, record)


def obstacle(name: str) -> str:
    """Return why a lab of that name can be neither used nor ended from here; else empty."""
    return state.obstacle(state.folder_of(state.base_folder(), name))


def _launch(request: Request, folder: Path) -> subprocess.Popen[bytes] | None:
    """Start the holder and wait until the lab is built; return its process if the lab is owned."""
    with (folder / "holder.log").open("wb") as log:
        # A session of its own: an interrupt at the terminal must not end the lab before the jobs in it.
        keeper = subprocess.Popen(
            [sys.executable, "-P", "-m", "tare.lab.holder", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd="/",
            start_new_session=True,
        )
    requests, reports = cast(IO[bytes], keeper.stdin), cast(IO[bytes], keeper.stdout)
    with _ended_on_error(keeper):
        requests.write(msgspec.json.encode(request) + b"\n")
        requests.flush()
        ready, _, _ = select.select([reports], [], [], _START_TIMEOUT_S)
        line = reports.readline() if ready else b""
        reports.close()
        if not line:
            log_text = (folder / "holder.log").read_text(errors="replace").strip()
            reason = (
                f"its holder ended: {log_text}" if ready else f"it took longer than {_START_TIMEOUT_S:g} s"
            )
            raise LabError(f"the lab cannot be built: {reason}")
        report = decode_json(line, type=Report)
        if report.error:
            raise LabError(f"the lab cannot be built: {report.error}")
    if request.is_owned:
        return keeper
    requests.close()
    keeper.wait(_STOP_TIMEOUT_S)
    return None


@contextlib.contextmanager
def _ended_on_error(keeper: subprocess.Popen[bytes]) -> Iterator[None]:
    """Kill the keeper, and with it a half-built lab, when anything goes wrong, also on an interrupt."""
    try:
        yield
    except BaseException:
        # A daemonised keeper is not the process that we started, but is still in its session.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(keeper.pid, signal.SIGKILL)
        keeper.communicate()
        raise


def _kill(process: state.ProcessIdentity) -> None:
    """End `process` with SIGKILL and wait; never one that got the same pid later."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        if process.is_alive():  # so the descriptor refers to this very process
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            if not wait_reaping(descriptor, _STOP_TIMEOUT_S):
                raise LabError(
                    f"the lab's process {process.pid} does not end; some process in it hangs in the kernel"
                )
    finally:
        os.close(descriptor)
