"""Set up podman in the lab; its files are in a tmpfs of the lab, so they end with it.

Containers have cgroups of their own, all below CGROUP. The backend gives the sessions of its jobs priority
over all else on a busy machine. Without the same weight, containers would come last: a ping-pong took 26 s
instead of 1.

Sources: containers.conf(5), containers-storage.conf(5).
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from tare.core.errors import LabError
from tare.lab.commands import Hosts, find_program, run, write

CURE = "on Debian: apt install podman runc"

CGROUP = "tare"
"""The parent of all containers' cgroups, for ``--cgroup-parent=/tare``."""

_CGROUPS = Path("/sys/fs/cgroup")
_WEIGHTS = (("cpu/{}/cpu.shares", "88761"), ("{}/cpu.weight", "8668"))
"""The weight of nice −20, if nice 0 has 1024 (sched_prio_to_weight), in each version of cgroups."""

_LONGEST = 48
"""The longest path for podman's files.

With a longer one, podman 4.3 waits 20 s for each container, because the paths of its sockets (unix(7)) are
cut.
"""

_IMAGES = Path("/var/lib/containers/storage")


def environment(folder: Path) -> dict[str, str]:
    """Return the variables by which podman finds its files in the lab whose folder is `folder`."""
    home = folder / "c"
    return {
        "CONTAINERS_CONF": str(home / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(home / "storage.conf"),
    }


def oci_runtime() -> str | None:
    """Return the program that starts containers for podman; runc first, since it supports all cgroups."""
    return find_program("runc") or find_program("crun")


def missing() -> list[str]:
    """Return the programs that podman in the lab needs and that this machine lacks."""
    lacking = [] if shutil.which("podman") else ["podman"]
    return lacking if oci_runtime() else [*lacking, "runc"]


def bring_up(lab: Hosts, host: str) -> None:
    """Set up podman in the lab, and check that `host` can run a container.

    Raises LabError with the reason of a failure.
    """
    if lacking := missing():
        raise LabError(f"containers need {', '.join(lacking)}, which this machine lacks; {CURE}")
    home = lab.folder / "c"
    if len(str(home)) > _LONGEST:
        raise LabError(
            f"{lab.folder} is too long for paths of podman's sockets; set XDG_RUNTIME_DIR to a short path"
        )
    forget_cgroups()
    favour()
    run(lab, host, ["mkdir", "-p", str(home / "trial")])
    write(lab, host, home / "containers.conf", engine_conf(home, oci_runtime() or ""))
    write(lab, host, home / "storage.conf", storage_conf(home, _IMAGES))
    variables = [f"{name}={value}" for name, value in environment(lab.folder).items()]
    try:
        run(lab, host, ["env", *variables, "podman", "run", *_trial(home / "trial")])
    except LabError as error:
        raise LabError(f"the lab runs no containers: {str(error).rpartition(chr(10))[2]}") from error


def forget_cgroups() -> None:
    """Remove the cgroups of containers that have ended with their lab; those in use are kept."""
    for pattern in (
        f"*/{CGROUP}/*/*",
        f"*/{CGROUP}/*",
        f"*/{CGROUP}",
        f"{CGROUP}/*/*",
        f"{CGROUP}/*",
        CGROUP,
    ):
        for path in _CGROUPS.glob(pattern):
            with contextlib.suppress(OSError):  # files, and cgroups in use
                path.rmdir()


def favour() -> None:
    """Give all containers together the weight of a session that the backend favours, if that is possible."""
    for pattern, weight in _WEIGHTS:
        path = _CGROUPS / pattern.format(CGROUP)
        with contextlib.suppress(OSError):
            path.parent.mkdir(exist_ok=True)
            path.write_text(weight)


def _trial(rootfs: Path) -> list[str]:
    """Return podman's options for running a program of this machine in a test container."""
    own = [path for path in ("/usr", "/bin", "/lib", "/lib64") if Path(path).exists()]
    volumes = [word for path in own for word in ("--volume", f"{path}:{path}:ro")]
    options = ["--rm", "--ulimit", "host", "--network", "host", f"--cgroup-parent=/{CGROUP}", *volumes]
    return [*options, "--rootfs", str(rootfs), "/bin/true"]


def engine_conf(home: Path, runtime: str) -> str:
    """Return containers.conf with all state below `home`."""
    name = Path(runtime).name
    return "\n".join(
        [
            "[engine]",
            f'runtime = "{name}"',
            'cgroup_manager = "cgroupfs"',  # the lab has no systemd
            'events_logger = "none"',
            f'tmp_dir = "{home}/t"',
            "[engine.runtimes]",
            f'{name} = ["{runtime}"]',
            "",
        ]
    )


def storage_conf(home: Path, images: Path) -> str:
    """Return storage.conf with all state below `home`; the machine's `images` can be used, but not changed.

    The driver is vfs, since an overlay over a tmpfs needs extended attributes that many kernels lack.
    """
    lines = ["[storage]", 'driver = "vfs"', f'graphroot = "{home}/storage"', f'runroot = "{home}/r"']
    if (images / "vfs-images").is_dir():
        lines += ["[storage.options]", f'additionalimagestores = ["{images}"]']
    return "\n".join([*lines, ""])
