"""The common part of podman and docker: most of docker's command line (docker-run(1), podman-run(1))."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from tare.core.containers import ContainerOptions
from tare.core.job_label import VARIABLE
from tare.core.launch import CONTAINER_LABEL as LABEL
from tare.core.launch import Invocation
from tare.core.site import Platform
from tare.plugins.runtimes.contents import binds_of, options_of, own_path

_PASSED_ON = (VARIABLE, "TARE_LAB_DIR", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "DOCKER_HOST")
"""Variables that a command in a container needs, to be found and to reach containers on other hosts."""


class Engine:
    """A runtime with docker's command line.

    Its containers share everything with their host except its files.
    """

    name: str
    agent = Path(__file__).with_name("agent")

    _prologue = ""
    _given = ""
    """Options of every container that must be written by a shell on its host.

    `_prologue` is the shell code that they need before them.
    """

    def wrap(self, program: Invocation, platform: Platform, folder: str) -> Invocation:
        """Return `program` in a container of its own (see core.launch.Runtime)."""
        options = options_of(self.name, platform)
        argv = [
            "bash",
            "-c",
            self._run_script(program.env),
            self._program(options),
            "--rm",
            *self._sharing(options),
        ]
        argv += ["--volume", "/tmp:/tmp"]  # noqa: S108  # MPIs keep the sockets to their ranks here
        for bind in binds_of(self.name, options, folder):
            argv += _volume(bind)
        argv += ["--workdir", folder, *options.options, *self._image(options), *program.argv]
        return Invocation(argv=tuple(argv), env=program.env)

    def start(self, platform: Platform, container: str, binds: Sequence[str]) -> Invocation:
        """Return the command that starts a long-lived container (see core.launch.Engine)."""
        options = options_of(self.name, platform)
        before = self._prologue + self._free_name(container)
        script = f'{before}exec "$0" run --label "{LABEL}=${VARIABLE}" {self._given} "$@"'
        argv = ["bash", "-c", script, self._program(options)]
        argv += ["--rm", "--detach", "--name", container, "--env", VARIABLE, *self._sharing(options)]
        for path in dict.fromkeys(binds):
            argv += _volume(own_path(self.name, path))
        for bind in binds_of(self.name, options):
            argv += _volume(bind)
        # BusyBox lacks `sleep infinity`; the trap lets the container end at once on SIGTERM.
        idle = "trap 'exit 0' TERM; while :; do sleep 3600 & wait; done"
        argv += [*options.options, *self._image(options), "/bin/sh", "-c", idle]
        return Invocation(argv=tuple(argv))

    def enter(self, program: Invocation, platform: Platform, container: str, folder: str) -> Invocation:
        """Return the command that runs `program` in an existing container (see core.launch.Engine)."""
        argv = [self._program(options_of(self.name, platform)), "exec"]
        for name in dict.fromkeys((*program.env, *_PASSED_ON)):
            argv += ["--env", name]
        return Invocation(
            argv=(*argv, "--workdir", folder, container, *program.argv),
            env=program.env,
        )

    def agent_environment(
        self, platform: Platform, prefix: str, folder: str, agent: Sequence[str]
    ) -> dict[str, str]:
        """Return the variables that the agent reads (see core.launch.Engine, and the agent itself)."""
        words = [
            self._program(options_of(self.name, platform)),
            "exec",
            "--env",
            VARIABLE,
            "--workdir",
            folder,
        ]
        return {
            "TARE_SITE_AGENT": " ".join(agent),
            "TARE_CONTAINER_EXEC": shlex.join(words),
            "TARE_CONTAINER_PREFIX": prefix,
        }

    def find(self, platform: Platform) -> tuple[str, ...]:
        """Return the command that lists the containers of Tare with their labels (see core.launch.Engine)."""
        program = self._program(options_of(self.name, platform))
        return (program, "ps", "--all", "--filter", f"label={LABEL}", "--format", "{{.ID}} {{.Labels}}")

    def remove(self, platform: Platform, containers: Sequence[str]) -> tuple[str, ...]:
        """Return the command that removes containers, running or not (see core.launch.Engine)."""
        return (self._program(options_of(self.name, platform)), "rm", "--force", *containers)

    def identify(self, platform: Platform) -> tuple[str, ...]:
        """Return the command that prints the image's digest (see core.launch.Engine)."""
        options = options_of(self.name, platform)
        if options.image is None:
            return ()
        return (self._program(options), "image", "inspect", "--format", "{{.Id}}", options.image)

    def _run_script(self, names: Iterable[str]) -> str:
        """Return shell text that starts a container.

        Only a shell on the host knows the variables from a rank's MPI. Variables called `names`, and those
        that the module `variables` permits, are passed into the container.
        """
        raise NotImplementedError

    def _free_name(self, container: str) -> str:
        """Return shell text that frees a container's name if the engine keeps it for no container."""
        return ""

    def _program(self, options: ContainerOptions) -> str:
        return options.program or self.name

    def _sharing(self, options: ContainerOptions) -> list[str]:
        """Return options for sharing names, processes, memory, network and devices with the host."""
        argv = ["--network", options.network, "--pid", "host"]
        if options.network == "host":
            argv += ["--uts", "host", "--volume", "/etc/hosts:/etc/hosts:ro"]
        argv += ["--shm-size", str(options.shm_bytes)] if options.shm_bytes else ["--ipc", "host"]
        for device in options.devices:
            argv += ["--device", device]
        if options.is_memlock_unlimited:
            argv += ["--ulimit", "memlock=-1:-1"]
        return argv

    def _image(self, options: ContainerOptions) -> list[str]:
        """Return the words that name the container's image or root file system.

        They are the last words for the engine itself.
        """
        raise NotImplementedError


def _volume(bind: tuple[str, str, bool]) -> list[str]:
    source, target, is_read_only = bind
    return ["--volume", f"{source}:{target}{':ro' if is_read_only else ''}"]
