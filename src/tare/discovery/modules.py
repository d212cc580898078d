"""Find MPIs of environment modules: load each that is named like an MPI, and look at its mpirun."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources

import msgspec

from tare.core.units import whole_number
from tare.core.visible_text import said_line, visible_line
from tare.discovery.facts import ModuleSystem, Mpi
from tare.discovery.mpi import IS_USABLE, identify
from tare.discovery.programs import MODULES, first_names
from tare.probes.records import BEGIN_RECORD
from tare.probes.software import with_functions, words_of

MOST = 12
"""How many modules named like MPIs are loaded at most, and how many compilers to see MPIs behind them."""
EESSI = "eessi "
"""What the names of the records of EESSI's modules begin with."""

_PURGE = "module purge"

_SCRIPT = resources.files(__package__).joinpath("modules.sh")
_LMOD = re.compile(r"Lmod (\S+)|Modules based on Lua: Version (\S+)")
_TCL = re.compile(r"Modules Release (\S+)|VERSION=(\S+)")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+@=/-]*")
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+-]*")
_INIT = re.compile(r"/[\w@%+=:,./-]*/versions/([A-Za-z0-9._-]+)/init/lmod/bash", re.ASCII)


def modules_script() -> str:
    """Return text for bash that prints records of a module system and of its MPIs; nothing without one.

    The variable ``tare_before`` is the mpirun on the PATH of the shell that calls it, and ``tare_stack`` what
    the names of the records begin with. All is loaded in subshells.
    """
    begin = "tare_has_module=; declare -F module >/dev/null && tare_has_module=yes\n"
    limit = 'limit() { timeout -k 2 10 "$@"; }\n'
    own = f"tare_most={MOST} tare_programs='(^|/)({'|'.join(MODULES)})(/|$)'\n"
    return begin + with_functions(f"{BEGIN_RECORD}{limit}{IS_USABLE}{own}{_SCRIPT.read_text()}")


def read_module_system(records: Mapping[str, str]) -> ModuleSystem | None:
    """Return the module system in a node's records; None without one, or if it is neither of the two."""
    text = records.get("modules system", "")
    lmod, tcl = _LMOD.search(text), _TCL.search(text)
    if lmod is None and tcl is None:
        return None
    found = lmod or tcl
    return ModuleSystem(
        title="Lmod" if lmod else "Environment Modules",
        version=visible_line((found[1] or found[2]) if found else ""),
        n_modules=whole_number(records.get("modules count", "").strip()) or 0,
        programs=tuple(one for one in records.get("modules programs", "").split() if _NAME.fullmatch(one)),
        notes=tuple(_notes(records)),
    )


def read_eessi(records: Mapping[str, str]) -> tuple[tuple[Mpi, ...], ModuleSystem | None]:
    """Return the MPIs of EESSI in a node's records, and its modules; none and None without it.

    Its modules are seen after a line of setup, which reads the file that EESSI has for bash and Lmod.
    """
    own = {name.removeprefix(EESSI): text for name, text in records.items() if name.startswith(EESSI)}
    init = _INIT.fullmatch(own.get("init", "").strip())
    system = read_module_system(own)
    if init is None or system is None:
        return (), None
    setup, title = f". {shlex.quote(init[0])}", f"EESSI {init[1]}"
    mpis = (
        msgspec.structs.replace(one, setup=setup, origin=f"{title}: {one.origin}")
        for one in read_module_mpis(own)
    )
    return tuple(mpis), msgspec.structs.replace(system, title=title, version="", setup=setup)


def read_module_mpis(records: Mapping[str, str]) -> tuple[Mpi, ...]:
    """Return the MPIs of modules in a node's records, in the order in which they were looked at."""
    others = _other_names(records)
    found = (
        _mpi(modules, *text.partition("\n\n")[::2])
        for modules, text in _looked_at(records)
        if modules not in others
    )
    return tuple(_alone(one, records) for one in found if one)


def _other_names(records: Mapping[str, str]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return names that stand for modules which were looked at before them, and those."""
    known: dict[str, tuple[str, ...]] = {}
    others = {}
    for modules, _ in _looked_at(records):
        loads = records.get(f"loads {' '.join(modules)}", "").strip()
        first = known.setdefault(loads, modules) if loads else modules
        if first != modules:
            others[modules] = first
    return others


def _alone(one: Mpi, records: Mapping[str, str]) -> Mpi:
    """Return an MPI with the line that unloads other modules first, if those of this shell hide it."""
    if f"purged {' '.join(one.modules)}" not in records:
        return one
    origin = f"{one.origin} after `{_PURGE}`, without the modules of this shell"
    return msgspec.structs.replace(one, setup=_PURGE, origin=origin)


def _mpi(modules: tuple[str, ...], paths: str, version: str) -> Mpi | None:
    """Return the MPI of modules that were looked at; None if they set none that Tare knows.

    `paths` are what was found, and lines with its place and its programs; `version` is what it says of
    itself.
    """
    kind, *programs = paths.splitlines()
    if kind == "cray" and programs and programs[0].endswith("/bin") and _VERSION.fullmatch(version.strip()):
        return _cray_mpi(modules, programs[0], programs[1:], version.strip())
    family = identify(version) if kind == "mpirun" else None
    if family is None or not programs or not programs[0].endswith("/mpirun"):
        return None
    own = programs[0].removesuffix("mpirun")
    return Mpi(
        family=family[0],
        version=family[1],
        launcher=family[2],
        prefix=own.removesuffix("/bin/") if own.endswith("/bin/") else "",
        programs=tuple(one.removeprefix(own) for one in programs[1:] if one.startswith(own)),
        modules=modules,
        origin=f"`module load {' '.join(modules)}` sets {programs[0]}",
    )


def _cray_mpi(modules: tuple[str, ...], own: str, programs: Sequence[str], version: str) -> Mpi:
    """Return Cray's MPI, whose programs are in the folder `own`: only the batch system starts its ranks."""
    prefix = own.removesuffix("/bin")
    return Mpi(
        family="Cray MPICH",
        version=version,
        launcher="srun",
        prefix=prefix,
        path=(own,),
        programs=tuple(one.removeprefix(f"{own}/") for one in programs),
        modules=modules,
        origin=f"`module load {' '.join(modules)}` sets CRAY_MPICH_DIR={prefix}, which has no mpirun",
    )


def loaded_modules(records: Mapping[str, str]) -> tuple[str, ...]:
    """Return the modules that are loaded in the shell of a node, in their order."""
    return tuple(one for one in records.get("loaded", "").strip().split(":") if _NAME.fullmatch(one))


def with_bringers(mpis: Iterable[Mpi], records: Mapping[str, str]) -> Iterator[Mpi]:
    """Yield MPIs that are on the PATH with the modules that bring them there, as far as that is known.

    Jobs of another shell have these MPIs only if they load the modules.
    """
    loaded, brought = loaded_modules(records), _brought(records)
    for one in mpis:
        if not loaded:
            yield one
        elif not brought:
            more = f"loaded modules, none of which is known to bring it: {first_names(loaded)}"
            yield msgspec.structs.replace(one, origin=f"{one.origin}; {more}")
        else:
            origin = f"{one.origin} by `module load {' '.join(brought)}` in this shell"
            yield msgspec.structs.replace(one, path=(), modules=brought, origin=origin)


def _brought(records: Mapping[str, str]) -> tuple[str, ...]:
    names = tuple(records.get("modules brought", "").split())
    return names if all(map(_NAME.fullmatch, names)) else ()


def with_eessi(mpis: Iterable[Mpi], records: Mapping[str, str]) -> Iterator[Mpi]:
    """Yield MPIs of modules; those of an EESSI that this shell has read get the line that reads it."""
    init = _INIT.fullmatch(records.get("eessi here", "").strip())
    for one in mpis:
        if init and one.modules and one.prefix.startswith(init[0].removesuffix("init/lmod/bash")):
            origin = f"EESSI {init[1]}: {one.origin}"
            yield msgspec.structs.replace(one, setup=f". {shlex.quote(init[0])}", origin=origin)
        else:
            yield one


def _looked_at(records: Mapping[str, str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield modules and what was seen with them, of those records that are complete."""
    for name, text in records.items():
        kind, _, chain = name.partition(" ")
        modules = tuple(chain.split())
        is_complete = f"looked {chain}" in records and bool(text.strip())
        if kind == "module" and modules and all(map(_NAME.fullmatch, modules)) and is_complete:
            yield modules, text.strip("\n")


def _notes(records: Mapping[str, str]) -> Iterator[str]:
    """Yield why modules that are named like MPIs are no platforms."""
    known = {one.modules for one in read_module_mpis(records)}
    bringer = _brought(records)[-1:]
    others = _other_names(records)
    for modules, text in _looked_at(records):
        if modules in others:
            yield f"Module {' '.join(modules)} is another name of {' '.join(others[modules])}."
        elif modules not in known and modules[-1:] != bringer:
            kind, _, rest = text.partition("\n")
            yield f"Module {' '.join(modules)} gives no platform: {_reason(kind, rest)}."
    if more := _names(records.get("modules skipped", "")):
        yield f"Only the first {MOST} modules named like MPIs were loaded; not looked at: {more}."
    if more := _names(records.get("modules odd", "")):
        yield f"Not loaded, as their names have other characters than letters, digits and _.+@=/-: {more}."
    if more := _names(records.get("modules compilers", "")):
        yield f"MPIs were looked for behind the first {MOST} compilers only; not behind: {more}."
    if "modules end" not in records:
        yield "Not all modules named like MPIs were looked at: that takes longer than a minute here."


def _reason(kind: str, rest: str) -> str:
    if kind == "failed":
        return f"it cannot be loaded: {said_line(words_of(rest), 200).rstrip('. ') or 'it says nothing'}"
    if kind == "none":
        return "it sets no mpirun"
    if kind == "same":
        return f"its mpirun is {visible_line(rest)}, as without it"
    programs, _, said = rest.partition("\n\n")
    path = visible_line(programs.partition("\n")[0])
    return f"`{path} --version` says {said_line(said, 120).rstrip('. ') or 'nothing'}"


def _names(text: str) -> str:
    """Return the names on the lines of `text`, of many only the first."""
    return first_names([visible_line(line) for line in text.splitlines() if line.strip()])
