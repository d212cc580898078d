"""The placement probe: a script that every rank runs first, which writes where the rank is. Pure.

The script then executes the program in the same process. Launchers may ignore options that they do not
understand, so only the ranks themselves know where they ran. MPI libraries are also asked to report the
transport between nodes: launchers set the variables for this, each for its MPI.
"""

from __future__ import annotations

import math
from collections.abc import Container
from pathlib import Path

import msgspec

from tare.core.launch import Invocation
from tare.core.rank_variables import with_rank
from tare.core.site import Platform
from tare.core.transport_reports import asking
from tare.core.workload import Stage

SCRIPT = "placement_probe.sh"
"""The script in an attempt's folder that each rank runs before the program; it takes about 2 ms."""

ASKED = "asked"
"""An empty file that makes the folder of the reports exist, and shows that reports were asked for."""

BOOST = "boost"
"""A file that makes ranks raise the priority of their session on the node, if the user may (sched(7))."""

MAX_REPORTS = 128
"""With more ranks, only some of them report their transport: each prints some hundred lines at its start."""


def sampling_stride(n_ranks: int) -> int:
    """Return the sampling stride: the first of each group of this many ranks reports its transport.

    The stride is chosen so that the reports are not longer than those of MAX_REPORTS ranks among themselves.
    Open MPI prints lines for each peer: k ranks of n print k · n. The sample is spread evenly over all nodes.
    """
    return 1 if n_ranks <= MAX_REPORTS else math.ceil((n_ranks / MAX_REPORTS) ** 2)


def reports_folder(stage: str) -> str:
    """Return the subfolder of an attempt's folder into which libraries write their transport reports."""
    return f"transport/{stage}"


def ranks_folder(stage: Stage) -> str:
    """Return the subfolder of an attempt's folder into which the ranks of a stage write their placement."""
    return f"ranks/{stage.name}"


def can_run_probe(stage: Stage, platform: Platform) -> bool:
    """Return whether the ranks of `stage` can run the probe: only if an MPI launcher starts them.

    A pair of pods needs no launcher.
    """
    is_pair_of_pods = stage.is_pair and platform.options.pods is not None
    return stage.is_mpi and platform.launcher != "none" and not is_pair_of_pods


def with_files(stage: Stage, *, reports_transport: bool = False) -> Stage:
    """Return `stage` with the files of the probe, and if `reports_transport` with those of the reports."""
    text = with_rank(Path(__file__).with_name("placement_probe.sh").read_text())
    files = {**stage.files, SCRIPT: text, f"{ranks_folder(stage)}/{ASKED}": ""}
    if reports_transport:
        files[f"{reports_folder(stage.name)}/{ASKED}"] = ""
    return msgspec.structs.replace(stage, files=files)


def with_placement_probe(
    program: Invocation, stage: Stage, folder: str, *, every: int = 1, own: Container[str] = ()
) -> Invocation:
    """Return the command that runs the script, which then executes `program`; `folder` is the working folder.

    `every` is the sampling stride: one rank in this many keeps the variables that ask its libraries to
    report. The others unset them, except those that the site sets itself (`own`).
    """
    folder_argument = f"{folder}/{ranks_folder(stage)}"
    requested = (
        " ".join([str(every), *(name for name in asking() if name not in own)]) if every > 1 else "all"
    )
    argv = ("/bin/sh", f"{folder}/{SCRIPT}", folder_argument, requested, *program.argv)
    return Invocation(argv=argv, env=program.env)
