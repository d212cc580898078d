"""Build the programs of the cluster from their sources, once, into a cache outside the checkout."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kubelab.prebuilt import Prebuilt
from kubelab.processes import KubelabError

KUBERNETES = "1.34.4"
CURE = "build them with 'make kubelab', which needs Go 1.26 or newer (go.dev/dl) and takes ten minutes once"
_SOURCES = Path(__file__).with_name("go")
_VERSION = "k8s.io/component-base/version"
_KUBERNETES = (
    "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kubelet",
)  # fmt: skip


class _Source(NamedTuple):
    """A program: the Go module under go/ that pins it, its package, and flags for the linker."""

    module: str
    package: str
    flags: str = ""


_PROGRAMS: Mapping[str, _Source] = {
    "kubelab": _Source(
        "kube",
        ".",
        f"-X {_VERSION}.gitVersion=v{KUBERNETES} -X {_VERSION}.gitMajor=1 -X {_VERSION}.gitMinor=34",
    ),
    "kwok": _Source("kwok", "sigs.k8s.io/kwok/cmd/kwok"),
    "coredns": _Source("coredns", "."),
}


_MODULES = {
    "kubelab": "k8s.io/kubernetes",
    "kwok": "sigs.k8s.io/kwok",
    "coredns": "github.com/coredns/coredns",
}
_GO = {
    "CGO_ENABLED": "0",
    "GOFLAGS": "-mod=readonly -p=2 -buildvcs=false",  # go.sum is not changed; more than 2 take much memory
    "GOTOOLCHAIN": "local",  # do not fetch another version of Go
    "GOWORK": "off",  # ignore a workspace around this checkout
}


class Programs(NamedTuple):
    """The paths of the programs: Kubernetes' own in one binary, kwok for simulated nodes, and CoreDNS."""

    kubelab: Path
    kwok: Path
    coredns: Path


def command(name: str) -> list[str]:
    """Return the command of a program of Kubernetes, such as kubectl, or of kwok or coredns.

    Raises KubelabError.
    """
    given = Prebuilt.of(os.environ).binaries
    if given is not None:
        return [str(given / name)]
    return [str(programs().kubelab), name] if name in _KUBERNETES else [str(folder() / name)]


def check() -> None:
    """Raise KubelabError where a program is missing."""
    given = Prebuilt.of(os.environ).binaries
    if given is None:
        programs()
        return
    missing = [name for name in (*_KUBERNETES, "kwok", "coredns") if not (given / name).exists()]
    if missing:
        raise KubelabError(f"{given}: {', '.join(missing)} are missing")


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tare"


def folder() -> Path:
    """Return the folder of the programs; each state of their sources has its own."""
    digest = hashlib.blake2b(repr(sorted(_PROGRAMS.items())).encode(), digest_size=8)
    for path in sorted(one for one in _SOURCES.rglob("*") if one.is_file()):
        digest.update(str(path.relative_to(_SOURCES)).encode() + b"\0" + path.read_bytes())
    return _cache() / "kubelab" / digest.hexdigest()


def programs() -> Programs:
    """Return the programs. Raises KubelabError where one has not been built."""
    home = folder()
    missing = [name for name in _PROGRAMS if not (home / name).exists()]
    if missing:
        raise KubelabError(f"not built: {', '.join(missing)}; {CURE}")
    return Programs(*(home / name for name in Programs._fields))


def build() -> Programs:
    """Build missing programs; concurrent calls build them only once. Raises KubelabError."""
    home = folder()
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name, source in _PROGRAMS.items():
            if not (home / name).exists():
                _build(source, home / name)
    return programs()


def versions() -> dict[str, str]:
    """Return the module and version from which each program is built, as go.mod pins them.

    go.sum has their hashes.
    """
    found = {}
    for name, module in _MODULES.items():
        text = (_SOURCES / _PROGRAMS[name].module / "go.mod").read_text()
        [version] = re.findall(rf"^(?:require\s+|\t){re.escape(module)} (v\S+)", text, re.MULTILINE)
        found[module] = version
    return found


def _caches() -> dict[str, str]:
    """Return the folders of Go's modules and compiled code, beside the programs in one cache."""
    return {"GOMODCACHE": str(_cache() / "go" / "mod"), "GOCACHE": str(_cache() / "go" / "build")}


def _build(source: _Source, target: Path) -> None:
    if shutil.which("go") is None:
        raise KubelabError("Go is missing: install 1.26 or newer from go.dev/dl")
    with tempfile.TemporaryDirectory(dir=target.parent) as made:
        output = Path(made) / target.name
        flags = f"-s -w {source.flags}".rstrip()
        command = ["go", "build", "-trimpath", "-ldflags", flags, "-o", str(output)]
        folder, env = _SOURCES / source.module, {**os.environ, **_GO, **_caches()}
        if subprocess.run([*command, source.package], cwd=folder, env=env, check=False).returncode:
            raise KubelabError(f"{target.name} could not be built; what Go says is above")
        # Go checks downloads against go.sum, but not later changes in its cache.
        if subprocess.run(["go", "mod", "verify"], cwd=folder, env=env, check=False).returncode:
            raise KubelabError(
                f"{target.name} was built of sources that are not those of go.sum any more, and is thrown "
                f"away; what Go says is above; cure: GOMODCACHE={_cache() / 'go/mod'} go clean -modcache"
            )
        output.rename(target)
