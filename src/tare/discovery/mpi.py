"""Find MPIs by their `mpirun --version`, and which of Tare's launchers starts them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tare.discovery.facts import Mpi

_OPEN_MPI = re.compile(r"\(Open MPI\) (\d+)\.(\d+)\S*|\(OpenRTE\) (\d+)\.(\d+)\S*")
_INTEL = re.compile(r"Intel\(R\) MPI Library.*Version (\S+)")
_HYDRA = re.compile(r"Version:\s+(\S+)")
_MVAPICH = re.compile(r"mvapich", re.IGNORECASE)

IS_USABLE = """\
is_usable() { # whether a program can be executed; an mpicc also needs the compiler that it calls
  [ -f "$1" ] && [ -x "$1" ] || return 1
  case "$1" in */mpicc) ;; *) return 0 ;; esac
  tare_calls=$(limit "$1" -show </dev/null 2>/dev/null)
  [ -z "$tare_calls" ] || command -v "${tare_calls%% *}" >/dev/null
}
"""
"""A function for any POSIX shell; it needs ``limit``. An mpicc that prints nothing for -show is believed."""


def read_mpis(records: Mapping[str, str], origins: Mapping[str, str]) -> tuple[Mpi, ...]:
    """Return the MPIs in the records ``mpi PREFIX`` of a node, with the programs that were found.

    `origins` says for each prefix who names it. One whose version Tare does not know is left out.
    """
    programs = list(dict.fromkeys(records.get("programs", "").split("\n")))
    found = []
    for name, text in records.items():
        kind, _, prefix = name.partition(" ")
        if kind == "mpirun" and (script := _script(prefix, text, records.get("mpicc", "").strip())):
            found.append(script)
        family = identify(text) if kind == "mpi" and prefix.startswith("/") else None
        if family is None:
            continue
        own = f"{prefix}/bin"
        inside = [one.rpartition("/")[2] for one in programs if one.rpartition("/")[0] == own]
        found.append(
            Mpi(
                family=family[0],
                version=family[1],
                launcher=family[2],
                prefix=prefix,
                path=(own,),
                programs=tuple(inside),
                origin=origins.get(prefix, f"{prefix}/bin/mpirun is on the PATH"),
            )
        )
    return tuple(found)


def _script(path: str, text: str, mpicc: str) -> Mpi | None:
    """Return the MPI whose mpirun is a script on the PATH, in a folder that is not called bin."""
    family, folder = identify(text), path.rpartition("/")[0]
    if family is None or not folder.startswith("/"):
        return None
    of_mpicc = mpicc.rpartition("/")[0]
    return Mpi(
        family=family[0],
        version=family[1],
        launcher=family[2],
        prefix="",
        path=tuple(dict.fromkeys(filter(None, (folder, of_mpicc)))),
        programs=("mpicc",) if of_mpicc.startswith("/") else (),
        origin=f"{path} is on the PATH",
    )


def identify(text: str) -> tuple[str, str, str] | None:
    """Return family, version and launcher of what `mpirun --version` printed; None where it is unknown."""
    if found := _OPEN_MPI.search(text):
        version = found[0].split()[-1]
        major, minor = int(found[1] or found[3]), int(found[2] or found[4])
        return "Open MPI", version, open_mpi_launcher(major, minor)
    if found := _INTEL.search(text):
        return "Intel MPI", found[1], "intelmpi"
    if "HYDRA" in text and (hydra := _HYDRA.search(text)):
        return "MVAPICH" if _MVAPICH.search(text) else "MPICH", hydra[1], "mpich"
    return None


def open_mpi_launcher(major: int, minor: int) -> str:
    """Return the launcher whose options this version has (docs/sites.md)."""
    if major >= 5:
        return "openmpi5"
    if major >= 3:
        return "openmpi4"
    return "openmpi1.6" if major == 1 and minor <= 6 else "openmpi1.8"
