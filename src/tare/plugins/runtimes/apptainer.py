"""Runtimes `apptainer` and `singularity` (https://apptainer.org/docs/user/latest/cli/apptainer_exec.html)."""

from __future__ import annotations

from collections.abc import Iterable

from tare.core.launch import Invocation
from tare.core.site import Platform
from tare.plugins.runtimes.contents import binds_of, options_of, require_host_resources
from tare.plugins.runtimes.variables import PROXIES, exec_without_others

_OWN = "^(APPTAINER|SINGULARITY|XDG_RUNTIME_DIR$|DBUS_SESSION_BUS_ADDRESS$)"
"""Variables that Apptainer itself reads (apptainer-exec(1))."""


class Apptainer:
    """Runs a rank in a mount namespace of its own.

    Home, /tmp, /dev, /proc, and /sys are the host's. The rank gets only permitted variables of the host's
    environment.
    """

    name = "apptainer"
    _variable = "APPTAINERENV_LD_LIBRARY_PATH"

    def wrap(self, program: Invocation, platform: Platform, folder: str) -> Invocation:
        """Return `program` inside apptainer exec (see core.launch.Runtime)."""
        options = options_of(self.name, platform)
        require_host_resources(self.name, options)
        argv = ["sh", "-c", self._script(program.env, options.source), options.program or self.name, "exec"]
        for bind in binds_of(self.name, options, folder):
            argv += ["--bind", f"{bind.source}:{bind.target}{':ro' if bind.is_read_only else ''}"]
        for device in options.devices:
            argv += ["--bind", f"{device}:{device}"]
        if options.network != "host":
            argv += ["--net", "--network", options.network]
        argv += ["--pwd", folder, *options.options, options.source, *program.argv]
        return Invocation(argv=tuple(argv), env=program.env)

    def _script(self, names: Iterable[str], source: str) -> str:
        """Return shell text that passes on LD_LIBRARY_PATH, the only variable that Apptainer replaces inside.

        Other variables are passed unchanged. The prefix APPTAINERENV_, which --cleanenv would need, is not
        used, because a shell evaluates such values. If an image is downloaded, the proxy variables are kept,
        because Apptainer needs them.
        """
        more = [_OWN, *([PROXIES] if "://" in source else [])]
        hand_on = f'[ -z "$LD_LIBRARY_PATH" ] || export {self._variable}="$LD_LIBRARY_PATH"; '
        return hand_on + exec_without_others(names, more=more)


class Singularity(Apptainer):
    """Apptainer under its former name, and SingularityCE."""

    name = "singularity"
    _variable = "SINGULARITYENV_LD_LIBRARY_PATH"
