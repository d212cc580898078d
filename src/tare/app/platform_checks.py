"""Check a platform of a site: start two ranks on two nodes, and check that they are ranks of one program."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

import msgspec
import yaml

from tare.app import planning
from tare.app.executors import make_executor
from tare.app.patience import Patience, Wait
from tare.app.planned_tasks import planned_task
from tare.app.scratch_folders import scratch_folder
from tare.config import SiteSource
from tare.core.attempt import Attempt, State
from tare.core.backend_plugin import CheckContext, PlannedTask
from tare.core.case import Run
from tare.core.checks import Finding
from tare.core.errors import LabError, TareError
from tare.core.site import Platform, Site
from tare.execution.executor import Executor
from tare.plugins.backend_registry import backend
from tare.plugins.backends.batch.options import minutes_of

_STUDY = """\
study: doctor
workload: {workload}
platform: {platform}
{network}
nodes: {nodes}
ranks_per_node: {ranks_per_node}
repeats: 1
timeout: {timeout_s} s
"""
_TIMEOUT_S = 120
JOB_MINUTES = minutes_of([_TIMEOUT_S])
"""The time limit of the job of a batch system in which a platform is tried, where jobs may be that long."""
COMPILED = "tare.p2p"
"""The workload that the MPI's own compiler makes."""
_PROGRAMS = {
    COMPILED: "{tare.p2p: {max_bytes: 1MiB, iterations: 20, time_s: 0.05}}",
    "imb.pingpong": "{imb.pingpong: {max_bytes: 1MiB}}",
}
"""Workloads that distinguish two ranks from one rank started twice: Tare's own, or IMB where that fails."""


_LATER = "try it when nodes are free, or wait longer: tare doctor --site SITE --platform {name} --wait '1 h'"


def check_platform(
    source: SiteSource, name: str, env: Mapping[str, str], folder: Path, patience: Patience
) -> Finding:
    """Return whether the platform starts two ranks that reach each other, with the MPI and transport.

    It is unknown if their job has not started when `patience` ends; the job is cancelled then.
    """
    platform = source.site.platforms[name]
    if platform.launcher == "none":
        return _without_mpi(source.site, name)
    if patience.has_given_up(platform.options):
        found = f"not tried: a job that asks for the same nodes did not start within {patience.limit}"
        return Finding(name=name, is_met=None, found=found, cure=_LATER.format(name=name))
    wait = Wait(name, patience)
    of_compiler: Finding | None = None
    missing = ""
    for workload in _PROGRAMS:
        with scratch_folder(folder) as work:
            try:
                attempt = _try(source, name, workload, env, work, wait)
            except TareError as error:
                own = Finding(name=name, is_met=False, found=str(error), cure=_cure(platform, "", ""))
                return of_compiler or own
            if attempt is None:
                patience.give_up(platform.options)
                found = f"its job was cancelled after a wait of {wait.waited_s:.0f} s: {wait.reason}"
                own = Finding(name=name, is_met=None, found=found, cure=_LATER.format(name=name))
                return of_compiler or own
            if _is_missing(attempt):
                missing = missing or attempt.reason
                continue
            finding = _judge(name, platform, workload, attempt, work / attempt.folder)
        if of_compiler is not None:
            return _with_compiler(finding, of_compiler) if finding.is_met else of_compiler
        if finding.is_met or not _is_of_compiler(finding.found):
            return finding
        of_compiler = finding
    return of_compiler or Finding(
        name=name,
        is_met=None,
        found=f"no program to try it with: {missing}",
        cure="install the MPI's compiler (mpicc) or IMB-MPI1, and name its folder in the platform's 'path'",
    )


def _is_of_compiler(found: str) -> bool:
    """Return whether Tare's program failed as with the mpicc of another MPI: in its build, or as one rank."""
    return found.startswith("stage build ") or " rank and needs " in found


def _with_compiler(finding: Finding, of_compiler: Finding) -> Finding:
    """Return the finding of a platform on which IMB works, and Tare's own program does not."""
    found = f"{finding.found}; tare.p2p, which mpicc compiles, does not run there: {of_compiler.found}"
    return msgspec.structs.replace(finding, found=found)


def _without_mpi(site: Site, name: str) -> Finding:
    from tare.lab.rootfs import require_built

    box = site.platforms[name].container
    is_here = site.lab is not None or not site.agent
    try:
        require_built({box.source} if box and is_here else ())
    except LabError as error:
        found, _, cure = str(error).partition("; ")
        return Finding(name=name, is_met=False, found=found, cure=cure)
    return Finding(name=name, is_met=True, found="starts programs without MPI")


def job_minutes(most: int | None) -> int:
    """Return the time limit of that job where jobs end after `most` minutes; None is no limit."""
    return minutes_of([_timeout_s(most)])


def _timeout_s(most_minutes: int | None) -> int:
    """Return the time-out of the run, which leaves a job its minute to start and end (see minutes_of)."""
    return _TIMEOUT_S if most_minutes is None else max(min(_TIMEOUT_S, (most_minutes - 1) * 60), 60)


def _try(
    source: SiteSource, name: str, workload: str, env: Mapping[str, str], folder: Path, wait: Wait
) -> Attempt | None:
    """Run the workload once in `folder`, as a campaign does; return None if its job waits for too long."""
    site = source.site
    options = site.platforms[name].options
    nodes = min(2, len(site.nodes), options.max_nodes or 2)
    network = f"network: {next(iter(site.networks))}" if site.networks else ""
    study, site_file = folder / planning.STUDY, folder / planning.SITE
    study.write_text(
        _STUDY.format(
            workload=_PROGRAMS[workload],
            platform=name,
            network=network,
            nodes=nodes,
            ranks_per_node=2 // nodes,
            timeout_s=_timeout_s(options.max_minutes),
        )
    )
    site_file.write_text(source.text)
    loaded = planning.load(folder)
    with make_executor(folder, loaded, env if site.lab else None, on_wait=wait.hear) as executor:
        return _run_one(executor, loaded, wait)


def check_backend(source: SiteSource, site: Site, name: str, env: Mapping[str, str]) -> Iterable[Finding]:
    """Return the findings of a platform's backend, before any rank is started; `site` has its agent."""
    context = CheckContext(site=site, name=name, env=env, folder=Path.cwd(), plan=partial(plan_tasks, source))
    return backend(site.platforms[name].backend).check(context)


def plan_tasks(source: SiteSource, study: Mapping[str, object]) -> list[PlannedTask]:
    """Plan `study`, which has the structure of a study file, at a site; return one task for each case."""
    with tempfile.TemporaryDirectory(prefix="tare-doctor.") as folder:
        Path(folder, planning.STUDY).write_text(yaml.safe_dump(dict(study)))
        Path(folder, planning.SITE).write_text(source.text)
        loaded = planning.load(Path(folder))
        return [planned_task(loaded, case) for case in loaded.plan.cases]


def _run_one(executor: Executor, loaded: planning.Loaded, wait: Wait) -> Attempt | None:
    (case,) = loaded.plan.cases
    try:
        executor.start(case, Run(1, case.id), 1)
        wait.begin()
        ended: list[Attempt] = []
        while not ended and not wait.is_too_long:
            ended += executor.wait()
        return ended[0] if ended else None
    finally:
        executor.abandon()


def _is_missing(attempt: Attempt) -> bool:
    """Return whether a program was not found (exit code 126 or 127)."""
    return attempt.state is State.FAILED and attempt.exit_code in {126, 127}


def _judge(name: str, platform: Platform, workload: str, attempt: Attempt, folder: Path) -> Finding:
    if attempt.state is not State.DONE:
        reason = _program_error(folder) or " ".join(attempt.reason.split())
        return Finding(name=name, is_met=False, found=reason, cure=_cure(platform, attempt.check, reason))
    details = [
        _mpi(folder / "stdout"),
        f"2 ranks on {' and '.join(attempt.hosts) or 'one node'}",
        attempt.transport_evidence,
        attempt.chosen,
    ]
    found = "; ".join(one for one in details if one)
    return Finding(name=name, is_met=True, found=found, program=workload)


def _mpi(output: Path) -> str:
    """Return the version of the MPI, as Tare's own program or the Intel MPI Benchmarks print it."""
    for line in output.read_text(errors="replace").splitlines():
        if line.startswith('{"tare":"header"'):
            version = str(json.loads(line)["mpi"])
            return " ".join(version.split()).partition(", ")[0]
        if line.startswith("# MPI Version"):
            return f"MPI {line.partition(':')[2].strip()}"
    return ""


def _program_error(folder: Path) -> str:
    """Return the error line of Tare's own program, without the launcher's lines; empty if there is none."""
    if not (folder / "stderr").exists():
        return ""
    lines = (folder / "stderr").read_text(errors="replace").splitlines()
    return next((line for line in lines if line.startswith("microbench: ")), "")


def _cure(platform: Platform, check: str, reason: str) -> str:
    if check == "software":
        return "correct 'modules', 'spack' or 'setup' of the platform or the site, or install what they name"
    if platform.launcher == "srun":
        return (
            "an MPI that does not find Slurm's PMI starts as many programs of one rank: choose "
            "'slurm: {mpi: …}' from `srun --mpi=list`, as the MPI was built for"
        )
    if "rank" in reason:
        return "the program's MPI is not the launcher's: let the platform's 'prefix' and 'path' name the same"
    return (
        "if the mpicc that is found there is another MPI's (`mpicc -show`), name its own's folder in 'path'; "
        f"else try the launcher {platform.launcher} by hand: `tare plan STUDY --show` prints its command"
    )
