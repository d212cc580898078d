"""A site file to be: its values, and where each comes from."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Stated(msgspec.Struct, frozen=True):
    """A value of a file, and where it comes from. One that `is_off` is written as a comment."""

    value: object
    origin: str
    is_off: bool = False


Block = Mapping[str, Stated]
"""Values that are written one a line, each with its origin."""


class PlatformDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A platform of the file. `fault` says why it does not work; it is then written as a comment.

    `options` are its values, some of them Stated; the value of a Stated one may be a Block. A Block of
    several platforms is written once. `has_compiler` is None where nobody could look for an mpicc.
    """

    name: str
    options: Mapping[str, object]
    origin: str
    fault: str = ""
    is_mpi: bool = True
    has_compiler: bool | None = False
    has_imb: bool = False

    @property
    def may_compile(self) -> bool:
        """Return whether its MPI is known to have a compiler, or nobody could look for one."""
        return self.is_mpi and self.has_compiler is not False


class NetworkDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A network of the file. One that `is_off` is written as a comment, below the line `preface`."""

    name: str
    options: Mapping[str, object]
    origin: str
    preface: str = ""
    is_off: bool = False


class JobSize(msgspec.Struct, frozen=True, kw_only=True):
    """How many nodes and, at most, minutes a job has in which a platform is tried."""

    nodes: int = 2
    minutes: int = 3


class SiteDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A site file to be. `keys` are those with one value, in the order of the file.

    `n_nodes` are those of the largest run. `job` is the job of a batch system that tries a platform.
    `shares_files` says that a program which one node compiles is there for all nodes. `spare_cpus` are those
    of a pod beside the one of its program: with a limit of one CPU, what runs beside the program holds it up.
    """

    keys: Mapping[str, Stated]
    n_nodes: int
    cores: int
    platforms: tuple[PlatformDraft, ...]
    networks: tuple[NetworkDraft, ...] = ()
    storage: Mapping[str, Stated] = {}
    job: JobSize = JobSize()
    remarks: tuple[str, ...] = ()
    shares_files: bool = True
    spare_cpus: int = 0

    @property
    def working(self) -> tuple[PlatformDraft, ...]:
        """Return the platforms without a fault."""
        return tuple(one for one in self.platforms if not one.fault)

    @property
    def usable_networks(self) -> tuple[str, ...]:
        """Return the names of the networks that are not written as comments."""
        return tuple(one.name for one in self.networks if not one.is_off)
