"""Find prebuilt programs: Kubernetes' own, and real ones that replace the doubles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kubelab.processes import KubelabError

_PREFIX = "TARE_KUBELAB_"
_NEEDS = {"operator": "operator_crd", "operator_crd": "operator", "whereabouts": "whereabouts_crd"}


class Prebuilt(NamedTuple):
    """The paths of prebuilt programs; None where kubelab builds the program or uses a double.

    `binaries` is a folder with etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl,
    kubelet, kwok and coredns. The definitions (CRDs) are YAML files, or folders of them, as they are shipped.
    """

    binaries: Path | None = None
    operator: Path | None = None
    operator_crd: Path | None = None
    multus: Path | None = None
    whereabouts: Path | None = None
    whereabouts_crd: Path | None = None

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Prebuilt:
        """Return the paths in variables such as TARE_KUBELAB_OPERATOR. Raises KubelabError."""
        given = {name: environment.get(variable(name)) for name in cls._fields}
        return cls(**{name: Path(path).resolve() for name, path in given.items() if path}).checked()

    def checked(self) -> Prebuilt:
        """Return itself, if all files exist and each program has its definitions. Raises KubelabError."""
        for name, path in self._asdict().items():
            if path is not None and not path.exists():
                raise KubelabError(f"{option(name)}: {path} does not exist")
        for name, other in _NEEDS.items():
            if getattr(self, name) and not getattr(self, other):
                raise KubelabError(f"{option(name)} needs {option(other)}, the definition of its own version")
        return self

    def definitions(self) -> Iterator[str]:
        """Yield the given definitions as manifests."""
        for path in (self.operator_crd, self.whereabouts_crd):
            if path is not None:
                files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
                yield from (file.read_text() for file in files)


def variable(name: str) -> str:
    """Return the environment variable for a field of Prebuilt."""
    return f"{_PREFIX}{name.upper()}"


def option(name: str) -> str:
    """Return the command-line option for a field of Prebuilt."""
    return f"--{name.replace('_', '-')}"
