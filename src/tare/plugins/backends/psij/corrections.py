"""Correct errors in PSI/J's executors (0.9.11) from outside.

PSI/J's executors have methods to build, submit and parse jobs. Only these methods are replaced. The test of
each correction fails once PSI/J no longer needs it.
"""

from __future__ import annotations

import getpass
import io
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tare.plugins.backends.psij.systems import Executor

if TYPE_CHECKING:
    import psij

_UNKNOWN_JOB = {153, 35}  # qstat(1B): PBSE_UNKJOBID and PBSE_HISTJOBID, as exit codes
_REASONS = ("EXIT_REASON", "KILL_REASON", "SUSPEND_REASON")

Run = Callable[[list[str]], str]
Parse = Callable[[int, str], "dict[str, psij.JobStatus]"]
Generate = Callable[["psij.Job", "dict[str, object]", IO[str]], None]


def correct(executor: psij.JobExecutor, name: Executor, run: Run) -> None:
    """Correct `executor`, which is PSI/J's executor `name`. `run` calls commands of its batch system."""
    from psij.executors.batch.batch_scheduler_executor import BatchSchedulerExecutor

    if not isinstance(executor, BatchSchedulerExecutor):
        return
    _replace(executor, "_run_command", run)
    _replace(executor, "_current_user", getpass.getuser)  # os.getlogin() needs a terminal
    parse = executor.parse_status_output
    match name:
        case Executor.SLURM:
            _replace(executor, "parse_status_output", partial(_parse_squeue, parse))
        case Executor.PBS | Executor.PBS_CLASSIC:
            _replace(executor, "parse_status_output", partial(_parse_qstat, parse))
            _replace(executor, "process_cancel_command_output", _accept_qdel)
        case Executor.LSF:
            _replace(executor, "parse_status_output", partial(_parse_bjobs, parse))
            _replace(executor, "get_submit_command", _bsub)
            _replace(
                executor, "generate_submit_script", partial(_for_any_lsf, executor.generate_submit_script)
            )
        case Executor.COBALT:
            generate = partial(_with_duration, executor.generate_submit_script)
            _replace(executor, "generate_submit_script", generate)


def _replace(executor: psij.JobExecutor, name: str, method: Callable[..., Any]) -> None:
    if not hasattr(executor, name):
        raise AttributeError(
            f"PSI/J's executors have no {name} any more: see whether Tare's correction may go"
        )
    setattr(executor, name, method)


def _parse_squeue(parse: Parse, code: int, text: str) -> dict[str, psij.JobStatus]:
    """Parse each job of squeue by itself.

    PSI/J fails on reasons of several words ("ReqNodeNotAvail, UnavailableNodes:n1"), on most reasons of
    failed jobs, and on states of newer versions. One such job would make PSI/J lose the states of all jobs.
    """
    if code != 0:
        return parse(code, text)
    header, *lines = text.splitlines() or [""]
    found: dict[str, psij.JobStatus] = {}
    for line in lines:
        words = line.split()
        if len(words) < 2:
            continue
        try:
            found |= parse(0, f"{header}\n{line}")
        except AssertionError:
            found |= _parse_state(parse, header, words)
    return found


def _parse_state(parse: Parse, header: str, words: list[str]) -> dict[str, psij.JobStatus]:
    """Parse a state without its reason. A job in a state that PSI/J does not know counts as active."""
    import psij

    number, state = words[:2]
    try:
        known = parse(0, f"{header}\n{number} {state} NonZeroExitCode")[number]
    except AssertionError:
        return {number: psij.JobStatus(psij.JobState.ACTIVE)}
    return {number: psij.JobStatus(known.state)}


def _parse_qstat(parse: Parse, code: int, text: str) -> dict[str, psij.JobStatus]:
    """Parse what qstat prints for the jobs that it knows, also when it reports errors for others.

    A server without job history forgets jobs when they end. One such job would make PSI/J lose the states of
    all jobs.
    """
    if code not in {0, *_UNKNOWN_JOB}:
        return parse(code, text)
    start = text.find("{")
    if start < 0:
        return {}
    jobs, _ = json.JSONDecoder(strict=False).raw_decode(text[start:])
    return parse(0, json.dumps(jobs)) if "Jobs" in jobs else {}


def _accept_qdel(code: int, text: str) -> None:
    """Treat a job that is already over as cancelled. Raises SubmitException if qdel failed otherwise."""
    import psij

    if code not in _UNKNOWN_JOB:
        raise psij.SubmitException(text)


def _parse_bjobs(parse: Parse, code: int, text: str) -> dict[str, psij.JobStatus]:
    """Parse states without their reasons: PSI/J looks these up under a name that bjobs never prints."""
    if code == 0:
        jobs = json.loads(text)
        jobs["RECORDS"] = [one | dict.fromkeys(_REASONS, "") for one in jobs["RECORDS"]]
        text = json.dumps(jobs)
    return parse(code, text)


def _bsub(job: psij.Job, script: Path) -> list[str]:
    """Pass the script to bsub on standard input. Otherwise, bsub ignores the script's #BSUB lines.

    (bsub(1); only LSB_BSUB_PARSE_SCRIPT=Y in lsf.conf(5) changes that.) Options that PSI/J's template cannot
    hold are given here: -x has no value, and the brackets of -R would be quoted twice.
    """
    import psij

    resources = job.spec.resources if job.spec else None
    if not isinstance(resources, psij.ResourceSpecV1):
        raise psij.InvalidJobException(f"job {job.id} does not say which nodes it needs")
    options = ["-R", f"span[ptile={resources.computed_processes_per_node}]"]
    options += ["-x"] if resources.exclusive_node_use else []
    return [
        "sh",
        "-c",
        'script=$1; shift; exec bsub "$@" <"$script"',
        "bsub",
        str(script.absolute()),
        *options,
    ]


def _for_any_lsf(generate: Generate, job: psij.Job, context: dict[str, object], file: IO[str]) -> None:
    """Write the script without -nnodes, which only LSF with IBM's CSM accepts, and not together with -n."""
    whole = io.StringIO()
    generate(job, context, whole)
    file.write(re.sub(r"^#BSUB -nnodes .*\n", "", whole.getvalue(), flags=re.MULTILINE))


def _with_duration(generate: Generate, job: psij.Job, context: dict[str, object], file: IO[str]) -> None:
    """Write the script with the job's duration, which the template reads under another name."""
    generate(job, context | {"duration": context.get("formatted_job_duration")}, file)
