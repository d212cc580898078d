"""Convert a job request to PSI/J's job specification."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tare.core.errors import BackendError
from tare.plugins.backends.batch.queue import Request
from tare.plugins.backends.psij.options import PsijOptions
from tare.plugins.backends.psij.systems import SYSTEMS, Executor

if TYPE_CHECKING:
    import psij


def job_of(script: Path, request: Request, options: PsijOptions) -> psij.Job:
    """Return PSI/J's job that runs `script`. Raises BackendError for requests that PSI/J cannot express.

    The job has one process, on its first node, which runs the script; the script itself starts all others.
    With Flux, the script runs under its own Flux instance, as with flux-batch(1), so that it can list and
    reach the job's nodes.
    """
    import psij

    if options.executor is Executor.LOCAL and request.nodes > 1:
        raise BackendError(
            f"PSI/J's local executor has one node, and {request.name} asks for {request.nodes}"
        )
    command = ["/bin/bash", str(script)]
    if options.executor is Executor.FLUX:
        command = ["flux", "start", *command]
    spec = psij.JobSpec(
        executable=command[0],
        arguments=command[1:],
        resources=_resources(request, options),
        attributes=_attributes(request, options),
    )
    return psij.Job(spec)


def _resources(request: Request, options: PsijOptions) -> psij.ResourceSpecV1:
    import psij

    if options.executor is Executor.FLUX:  # one broker for each node, with all cores of its ranks
        cores = request.ranks_per_node * request.threads
        return psij.ResourceSpecV1(
            node_count=request.nodes, process_count=request.nodes, cpu_cores_per_process=cores
        )
    counts_slots = SYSTEMS[options.executor].counts_slots
    return psij.ResourceSpecV1(
        node_count=request.nodes,
        processes_per_node=request.ranks_per_node * (request.threads if counts_slots else 1),
        cpu_cores_per_process=None if counts_slots else request.threads,
        exclusive_node_use=options.exclusive,
    )


def _attributes(request: Request, options: PsijOptions) -> psij.JobAttributes:
    import psij

    system = SYSTEMS[options.executor]
    custom: dict[str, object] = dict(options.attributes)
    if system.name_option:
        # a prefix, because backend `slurm` may scan the same queue and knows its own jobs by name
        custom[f"{system.prefix}.{system.name_option}"] = f"psij-{request.name}"
    if options.executor in {Executor.PBS, Executor.PBS_CLASSIC}:
        custom.setdefault("pbs.r", "n")  # Tare itself decides and records whether a run is tried again
    return psij.JobAttributes(
        duration=timedelta(minutes=options.minutes or request.minutes),
        queue_name=options.queue,
        account=options.account,
        reservation_id=options.reservation,
        custom_attributes=custom or None,
    )
