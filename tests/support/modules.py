"""The two real module systems of Debian, and trees of modules for them.

Their packages conflict: Lmod is installed, and environment-modules is unpacked into a folder.
"""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import subprocess
from pathlib import Path

import pytest

LMOD = Path("/usr/share/lmod/lmod/init/bash")
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tare-tests"
_CURE = "make programs"


def lmod() -> Path:
    """Return the file that defines Lmod's `module`; skip the test where Lmod is missing."""
    if not LMOD.is_file():
        pytest.skip(f"no Lmod here; {_CURE}")
    return LMOD


@functools.cache
def _unpacked() -> Path | None:
    root = _CACHE / "environment-modules"
    root.mkdir(parents=True, exist_ok=True)
    with (root / ".lock").open("w") as lock:  # several processes of pytest begin at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _unpacked_in(root)


def _unpacked_in(root: Path) -> Path | None:
    init = root / "usr/share/modules/init/bash"
    if not init.is_file():
        if not all(map(shutil.which, ("apt-get", "dpkg", "tclsh8.6"))):
            return None
        options = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
        command = ["apt-get", *options, "download", "environment-modules"]
        if subprocess.run(command, cwd=root, capture_output=True, check=False).returncode:
            return None
        (package,) = root.glob("environment-modules_*.deb")
        subprocess.run(["dpkg", "-x", package, root], check=True)
        init.write_text(init.read_text().replace("'/usr/lib", f"'{root}/usr/lib"))
    return init


def environment_modules() -> Path:
    """Return the file that defines the `module` of environment-modules; skip where it cannot be had."""
    found = _unpacked()
    if found is None:
        pytest.skip(f"no environment-modules here, and none can be downloaded; {_CURE}")
    return found


def write_module(tree: Path, name: str, body: str) -> None:
    """Write a module file in Tcl, which both systems read."""
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#%Module\n{body}\n")
