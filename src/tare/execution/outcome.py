"""Judge an attempt after it ended: done, failed or invalid, and why.

The checks are, in order: clocks, exit code and signals, parsed figures, network, rank placement, and
processes that outlived the ranks. They read the exit status and the files in the attempt's folder.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tare.core.attempt import Attempt, Proof, State, gather_series
from tare.core.case import Case
from tare.core.counting import count
from tare.core.job import Exit
from tare.core.printed_secrets import without_secrets
from tare.core.profile import read as read_profile
from tare.core.units import format_seconds
from tare.core.workload import Parsed, Workload
from tare.execution.compose import Composer
from tare.execution.exits import Outcome, StagesEnd, judge_exit, judge_survivors
from tare.execution.failure_reasons import error_of, refusal_of_loader
from tare.execution.loading_fault import loading_fault
from tare.execution.parsing import parse_output
from tare.execution.placement import check_placement
from tare.execution.printed_settings import anchored, requested_settings, with_contradictions
from tare.execution.profiling import LIBRARY
from tare.execution.transport import Needs, prove
from tare.execution.transport_reports.gathering import read_reports
from tare.execution.transport_reports.verdict import confirms, contradiction, describe, named_devices
from tare.probes.placement import ranks_folder, sampling_stride


class NetworkEvidence(NamedTuple):
    """The network that carried the data: the evidence, its strength, and the transport that MPI reported."""

    evidence: str = ""
    proof: Proof | None = None
    chosen: str = ""


class ReportedTransport(NamedTuple):
    """The transport that the libraries reported, the outcome, and whether it confirms the case's network."""

    chosen: str
    outcome: Outcome
    is_confirmed: bool


def judge(
    attempt: Attempt,
    case: Case,
    composer: Composer,
    end: StagesEnd,
    work: Path,
    timeout_s: float,
    hostnames: Collection[str] = (),
) -> Attempt:
    """Return `attempt` with its state and, if it is done, the measurements from the folder `work`.

    `timeout_s` is the time-out in seconds. `hostnames` are the host names of its nodes, empty if unknown.
    """
    workload = composer.workloads[case.workload]
    attempt = msgspec.structs.replace(attempt, elapsed_s=end.exit.elapsed_s)
    outcome = judge_clocks(attempt) or judge_software(case, composer, work, end.exit)
    outcome = outcome or judge_exit(end, timeout_s, work, workload.output)
    network, placement = NetworkEvidence(), ""
    parsed = Parsed()
    if outcome is None:
        parsed, outcome = judge_output(case, composer, work, (end.stderr, end.stdout))
    if outcome.state is State.DONE and workload.needs_transport and case.layout.nodes > 1 and case.network:
        network, outcome = judge_network(attempt, case, composer, work, parsed)
    if outcome.state is State.DONE:
        placement, outcome = judge_ranks(case, composer, work, hostnames)
    if outcome.state is State.DONE and case.profile_of is not None:
        outcome = judge_profile(work, (end.stderr, end.stdout))
    outcome = judge_survivors(outcome, end.exit)
    judged = msgspec.structs.replace(
        attempt,
        is_infrastructure=outcome.is_infrastructure,
        transport=network.evidence,
        proof=network.proof,
        chosen=network.chosen,
        placement=placement,
    )
    return with_figures(judged, workload, composer, parsed, outcome)


def judge_output(
    case: Case, composer: Composer, work: Path, names: Sequence[str] = ()
) -> tuple[Parsed, Outcome]:
    """Return the figures in the output of a run, and whether they are all there and of what was asked for.

    `names` are the files in which the program may have printed an error.
    """
    workload = composer.workloads[case.workload]
    parsed = parse_output(workload.expecting(case), work)
    if not parsed.problems:
        requested = requested_settings(workload, case, composer.site.platforms[case.platform])
        parsed = with_contradictions(workload, parsed, requested, "asked for")
    return parsed, _quoted(judge_figures(workload, parsed), work, (*names, workload.output))


def with_figures(
    attempt: Attempt, workload: Workload, composer: Composer, parsed: Parsed, outcome: Outcome
) -> Attempt:
    """Return `attempt` with its state, and with the figures of its output if it is done."""
    is_done = outcome.state is State.DONE
    better = {fom.name: fom.better for fom in workload.foms}
    judged = msgspec.structs.replace(
        attempt,
        state=outcome.state,
        reason=outcome.reason,
        check=outcome.check,
        proof=attempt.proof if is_done else None,
        series=gather_series(anchored(parsed.measurements), better) if is_done else [],
        printed={name: list(values) for name, values in parsed.printed.items()},
        left_out=list(parsed.left_out) if is_done else [],
    )
    return without_secrets(judged, functools.cache(composer.pseudonyms.text))


def judge_profile(work: Path, names: Sequence[str] = ()) -> Outcome:
    """Return whether a profiled run left its profile; `names` are the files of its output."""
    if isinstance(found := read_profile(work), str):
        refused = refusal_of_loader(work, names, LIBRARY)
        why = f"no profile, because {refused}" if refused else f"{found}{_NO_PROFILE}"
        return Outcome(State.INVALID, why, "profile")
    return Outcome(State.DONE)


_NO_PROFILE = (
    "; programs without MPI, programs that MPI is linked into statically, and programs that end without "
    "MPI_Finalize leave none"
)

_LEAST_SHARE = 0.001
"""A clock change smaller than this share of the run's time does not change its figures noticeably."""


def judge_clocks(attempt: Attempt) -> Outcome | None:
    """Return a failure if a clock was set, or the machine was suspended, during the run; else None.

    This is an infrastructure failure, whether the program succeeded or not.
    """
    reason, took_s = "", attempt.elapsed_s
    if took_s < 0:
        reason = f"it ended {-took_s:.3g} s before it began by its node's clock, which was set back meanwhile"
    elif attempt.suspended_s:
        reason = (
            f"this machine was suspended for {format_seconds(attempt.suspended_s)} during the run, so "
            "neither its time nor what its program timed can be relied on"
        )
    elif abs(attempt.clock_set_s) > _LEAST_SHARE * took_s:
        way = "forward" if attempt.clock_set_s > 0 else "back"
        reason = (
            f"the wall clock of this machine was set {way} by {abs(attempt.clock_set_s):.3g} s during the "
            f"run, which took {took_s:.3g} s: programs that time themselves by it print wrong figures"
        )
    return Outcome(State.FAILED, reason, "clock", is_infrastructure=True) if reason else None


def judge_software(case: Case, composer: Composer, work: Path, ended: Exit) -> Outcome | None:
    """Return an infrastructure failure if software of the run could not be loaded; else None."""
    reason = loading_fault(work, ended) if composer.software(case) else ""
    return Outcome(State.FAILED, reason, "software", is_infrastructure=True) if reason else None


def judge_figures(workload: Workload, parsed: Parsed) -> Outcome:
    """Return whether the parsed output is complete and has figures, and if not, why."""
    if parsed.problems:
        return Outcome(State.INVALID, "; ".join(parsed.problems[:3]), check="output")
    if not parsed.is_complete:
        return Outcome(State.INVALID, "the output is not complete", check="complete")
    if workload.foms and not parsed.measurements:
        return Outcome(State.INVALID, "the output holds no figure of merit", check="output")
    return Outcome(State.DONE)


def _quoted(outcome: Outcome, work: Path, names: Sequence[str]) -> Outcome:
    """Return `outcome` with the error that the program printed, if it exited with 0 but gave no figures."""
    error = error_of(work, names) if outcome.check in {"output", "complete"} else ""
    if not error or error in outcome.reason:
        return outcome
    return outcome._replace(reason=f"{outcome.reason}; the program had printed: {error}")


def judge_network(
    attempt: Attempt, case: Case, composer: Composer, work: Path, parsed: Parsed
) -> tuple[NetworkEvidence, Outcome]:
    """Return which network carried the data between nodes, and whether it is the network of the case."""
    site, layout = composer.site, composer.widest(case)
    reports = judge_reports(case, composer, work)
    network = site.networks[case.network or ""]
    judgement = prove(
        network,
        attempt.hosts,
        attempt.traffic,
        Needs(
            payload_bytes=parsed.payload_bytes,
            n_messages=parsed.n_messages,
            is_answered=not _is_udp(case, parsed),
            n_ranks=layout.ranks,
            n_nodes=layout.nodes,
        ),
        management=site.side_interfaces,
        devices=_devices(case, composer),
        is_reported=reports.is_confirmed,
    )
    outcome = reports.outcome
    if judgement.fault:
        outcome = Outcome(State.INVALID, judgement.fault, check="transport")
    return NetworkEvidence(judgement.evidence, judgement.proof, reports.chosen), outcome


def _is_udp(case: Case, parsed: Parsed) -> bool:
    """Return whether a run used UDP, according to its parameters or to its output."""
    return "udp" in (case.parameters.get("protocol"), *parsed.printed.get("protocol", ()))


def _devices(case: Case, composer: Composer) -> tuple[str, ...]:
    """Return the RDMA devices of the case's network: from the site, or from its MPI variables."""
    network = composer.site.networks[case.network or ""]
    return network.devices or named_devices(composer.own_variables(case))


def judge_reports(case: Case, composer: Composer, work: Path) -> ReportedTransport:
    """Return the transport that the libraries reported, and whether it matches the network of the case."""
    stages = [
        stage
        for stage in composer.workloads[case.workload].stages(case)
        if composer.reports_transport(case, stage)
    ]
    reports = [report for stage in stages for report in read_reports(work, stage.name)]
    chosen = describe(reports)
    n_ranks = max(((stage.layout or case.layout).ranks for stage in stages), default=0)
    every = sampling_stride(n_ranks)
    fault, is_confirmed = None, False
    if case.network:
        network, devices = composer.site.networks[case.network], _devices(case, composer)
        fault = contradiction(network, reports, devices=devices, are_all_asked=every == 1)
        is_confirmed = confirms(network, reports, devices=devices)
    if chosen and every > 1:
        chosen += f"; {math.ceil(n_ranks / every)} of {count(n_ranks, 'rank')} were asked"
    outcome = Outcome(State.INVALID, fault, check="transport") if fault else Outcome(State.DONE)
    return ReportedTransport(chosen, outcome, is_confirmed)


def judge_ranks(
    case: Case, composer: Composer, work: Path, hostnames: Collection[str] = ()
) -> tuple[str, Outcome]:
    """Return the rank placement from the placement reports, and whether it matches the case's layout."""
    site, platform = composer.site, composer.site.platforms[case.platform]
    has_own_hostnames = platform.container is not None and platform.container.network != "host"
    evidence = ""
    for stage in composer.workloads[case.workload].stages(case):
        if not composer.runs_placement_probe(case, stage):
            continue
        layout, folder = stage.layout or case.layout, work / ranks_folder(stage)
        slots = site.slots(layout.nodes)
        evidence, fault = check_placement(
            folder,
            layout,
            slots=slots,
            has_own_hostnames=has_own_hostnames,
            hostnames=hostnames if platform.container is None else (),
        )
        if fault:
            return "", Outcome(State.INVALID, fault, check="placement")
    return evidence, Outcome(State.DONE)
