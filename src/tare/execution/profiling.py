"""Add the profiling library to the stages of a profiled case: compile it, load it into the program.

The library is C source (probes/profile). The `mpicc` of each platform compiles it, as it does the
microbenchmark: once for each platform, in its containers if it has any.
"""

from __future__ import annotations

import functools
from importlib import resources

import msgspec

from tare.core.case import Case, Layout
from tare.core.profile import STORED
from tare.core.workload import Stage

BUILD = "profile-build"
"""The name of the stage that compiles the library; its time is no part of the run's."""

LIBRARY_PLACE = "{profile_library}"
_LIBRARY = "libtare_profile.so"
_SOURCES = "profile"
_COMPILERS = ("cc", "gcc")


def with_profile(stages: tuple[Stage, ...], case: Case) -> tuple[Stage, ...]:
    """Return `stages`; for a profiled case, with the library compiled before the last one, which loads it."""
    if case.profile_of is None:
        return stages
    *before, measured = stages
    variables = {"LD_PRELOAD": LIBRARY_PLACE, "TARE_PROFILE_OUT": f"{{work}}/{STORED}"}
    loading = msgspec.structs.replace(measured, env={**measured.env, **variables})
    return (*before, _build(str(case.parameters.get("mpicc", "mpicc"))), loading)


def library_of(folder: str, others: str = "") -> str:
    """Return the value of LD_PRELOAD for the library in the working folder; `others` are loaded too.

    The loader takes blanks and colons as separators (ld.so(8)). Where the folder's name has some, the library
    is found from the working folder, in which ranks start.
    """
    is_plain = not any(one.isspace() or one == ":" for one in folder)
    library = f"{folder}/{_LIBRARY}" if is_plain else f"./{_LIBRARY}"
    return f"{library}:{others}" if others else library


def _build(mpicc: str) -> Stage:
    files = sources()
    return Stage(
        name=BUILD,
        argv=(
            mpicc,
            "-std=gnu11",
            "-O2",
            "-fPIC",
            "-shared",
            "-pthread",
            "-Wl,--as-needed",  # not to load the MPI into processes without it
            "-o",
            _LIBRARY,
            *(name for name in files if name.endswith(".c")),
            "-ldl",
        ),
        files=files,
        is_mpi=False,
        layout=Layout(),
        keeps=(_LIBRARY,),
        programs=_COMPILERS,
    )


@functools.cache
def sources() -> dict[str, str]:
    """Return the library's C files by their names in the working folder."""
    folder = resources.files("tare.probes") / "profile"
    found = sorted(one.name for one in folder.iterdir() if one.name.endswith((".c", ".h")))
    return {f"{_SOURCES}/{name}": (folder / name).read_text(encoding="utf-8") for name in found}
