"""Add the profiling library to the stages of a profiled case: compile it, load it into the program.

The library is C source (probes/profile). The `mpicc` of each platform compiles it, as it does the
microbenchmark: once for each platform.

- In a container it is compiled by the image's `mpicc`. If the image has no compiler, it gets the library that
  this host's `mpicc` has compiled before, through the working folder, if its loader takes it.
- Pods that share no working folder compile it in each worker, and in each run.
"""

from __future__ import annotations

import functools
from importlib import resources

import msgspec

from tare.core.case import Case, Layout
from tare.core.profile import STORED
from tare.core.site import Platform
from tare.core.workload import Stage

BUILD = "profile-build"
"""The name of the stage that compiles the library; its time is no part of the run's."""

HOST_BUILD = "profile-build-on-host"
"""The name of the stage that compiles it on the host, for images without a compiler."""

LIBRARY_PLACE = "{profile_library}"
LIBRARY = "libtare_profile.so"
_HOST_LIBRARY = "libtare_profile.host.so"
_HOST_LOG = "libtare_profile.host.log"
_SOURCES = "profile"
_COMPILERS = ("cc", "gcc")

_TRY = f'"$@" >{_HOST_LOG} 2>&1 || rm -f {_HOST_LIBRARY}'
"""Shell text that runs a compiler whose failure is not fatal."""

_IN_IMAGE = f"""\
"$@" 2>{LIBRARY}.log && exit
why=$(tail -n 1 {LIBRARY}.log)
if [ ! -e {_HOST_LIBRARY} ]; then
    echo "error: no profile, because neither the image nor the host can compile the library:" \
        "${{why:-no mpicc}}; on the host: $(tail -n 1 {_HOST_LOG})" >&2
    exit 1
fi
if said=$(LD_PRELOAD=./{_HOST_LIBRARY} /bin/sh -c : 2>&1) && [ -z "$said" ]; then
    exec cp {_HOST_LIBRARY} {LIBRARY}
fi
echo "error: no profile, because the image has no compiler (${{why:-no mpicc}}), and its loader refuses the" \
    "library that the host has compiled: $said" >&2
exit 1
"""
"""Shell text that compiles the library in a container, or else takes the host's if it can be loaded there."""


def with_profile(stages: tuple[Stage, ...], case: Case, platform: Platform) -> tuple[Stage, ...]:
    """Return `stages`; for a profiled case, with the library compiled before the last one, which loads it."""
    if case.profile_of is None:
        return stages
    *before, measured = stages
    out = {"TARE_PROFILE_OUT": f"{{work}}/{STORED}"}
    mpicc = str(case.parameters.get("mpicc", "mpicc"))
    if platform.container is not None:
        # Only the program gets the library: the loader of the host may refuse what an image has compiled.
        argv = ("env", f"LD_PRELOAD={LIBRARY_PLACE}", *measured.argv)
        loading = msgspec.structs.replace(measured, argv=argv, env={**measured.env, **out})
        return (*before, *_container_builds(mpicc), loading)
    preloaded = {**measured.env, "LD_PRELOAD": LIBRARY_PLACE, **out}
    loading = msgspec.structs.replace(measured, env=preloaded)
    build = _build(mpicc)
    pods = platform.options.pods
    if pods is not None and not pods.shares_work:
        build = _in_each_pod(build, max(case.layout.nodes, (measured.layout or case.layout).nodes))
    return (*before, build, loading)


def is_outside(stage: Stage) -> bool:
    """Return whether `stage` runs outside of the platform's containers."""
    return stage.name == HOST_BUILD


def _container_builds(mpicc: str) -> tuple[Stage, Stage]:
    """Return the stages that compile the library on the host, and in a container."""
    inside = _build(mpicc)
    on_host = msgspec.structs.replace(
        inside,
        name=HOST_BUILD,
        argv=("sh", "-c", _TRY, "sh", *_compile(mpicc, _HOST_LIBRARY)),
        keeps=("libtare_profile.host.*",),
        programs=(mpicc, *_COMPILERS),
    )
    return on_host, msgspec.structs.replace(inside, argv=("sh", "-c", _IN_IMAGE, "sh", *inside.argv))


def _in_each_pod(build: Stage, nodes: int) -> Stage:
    """Return `build` for pods that share no files: in each of them, and not kept for later runs."""
    if nodes == 1:
        return msgspec.structs.replace(build, keeps=())
    layout = Layout(nodes=nodes, ranks=nodes, ranks_per_node=1)
    return msgspec.structs.replace(build, keeps=(), is_mpi=True, layout=layout)


def library_of(folder: str, others: str = "") -> str:
    """Return the value of LD_PRELOAD for the library in the working folder; `others` are loaded too.

    The loader takes blanks and colons as separators (ld.so(8)). Where the folder's name has some, the library
    is found from the working folder, in which ranks start.
    """
    is_plain = not any(one.isspace() or one == ":" for one in folder)
    library = f"{folder}/{LIBRARY}" if is_plain else f"./{LIBRARY}"
    return f"{library}:{others}" if others else library


def _build(mpicc: str) -> Stage:
    return Stage(
        name=BUILD,
        argv=_compile(mpicc, LIBRARY),
        files=sources(),
        is_mpi=False,
        layout=Layout(),
        keeps=(LIBRARY,),
        programs=_COMPILERS,
    )


def _compile(mpicc: str, library: str) -> tuple[str, ...]:
    """Return the command that compiles the library."""
    return (
        mpicc,
        "-std=gnu11",
        "-O2",
        "-fPIC",
        "-shared",
        "-pthread",
        "-Wl,--as-needed",  # not to load the MPI into processes without it
        "-o",
        library,
        *(name for name in sources() if name.endswith(".c")),
        "-ldl",
    )


@functools.cache
def sources() -> dict[str, str]:
    """Return the library's C files by their names in the working folder."""
    folder = resources.files("tare.probes") / "profile"
    found = sorted(one.name for one in folder.iterdir() if one.name.endswith((".c", ".h")))
    return {f"{_SOURCES}/{name}": (folder / name).read_text(encoding="utf-8") for name in found}
