"""Let every rank say where it is before it becomes its program. Pure.

A launcher may ignore what it does not understand; what ranks found when they started is what was measured.
Libraries are asked, too, which transport they chose between nodes: by launchers, each in its MPI's own way.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from tare.model.launch import Invocation
from tare.model.site import Platform
from tare.model.workload import Stage

SCRIPT = "attest.sh"
"""The file in an attempt's folder that each rank goes through: some 2 ms, before the program starts."""

ASKED = "asked"
"""The file that makes the folder of the ranks' words."""


MOST_WITNESSES = 128
"""With more ranks, libraries are not asked: each would say some hundred lines while it starts."""


def words_folder(stage: str) -> str:
    """Return the folder, in an attempt's, into which libraries write what they chose."""
    return f"transport/{stage}"


def ranks_folder(stage: Stage) -> str:
    """Return the folder, in an attempt's, in which the ranks of a stage say where they are."""
    return f"ranks/{stage.name}"


def is_attested(stage: Stage, platform: Platform) -> bool:
    """Return whether ranks of `stage` can say it: an MPI starts them, where the attempt's folder is seen."""
    return stage.is_mpi and platform.launcher != "none" and platform.backend in {"process", "slurm"}


def with_files(stage: Stage, *, is_heard: bool = False) -> Stage:
    """Return `stage` with the files that attested ranks need, and libraries where they are asked."""
    text = Path(__file__).with_name("attest.sh").read_text()
    files = {**stage.files, SCRIPT: text, f"{ranks_folder(stage)}/{ASKED}": ""}
    if is_heard:
        files[f"{words_folder(stage.name)}/{ASKED}"] = ""
    return msgspec.structs.replace(stage, files=files)


def attested(program: Invocation, stage: Stage, folder: str) -> Invocation:
    """Return `program` behind the script, with the working folder `folder`."""
    said = f"{folder}/{ranks_folder(stage)}"
    argv = ("/bin/sh", f"{folder}/{SCRIPT}", said, *program.argv)
    return Invocation(argv=argv, env=program.env)
