"""Check before the first run that each program can start, and can read and write where it must.

Nothing is measured. Every host is asked whether it finds the programs and their libraries. The first host is
asked whether the inputs exist. If ranks of several nodes share a storage path, all hosts are asked whether
they see the same folder there. The results are kept in ``rehearsal.json``.

Programs in containers, in pods and under Slurm are not checked, because what they see is known only where
they start. Of containers it is checked whether they mix the host's MPI with their own (see mixed_mpi).
"""

from __future__ import annotations

import os
import re
import shlex
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from tare.app.mixed_mpi import find_mixed, is_candidate, script
from tare.app.planning import SITE, STUDY, Loaded
from tare.app.unloaded import find_unloaded
from tare.core.case import Case
from tare.core.counting import count
from tare.core.errors import CampaignError, UsageError
from tare.core.safe_folder import SafeFolder
from tare.core.site import Platform
from tare.core.software import Layers
from tare.execution.compose import Composer
from tare.probes.software import asking, underlying

Ask = Callable[[Sequence[str | None], str], Mapping[str | None, str]]
RECORD = "rehearsal.json"
_MOST_LIBRARIES = 3
_LOADABLE = "correct modules, spack or setup of the study or the site, or install what they name"


class RehearsalResult(msgspec.Struct, frozen=True):
    """The result of one check: `subject` of a workload and platform, on these hosts.

    `fault` is empty if all is well. A result that `is_note` may still work, and does not stop the campaign.
    `storage` is the name of the storage path that was checked, empty for other checks.
    """

    workload: str
    platform: str
    subject: str
    hosts: tuple[str, ...]
    fault: str = ""
    cure: str = ""
    is_note: bool = False
    storage: str = ""


def rehearse(
    folder: Path, loaded: Loaded, ask: Ask, cases: Sequence[Case], note: Callable[[str], None]
) -> None:
    """Check whether `cases` can start, and write the results to ``rehearsal.json``.

    `note` takes a sentence on what may go wrong. Raises UsageError with all faults.
    """
    found = find_faults(loaded.composer, ask, cases)
    record = msgspec.json.format(msgspec.json.encode({"at": time.time(), "findings": found}))
    with CampaignError.for_files(folder):
        SafeFolder(folder, RECORD).replace(record, is_synced=False)
    for one in found:
        if one.is_note:
            note(f"note: {_describe(one, folder, loaded)}")
    faults = [one for one in found if one.fault and not one.is_note]
    if faults:
        lines = "\n".join(f"  {_describe(one, folder, loaded)}" for one in faults)
        things = count(len(faults), "thing")
        raise UsageError(
            f"{things} found before the first run, without which runs would fail; nothing was run:\n{lines}\n"
            "tare run --no-rehearsal runs all the same"
        )


def find_faults(composer: Composer, ask: Ask, cases: Sequence[Case]) -> list[RehearsalResult]:
    """Return the result of each check of `cases` that start on hosts which `ask` reaches."""
    checked = [case for case in cases if _is_checked(composer, case)]
    unloaded = list(find_unloaded(composer, checked, ask))
    found = [
        RehearsalResult(one.case.workload, one.case.platform, "software", one.hosts, one.fault, _LOADABLE)
        for one in unloaded
    ]
    ready = [case for case in checked if not any(one.concerns(composer, case) for one in unloaded)]
    found += [*find_programs(composer, ready, ask), *_inputs(composer, checked, ask)]
    found += _storage_paths(composer, checked, ask)
    found += _mixed_mpis(composer, cases, ask)
    hide = composer.pseudonyms.text  # hosts and their programs may have printed names that the site hides
    return [msgspec.structs.replace(one, fault=hide(one.fault), cure=hide(one.cure)) for one in found]


def _is_checked(composer: Composer, case: Case) -> bool:
    platform = composer.site.platforms[case.platform]
    return platform.container is None and not platform.is_queued


def _mixed_mpis(composer: Composer, cases: Sequence[Case], ask: Ask) -> Iterator[RehearsalResult]:
    """Yield a result for each platform whose containers would mix the host's MPI with their own."""
    platforms = composer.site.platforms
    asked: set[str] = set()
    for case in cases:
        platform = platforms[case.platform]
        if case.platform in asked or platform.is_queued or not is_candidate(platform):
            continue
        started = [invocation for stage, invocation in composer.compose(case) if stage.is_mpi]
        if not started:
            continue
        asked.add(case.platform)
        host = composer.reached_hosts(case)[0]
        mixed = find_mixed(platform, ask([host], script(platform, started[0].argv[0])).get(host, ""))
        if mixed is not None:
            result = partial(RehearsalResult, case.workload, case.platform, "MPI", (host or "this machine",))
            yield result(mixed.fault, mixed.cure, is_note=mixed.is_note)


def _describe(one: RehearsalResult, folder: Path, loaded: Loaded) -> str:
    """Return a result as a line: its place in the study or site file, the fault, and the cure."""
    hosts = f" on {', '.join(one.hosts)}" if one.hosts else ""
    place = _place(one, folder, loaded)
    where = f"{place}: " if place else ""
    return f"{where}{one.workload} on platform {one.platform}: {one.fault}{hosts}; {one.cure}"


def _place(one: RehearsalResult, folder: Path, loaded: Loaded) -> str:
    """Return the file, line and column that name what `one` is about; empty if there is none."""
    file, name = (SITE, one.storage) if one.storage else (STUDY, one.workload)
    written = next(iter(loaded.study.origins.values()), None) if file == STUDY else None
    if written is not None and not written.line:
        return written.file  # a mapping of Python, which has no lines
    position = _position_of(loaded.texts.get(file, ""), name, below="storage:" if one.storage else "")
    return f"{written.file if written else folder / file}:{position}" if position else ""


def _position_of(text: str, name: str, below: str = "") -> str:
    """Return the first line and column of `text` that name `name`, after the key `below` if given.

    Empty if there is none.
    """
    pattern = re.compile(rf"(?<![\w./-]){re.escape(name)}(?![\w.-])")
    is_below = not below
    for number, line in enumerate(text.splitlines(), 1):
        is_key = not is_below and line.startswith(below)
        is_below = is_below or is_key
        if is_below and (found := pattern.search(line.partition("#")[0], len(below) if is_key else 0)):
            return f"{number}:{found.start() + 1}"
    return ""


def find_programs(composer: Composer, cases: Sequence[Case], ask: Ask) -> Iterator[RehearsalResult]:
    """Yield a result for each program of the cases: whether its hosts find it and its libraries."""
    wanted: dict[tuple[str, str, Layers], tuple[Case, dict[str | None, None]]] = {}
    unsure = set()  # programs whose launcher or stage may still add library folders
    for case in cases:
        hosts = composer.reached_hosts(case)
        layers = composer.software(case)
        for stage, invocation in composer.compose(case):
            starting = underlying(invocation.argv)
            ranks_on = hosts if stage.is_mpi else hosts[:1]
            if stage.is_mpi or "LD_LIBRARY_PATH" in stage.env or "LD_PRELOAD" in stage.env:
                starter = () if stage.is_mpi else starting[:1]
                unsure |= {(case.platform, name) for name in (stage.argv[0], *stage.programs, *starter)}
            names = [(name, ranks_on) for name in (stage.argv[0], *stage.programs)]
            if Path(starting[0]).name != stage.argv[0]:
                names += [(starting[0], hosts[:1])]  # the command that starts the ranks
            for name, on in names:
                if "{" not in name and (os.sep not in name or name.startswith("/")):
                    wanted.setdefault((case.platform, name, layers), (case, {}))[1].update(dict.fromkeys(on))
    for (platform, name, layers), (case, places) in wanted.items():
        outputs = ask(list(places), asking(_script(name, composer.site.platforms[platform]), layers))
        is_unsure = (platform, name) in unsure
        yield _finding(case, name, outputs, is_unsure=is_unsure, has_shell=is_unsure or bool(layers))


_LOOK = (
    'look() { case $1 in /*) [ ! -e "$1" ] || echo "$1" ;; *) set -f; IFS=:; for folder in $PATH; do '
    'found=${folder:-.}/$1; [ -f "$found" ] && [ -x "$found" ] && echo "$found" && break; done ;; esac; }; '
)
"""Shell code that prints the path of a program as execvp(3) finds it.

``command -v`` says other things: of a folder, dash prints the path and bash nothing; of ``time``, bash says
that it is a word of its own.
"""
_KERNEL = (
    "of() { od -An -v -tx1 -j$2 -N$3 \"$1\" | tr -d ' \\n'; }; "
    'case $(of "$found" 0 4) in '
    # e_machine of ELF(5), compared with that of the running shell
    '7f454c46) [ "$(of "$found" 18 2)" = "$(of /proc/self/exe 18 2)" ] || echo foreign ;; '
    '2321*) read -r line <"$found"; line=${line#??}; set -- $line; '
    'case $1 in *"$(printf "\\r")") echo carriage ;; *) [ -e "$1" ] || echo "interpreter $1" ;; esac ;; '
    '*) [ ! -r "$found" ] || [ -s "$found" ] && ! grep -qI "" "$found" || echo headless ;; '
    "esac 2>/dev/null; "
)
"""Shell code that prints why the kernel cannot start the program `found`: processor type or interpreter.

To the kernel, a carriage return belongs to the interpreter's name. Text without ``#!`` is no program to it:
shells and execvp(3) then give it to /bin/sh, and others fail.
"""


def _script(name: str, platform: Platform) -> str:
    """Return a shell script that looks for a program on its platform's PATH, and for missing libraries."""
    prefix = platform.prefix
    path = [*platform.path, *([f"{prefix}/bin"] if prefix else []), platform.env.get("PATH", "")]
    libraries = [platform.env.get("LD_LIBRARY_PATH", ""), f"{prefix}/lib" if prefix else ""]
    quoted = shlex.quote(name)
    return (
        f"{_extended('PATH', path)}{_extended('LD_LIBRARY_PATH', libraries)}"
        f"{_LOOK}found=$(look {quoted}); case $found in "
        "'') echo missing ;; "
        '*) [ ! -d "$found" ] || echo folder; [ -x "$found" ] || echo denied; echo "found $found"; '
        f'{_KERNEL}ldd "$found" 2>/dev/null | grep "not found" ;; '
        "esac; true"
    )


def _extended(variable: str, folders: Sequence[str]) -> str:
    """Return shell code that prepends folders to a variable such as PATH.

    It adds no empty entry, since that would mean the working folder.
    """
    own = ":".join(filter(None, folders))
    if not own:
        return ""
    return f"{variable}={shlex.quote(own)}${{{variable}:+:${variable}}}; export {variable}; "


def _finding(
    case: Case, name: str, outputs: Mapping[str | None, str], *, is_unsure: bool, has_shell: bool
) -> RehearsalResult:
    """Return what hosts say of a program; `has_shell` is whether a shell or execvp(3) may start it."""
    result = partial(RehearsalResult, case.workload, case.platform, name)
    lines = {host or "this machine": text.splitlines() for host, text in outputs.items()}
    denied = [host for host, text in lines.items() if "denied" in text]
    lacking = [host for host, text in lines.items() if "missing" in text]
    absent = {
        line.partition(" ")[2]: host
        for host, text in lines.items()
        for line in text
        if line.startswith("interpreter ")
    }
    foreign, carriage, folder, headless = (
        [host for host, text in lines.items() if word in text]
        for word in ("foreign", "carriage", "folder", "headless")
    )
    libraries = {
        line.split()[0]: host for host, text in lines.items() for line in text if "not found" in line
    }
    if lacking:
        is_path = name.startswith("/")
        cure = "correct its path" if is_path else "name its folder in the platform's 'path' in the site file"
        return result(tuple(lacking), f"{name} is not found", f"install it, or {cure}")
    if denied:
        return result(tuple(denied), f"{name} cannot be executed", f"make it executable: chmod +x {name}")
    if folder:
        return result(tuple(folder), f"{name} is a folder", "name the program in it")
    if carriage:
        fault = f"{name} is a script whose lines end with carriage returns"
        return result(tuple(carriage), fault, f"remove them: sed -i 's/\\r$//' {name}")
    if foreign:
        return result(tuple(foreign), f"{name} is built for another processor", "build it for this one")
    if absent:
        fault = f"{name} is a script for {', '.join(absent)}, which is not there"
        return result(tuple(absent.values()), fault, "install it, or correct the script's first line")
    if headless:
        fault = f"{name} is text whose first line does not say what runs it"
        cure = f"{'where runs fail, ' if has_shell else ''}begin it with a line such as #!/bin/sh"
        return result(tuple(headless), fault, cure, is_note=has_shell)
    if libraries:
        names = ", ".join(sorted(libraries)[:_MOST_LIBRARIES])
        cure = "install them, or name their folder in the platform's 'env: {LD_LIBRARY_PATH: …}'"
        fault = f"{name} lacks the libraries {names}"
        if is_unsure:
            fault = f"{name} needs {names}, which the loader does not find by itself"
            cure = "where runs fail, name the folder in the platform's 'env: {LD_LIBRARY_PATH: …}'"
        return result(tuple(sorted(set(libraries.values()))), fault, cure, is_note=is_unsure)
    return result(tuple(lines))


def _inputs(composer: Composer, cases: Sequence[Case], ask: Ask) -> Iterator[RehearsalResult]:
    """Yield a result for each input of the cases: whether it exists."""
    asked: set[tuple[str | None, str]] = set()
    for case in cases:
        host = composer.reached_hosts(case)[0]
        stages = composer.workloads[case.workload].stages(case)
        for path in dict.fromkeys(path for stage in stages for path in composer.inputs(case, stage)):
            if path.startswith("/") and (host, path) not in asked:
                asked.add((host, path))
                outputs = ask([host], f"[ -e {shlex.quote(path)} ] && echo there || true").get(host, "")
                fault = "" if "there" in outputs else f"its input {path} is missing"
                named = (host or "this machine",)
                cure = "put it there, or correct its path" if fault else ""
                yield RehearsalResult(case.workload, case.platform, path, named, fault, cure)


def _storage_paths(composer: Composer, cases: Sequence[Case], ask: Ask) -> Iterator[RehearsalResult]:
    """Yield a result for each storage path to which cases write: whether it works."""
    asked = set()
    for case in cases:
        if composer.needs_own_storage(case):
            hosts = composer.reached_hosts(case)
            is_shared = any(one.shares_storage for one in composer.workloads[case.workload].stages(case))
            key = (case.storage, tuple(hosts), is_shared)
            if key not in asked:
                asked.add(key)
                yield _storage(composer, case, hosts, ask, is_shared=is_shared)


def _storage(
    composer: Composer, case: Case, hosts: list[str | None], ask: Ask, *, is_shared: bool
) -> RehearsalResult:
    """Make a folder on a storage path; if ranks share files, check that the other hosts see it."""
    path = composer.storage_path(case)
    folder = f"{path.rstrip('/')}/tare-rehearsal-{socket.gethostname()}-{os.getpid()}-{time.monotonic_ns()}"
    quoted = shlex.quote(folder)
    made = ask(hosts[:1], f"mkdir -- {quoted} 2>&1 && echo made").get(hosts[0], "")
    result = partial(RehearsalResult, case.workload, case.platform, f"storage {case.storage}")
    name = case.storage or ""
    if "made" not in made.split():
        fault = f"storage '{name}' cannot be written to: {' '.join(made.split())}"
        cure = f"make {path} a folder that you may write to, or correct the site's 'storage'"
        return result((hosts[0] or "this machine",), fault, cure, storage=name)
    try:
        unaware: list[str] = []
        if is_shared and len(hosts) > 1:
            outputs = ask(hosts[1:], f"[ -d {quoted} ] && echo seen || true")
            unaware = [host or "" for host, text in outputs.items() if "seen" not in text]
    finally:
        ask(hosts[:1], f"rmdir -- {quoted}")
    if not unaware:
        return result(tuple(host or "this machine" for host in hosts))
    fault = f"storage '{name}' is each node's own: what {hosts[0]} makes in {path} is not seen"
    cure = "its ranks read each other's files; use a storage path that nodes share, or nodes: 1"
    return result(tuple(unaware), fault, cure, storage=name)
