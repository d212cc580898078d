"""Judge what an attempt left behind: done, failed or invalid, and why."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

import msgspec

from tare.core.attempt import Attempt, Proof, State, gather_series
from tare.core.case import Case
from tare.core.job import Exit
from tare.core.printed_secrets import without_secrets
from tare.core.safe_folder import SafeFolder
from tare.core.units import format_seconds
from tare.core.workload import Parsed, Workload
from tare.execution.compose import Composer
from tare.execution.failure_reasons import abort_of, error_of, outputs_of, reason_of
from tare.execution.parser_deadline import OutOfTime, within
from tare.execution.placement import check_placement
from tare.execution.printed_settings import anchored, asked_of, held
from tare.execution.transport import Needs, prove
from tare.execution.transport_reports.gathering import read_words
from tare.execution.transport_reports.verdict import confirms, contradiction, describe, named_devices
from tare.probes.placement import ranks_folder, sampling_stride

_FATAL = (
    signal.SIGILL,
    signal.SIGTRAP,
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGKILL,
    signal.SIGSEGV,
    signal.SIGPIPE,
    signal.SIGTERM,
    signal.SIGXCPU,
    signal.SIGXFSZ,
)


class Outcome(NamedTuple):
    """How an attempt came out, before its numbers are kept."""

    state: State
    reason: str = ""
    check: str = ""
    is_infrastructure: bool = False


class TrafficSeen(NamedTuple):
    """What carried the data between nodes: the evidence, its strength, and the MPI's own words."""

    evidence: str = ""
    proof: Proof | None = None
    chosen: str = ""


class ProgramOutput(NamedTuple):
    """What the libraries said of the transport, what comes of it, and whether it names the case's network."""

    chosen: str
    outcome: Outcome
    is_confirmed: bool


class StagesEnd(NamedTuple):
    """How the last stage that ran ended; `lacking` says what it should have made and did not."""

    exit: Exit
    stdout: str
    stderr: str
    stage: str
    lacking: str = ""


def judge(
    attempt: Attempt,
    case: Case,
    composer: Composer,
    end: StagesEnd,
    work: Path,
    timeout_s: float,
    hostnames: Collection[str] = (),
) -> Attempt:
    """Return `attempt` with its state and, where it is done, what was measured in the folder `work`.

    `hostnames` are what its hosts call themselves; empty where that is not known.
    """
    workload = composer.workloads[case.workload]
    attempt = msgspec.structs.replace(attempt, elapsed_s=end.exit.elapsed_s)
    outcome = judge_clocks(attempt) or judge_exit(end, timeout_s, work, workload.output)
    network = TrafficSeen()
    parsed = Parsed()
    if outcome is None:
        parsed = parse_output(workload.expecting(case), work)
        if not parsed.problems:
            parsed = held(workload, parsed, asked_of(workload, case), "asked for")
        outcome = _quoted(judge_figures(workload, parsed), work, (end.stderr, end.stdout, workload.output))
    if outcome.state is State.DONE and workload.needs_transport and case.layout.nodes > 1 and case.network:
        network, outcome = judge_network(attempt, case, composer, work, parsed)
    placement = ""
    if outcome.state is State.DONE:
        placement, outcome = judge_ranks(case, composer, work, hostnames)
    outcome = judge_survivors(outcome, end.exit)
    is_done = outcome.state is State.DONE
    better = {fom.name: fom.better for fom in workload.foms}
    judged = msgspec.structs.replace(
        attempt,
        state=outcome.state,
        reason=outcome.reason,
        check=outcome.check,
        is_infrastructure=outcome.is_infrastructure,
        transport=network.evidence,
        proof=network.proof if is_done else None,
        chosen=network.chosen,
        placement=placement,
        series=gather_series(anchored(parsed.measurements), better) if is_done else [],
        printed={name: list(values) for name, values in parsed.printed.items()},
    )
    return without_secrets(judged, composer.signs.text)


_LEAST_SHARE = 0.001
"""Of the time of a run: what a clock was set by less changes no figure that it gives."""


_N_TOLD = 5
"""As many processes are named in a reason."""


def judge_clocks(attempt: Attempt) -> Outcome | None:
    """Return why a run cannot count that was timed by clocks which did not only pass; None where they did.

    It says nothing of the program, whether that came out well or not: it failed for its infrastructure.
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


def parse_output(workload: Workload, work: Path) -> Parsed:
    """Return what the workload's parser finds in its output file; a missing file is a problem."""
    folder, _, name = workload.output.rpartition("/")
    place = SafeFolder(work, *([folder] if folder else []))
    # Some programs put the date into the name of their report.
    found = place.files(name)[-1] if place.files(name) else place / name
    try:
        with os.fdopen(found.open(), encoding="utf-8", errors="replace") as lines:
            return _parse(workload, lines)
    except FileNotFoundError:
        return Parsed(problems=(f"the program wrote no {workload.output}",))
    except OSError as error:
        return Parsed(problems=(f"{workload.output} cannot be read: {error.strerror}",))


def parse_file(workload: Workload, path: Path) -> Parsed:
    """Return what the workload's parser finds in the file at `path`. Raises OSError as opening it does."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        return _parse(workload, lines)


_PARSE_S, _PARSE_BYTES_PER_S = 60.0, 1e6
"""What a parser may take: a minute, and longer the longer its file. Most read 10 to 50 MB a second."""


def _parse(workload: Workload, lines: TextIO) -> Parsed:
    limit_s = _PARSE_S + os.fstat(lines.fileno()).st_size / _PARSE_BYTES_PER_S
    try:
        return within(limit_s, lambda: _parsed(workload, lines))
    except OutOfTime:
        return Parsed(
            problems=(
                f"the parser of {workload.name} had not ended after {format_seconds(limit_s)}; a regular "
                "expression with a repetition inside a repetition, such as (a+)+, may take for ever",
            )
        )


def _parsed(workload: Workload, lines: Iterable[str]) -> Parsed:
    try:
        return workload.parse(lines)
    except Exception as error:  # a plug-in's parser may do anything; the run is on record all the same
        return Parsed(problems=(f"the parser of {workload.name} broke: {type(error).__name__}: {error}",))


def judge_exit(end: StagesEnd, timeout_s: float, work: Path, output: str = "") -> Outcome | None:
    """Return why the programs failed, or None when all of them ended well.

    `output` is the file that the workload writes its figures to, and perhaps why there are none.
    """
    ended = end.exit
    where = f"stage {end.stage} " if end.stage else ""
    names = list(outputs_of(work, end.stdout, end.stderr, output))
    if ended.fault:
        return Outcome(State.FAILED, f"{where}{ended.fault}{_said(work, names)}", is_infrastructure=True)
    if ended.excess:
        return Outcome(State.FAILED, f"{where}{ended.excess}", "output")
    if ended.is_timeout:
        error = error_of(work, names)
        said = f"; it had said: {error}" if error else ""
        why = f"{where}was still running after {timeout_s:g} s and was ended (time-out){said}"
        return Outcome(State.FAILED, why, "timeout")
    if ended.signal is not None:
        why = f"{where}ended by signal {_signal_name(ended.signal)}{_said(work, names)}"
        return Outcome(State.FAILED, why)
    if end.lacking:
        return Outcome(State.FAILED, f"{where}{end.lacking}{_said(work, names)}", "stage")
    if ended.code != 0:
        code = f"exit code {ended.code}{_of_signal(ended.code)}"
        said = _said(work, names) or ("" if _is_said(work, names) else ", and nothing was printed")
        return Outcome(State.FAILED, f"{where}{code}{said}", "exit code")
    if aborted := abort_of(work, (end.stderr, end.stdout)):
        return Outcome(State.FAILED, f"{where}the launcher's exit code is 0, but {aborted}", "exit code")
    return None


def judge_survivors(outcome: Outcome, ended: Exit) -> Outcome:
    """Return `outcome`, or that a run does not count, since processes outlived its ranks.

    What could not be ended ran beside it; what held its launcher up was ended, but the run took longer by it.
    """
    if ended.lingerers:
        what = f"its ranks had ended, but not {_named(ended.lingerers)}: left behind, it held the launcher up"
        outcome = _spoilt(outcome, what, "lingerers")
    if ended.survivors:
        n = len(ended.survivors)
        what = f"{n} process{'es' if n > 1 else ''} could not be ended and may slow this and other runs: "
        outcome = _spoilt(outcome, what + _named(ended.survivors), "survivors")
    return outcome


def _named(processes: Sequence[str]) -> str:
    more = len(processes) - _N_TOLD
    return ", ".join(processes[:_N_TOLD]) + (f" and {more} more" if more > 0 else "")


def _spoilt(outcome: Outcome, what: str, check: str) -> Outcome:
    """Return that a run does not count for `what`; of one that does not count already, the reason with it."""
    if outcome.state is State.DONE:
        return Outcome(State.INVALID, what, check=check)
    return outcome._replace(reason=f"{outcome.reason}; {what}")


def judge_figures(workload: Workload, parsed: Parsed) -> Outcome:
    """Return whether what was read counts, and if not, why."""
    if parsed.problems:
        return Outcome(State.INVALID, "; ".join(parsed.problems[:3]), check="output")
    if not parsed.is_complete:
        return Outcome(State.INVALID, "the output is not complete", check="complete")
    if workload.foms and not parsed.measurements:
        return Outcome(State.INVALID, "the output holds no figure of merit", check="output")
    return Outcome(State.DONE)


def _quoted(outcome: Outcome, work: Path, names: Sequence[str]) -> Outcome:
    """Return `outcome` with the error that a program told of which ended with 0 and printed no figures."""
    error = error_of(work, names) if outcome.check in {"output", "complete"} else ""
    if not error or error in outcome.reason:
        return outcome
    return outcome._replace(reason=f"{outcome.reason}; the program had said: {error}")


def judge_network(
    attempt: Attempt, case: Case, composer: Composer, work: Path, parsed: Parsed
) -> tuple[TrafficSeen, Outcome]:
    """Return what carried the data between nodes, and whether it is the network of the case."""
    site, layout = composer.site, composer.widest(case)
    words = judge_words(case, composer, work)
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
        management=site.management,
        devices=_devices(case, composer),
        is_said=words.is_confirmed,
    )
    outcome = words.outcome
    if judgement.fault:
        outcome = Outcome(State.INVALID, judgement.fault, check="transport")
    return TrafficSeen(judgement.evidence, judgement.proof, words.chosen), outcome


def _is_udp(case: Case, parsed: Parsed) -> bool:
    """Return whether a run sent datagrams, by what it was asked for or by what it printed."""
    return "udp" in (case.parameters.get("protocol"), *parsed.printed.get("protocol", ()))


def _devices(case: Case, composer: Composer) -> tuple[str, ...]:
    """Return the RDMA devices that the site names for the network of `case`."""
    network = composer.site.networks[case.network or ""]
    return network.devices or named_devices(composer.own_variables(case))


def judge_words(case: Case, composer: Composer, work: Path) -> ProgramOutput:
    """Return what the libraries said of the transport, and whether that is the network of the case."""
    stages = [
        stage for stage in composer.workloads[case.workload].stages(case) if composer.is_heard(case, stage)
    ]
    words = [word for stage in stages for word in read_words(work, stage.name)]
    chosen = describe(words)
    n_ranks = max(((stage.layout or case.layout).ranks for stage in stages), default=0)
    every = sampling_stride(n_ranks)
    fault, is_confirmed = None, False
    if case.network:
        network, devices = composer.site.networks[case.network], _devices(case, composer)
        fault = contradiction(network, words, devices=devices, are_all_asked=every == 1)
        is_confirmed = confirms(network, words, devices=devices)
    if chosen and every > 1:
        chosen += f"; {math.ceil(n_ranks / every)} of {n_ranks} ranks were asked"
    outcome = Outcome(State.INVALID, fault, check="transport") if fault else Outcome(State.DONE)
    return ProgramOutput(chosen, outcome, is_confirmed)


def judge_ranks(
    case: Case, composer: Composer, work: Path, hostnames: Collection[str] = ()
) -> tuple[str, Outcome]:
    """Return where the ranks said that they were, and whether that is what the case asked for."""
    site, platform = composer.site, composer.site.platforms[case.platform]
    has_own_names = platform.container is not None and platform.container.network != "host"
    evidence = ""
    for stage in composer.workloads[case.workload].stages(case):
        if not composer.is_attested(case, stage):
            continue
        layout, folder = stage.layout or case.layout, work / ranks_folder(stage)
        slots = site.slots(layout.nodes)
        evidence, fault = check_placement(
            folder,
            layout,
            slots=slots,
            has_own_names=has_own_names,
            hostnames=hostnames if platform.container is None else (),
        )
        if fault:
            return "", Outcome(State.INVALID, fault, check="placement")
    return evidence, Outcome(State.DONE)


def _said(work: Path, names: Sequence[str]) -> str:
    """Return what the program said of its failure in these files, to quote it."""
    reason = reason_of(work, names)
    return f": {reason}" if reason else ""


def _is_said(work: Path, names: Sequence[str]) -> bool:
    """Return whether a program printed anything, or may have where its output is not here."""
    sizes = [(work / name).stat().st_size for name in names if (work / name).is_file()]
    return any(sizes) or not sizes


def _of_signal(code: int | None) -> str:
    """Return the signal that shells and launchers tell of by 128 and its number; empty where it is none."""
    names = [one.name for one in _FATAL if code == 128 + one]
    return f" (128 + {names[0]})" if names else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
