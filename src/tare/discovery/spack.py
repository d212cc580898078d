"""Find MPIs and programs of Spack by what `spack find --json` prints on a node.

Its records are those of Spec.to_node_dict: name, version, compiler, hash. Nothing is loaded here: the trial
of a platform loads its spec.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

import msgspec

from tare.core.decoding import decode_json
from tare.core.visible_text import said_line
from tare.discovery.facts import Mpi, SpackFacts
from tare.discovery.mpi import open_mpi_launcher
from tare.discovery.programs import PACKAGES, first_names

MPIS = {
    "openmpi": "Open MPI",
    "mpich": "MPICH",
    "mvapich2": "MVAPICH",
    "mvapich": "MVAPICH",
    "intel-oneapi-mpi": "Intel MPI",
    "intel-mpi": "Intel MPI",
}
"""Spack's packages of MPIs that Tare can start, and their families."""
MOST = 12
"""How many MPIs become platforms at most."""

_LAUNCHERS = {"MPICH": "mpich", "MVAPICH": "mpich", "Intel MPI": "intelmpi"}
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_HASH = re.compile(r"[a-z0-9]{7,64}")


class _Compiler(msgspec.Struct, frozen=True):
    name: str
    version: str


class _Package(msgspec.Struct, frozen=True):
    """An installed package. Spack 1.0 has no `compiler`; it makes compilers dependencies.

    One that is `external` was not installed by Spack, which loads nothing of it where its folder is /usr.
    """

    name: str
    version: str
    hash: str
    compiler: _Compiler | None = None
    external: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def is_external(self) -> bool:
        """Return whether it was installed by others than Spack."""
        return bytes(self.external) != b"null"

    @property
    def spec(self) -> str:
        """Return the spec that names just this installation (Spack's "spec syntax")."""
        return f"{self.name}@{self.version}/{self.hash[:7]}"

    @property
    def described(self) -> str:
        """Return the spec, and the compiler with which it was built."""
        built = f" %{self.compiler.name}@{self.compiler.version}" if self.compiler else ""
        return f"{self.spec}{built}"


def packages() -> tuple[str, ...]:
    """Return the names of packages to ask for."""
    return (*MPIS, *PACKAGES)


def read_spack(records: Mapping[str, str]) -> tuple[tuple[Mpi, ...], SpackFacts | None]:
    """Return the MPIs of Spack in a node's records, and the Spack; none and None without one."""
    root = records.get("spack root", "").strip("\n")
    if not root.startswith("/") or not root.isprintable() or "${" in root:
        return (), None
    setup = f". {shlex.quote(f'{root}/share/spack/setup-env.sh')}"
    found, notes = _packages(records.get("spack found", ""))
    mpis = [one for one in found if one.name in MPIS and not one.is_external]
    if outside := [one.spec for one in found if one.name in MPIS and one.is_external]:
        notes.append(f"MPIs that Spack knows and did not install are no platforms: {', '.join(outside)}.")
    if len(mpis) > MOST:
        more = first_names([one.spec for one in mpis[MOST:]])
        notes.append(f"Only the first {MOST} MPIs of Spack are platforms; not: {more}.")
    facts = SpackFacts(
        root=root,
        setup=setup,
        programs=tuple(one.described for one in found if one.name in PACKAGES),
        notes=tuple(notes),
    )
    return tuple(_mpi(one, root, setup) for one in mpis[:MOST]), facts


def _packages(text: str) -> tuple[list[_Package], list[str]]:
    """Return the packages in an answer of Spack, the newest version of each first, and notes on it."""
    if not text.strip() or "No package matches" in text:
        return [], []
    begin = text.find("[")
    try:
        entries = decode_json(text[max(begin, 0) :], type=list[msgspec.Raw])
    except msgspec.DecodeError:
        return [], [f"`spack find --json` says {said_line(text, 200)}"]
    found = {one.spec: one for entry in entries if (one := _package(entry))}
    ordered = sorted(found.values(), key=lambda one: _numbers(one.version), reverse=True)
    names = packages()
    return sorted(ordered, key=lambda one: names.index(one.name)), []


def _package(entry: msgspec.Raw) -> _Package | None:
    """Return one package; None for one of another form, or of a name that nobody asked for."""
    try:
        one = decode_json(entry, type=_Package)
    except msgspec.DecodeError:
        return None
    is_safe = _VERSION.fullmatch(one.version) and _HASH.fullmatch(one.hash)
    return one if is_safe and one.name in packages() else None


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"[0-9]{1,9}", version)]


def _mpi(one: _Package, root: str, setup: str) -> Mpi:
    family = MPIS[one.name]
    major, minor, *_ = [*_numbers(one.version), 0, 0]
    return Mpi(
        family=family,
        version=one.version,
        launcher=_LAUNCHERS.get(family) or open_mpi_launcher(major, minor),
        prefix="",
        programs=("mpicc",),
        spack=(one.spec,),
        setup=setup,
        origin=f"`spack find --json` of {root} has {one.described}",
    )


def spack_notes(facts: SpackFacts) -> Iterator[str]:
    """Yield what the site file says of a Spack besides its platforms."""
    if facts.programs:
        shown = first_names(facts.programs)
        yield f"Programs of Spack ({facts.root}) that Tare can measure: {shown}; 'spack: SPEC' loads one."
    yield from facts.notes
