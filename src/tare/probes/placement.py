"""Let every rank say where it is before it becomes its program. Pure.

A launcher may ignore what it does not understand; what ranks found when they started is what was measured.
Libraries are asked, too, which transport they chose between nodes: by launchers, each in its MPI's own way.
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

SCRIPT = "attest.sh"
"""The file in an attempt's folder that each rank goes through: some 2 ms, before the program starts."""

ASKED = "asked"
"""The file that makes the folder of the ranks' words."""

BOOST = "boost"
"""The file by which ranks let their session go before others on their node, where the user may (sched(7))."""

MAX_REPORTS = 128
"""With more ranks, only some of their libraries are asked: each says some hundred lines while it starts."""


def sampling_stride(n_ranks: int) -> int:
    """Return of how many ranks one is asked, the first, so that they say no more than MAX_REPORTS would.

    Open MPI says lines for each of its peers: k ranks of n say k · n. One in so many is on all nodes alike.
    """
    return 1 if n_ranks <= MAX_REPORTS else math.ceil((n_ranks / MAX_REPORTS) ** 2)


def reports_folder(stage: str) -> str:
    """Return the folder, in an attempt's, into which libraries write what they chose."""
    return f"transport/{stage}"


def ranks_folder(stage: Stage) -> str:
    """Return the folder, in an attempt's, in which the ranks of a stage say where they are."""
    return f"ranks/{stage.name}"


def is_attested(stage: Stage, platform: Platform) -> bool:
    """Return whether ranks of `stage` can say it: an MPI starts them, which a pair of pods does without."""
    is_pair_of_pods = stage.is_pair and platform.options.pods is not None
    return stage.is_mpi and platform.launcher != "none" and not is_pair_of_pods


def with_files(stage: Stage, *, is_heard: bool = False) -> Stage:
    """Return `stage` with the files that attested ranks need, and libraries where they are asked."""
    text = with_rank(Path(__file__).with_name("attest.sh").read_text())
    files = {**stage.files, SCRIPT: text, f"{ranks_folder(stage)}/{ASKED}": ""}
    if is_heard:
        files[f"{reports_folder(stage.name)}/{ASKED}"] = ""
    return msgspec.structs.replace(stage, files=files)


def with_placement_probe(
    program: Invocation, stage: Stage, folder: str, *, every: int = 1, own: Container[str] = ()
) -> Invocation:
    """Return `program` behind the script, with the working folder `folder`.

    Of `every` so many ranks one leaves its libraries asked; the others take that back, but for what the
    site's `own` variables ask.
    """
    said = f"{folder}/{ranks_folder(stage)}"
    asked = " ".join([str(every), *(name for name in asking() if name not in own)]) if every > 1 else "all"
    argv = ("/bin/sh", f"{folder}/{SCRIPT}", said, asked, *program.argv)
    return Invocation(argv=argv, env=program.env)
