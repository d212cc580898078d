"""Judge what an attempt left behind: done, failed or invalid, and why."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import msgspec

from tare.attest import ranks_folder, witness_every
from tare.compose import Composer
from tare.model.attempt import Attempt, State, gather_series
from tare.model.backend import Exit
from tare.model.case import Case
from tare.model.workload import Parsed, Workload
from tare.runner.placement import attest
from tare.runner.transport import prove
from tare.runner.witness.hearing import read_words
from tare.runner.witness.verdict import contradiction, describe, named_devices

_TAIL = 300  # characters of an output that a reason quotes


class Outcome(NamedTuple):
    """How an attempt came out, before its numbers are kept."""

    state: State
    reason: str = ""
    check: str = ""
    is_infrastructure: bool = False


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
    outcome = judge_exit(end, timeout_s, work)
    evidence = chosen = ""
    parsed = Parsed()
    if outcome is None:
        parsed = parse_output(workload.expecting(case), work)
        outcome = judge_figures(workload, parsed)
    if outcome.state is State.DONE and workload.needs_transport and case.layout.nodes > 1 and case.network:
        site = composer.site
        proof = prove(
            site.networks[case.network],
            attempt.hosts,
            attempt.traffic,
            payload_bytes=parsed.payload_bytes,
            management=site.management,
        )
        evidence = proof.evidence
        chosen, outcome = judge_words(case, composer, work)
        if proof.fault:
            outcome = Outcome(State.INVALID, proof.fault, check="transport")
    placement = ""
    if outcome.state is State.DONE:
        placement, outcome = judge_ranks(case, composer, work, hostnames)
    is_done = outcome.state is State.DONE
    better = {fom.name: fom.better for fom in workload.foms}
    return msgspec.structs.replace(
        attempt,
        state=outcome.state,
        reason=outcome.reason,
        check=outcome.check,
        is_infrastructure=outcome.is_infrastructure,
        transport=evidence,
        chosen=chosen,
        placement=placement,
        series=gather_series(parsed.measurements, better) if is_done else [],
    )


def parse_output(workload: Workload, work: Path) -> Parsed:
    """Return what the workload's parser finds in its output file; a missing file is a problem."""
    path = work / workload.output
    if "*" in workload.output:  # some programs put the date into the name of their report
        path = max(work.glob(workload.output), default=path)
    try:
        return parse_file(workload, path)
    except FileNotFoundError:
        return Parsed(problems=(f"the program wrote no {workload.output}",))
    except OSError as error:
        return Parsed(problems=(f"{workload.output} cannot be read: {error.strerror}",))


def parse_file(workload: Workload, path: Path) -> Parsed:
    """Return what the workload's parser finds in the file at `path`. Raises OSError as opening it does."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        try:
            return workload.parse(lines)
        except Exception as error:  # a plug-in's parser may do anything; the run is on record all the same
            return Parsed(problems=(f"the parser of {workload.name} broke: {type(error).__name__}: {error}",))


def judge_exit(end: StagesEnd, timeout_s: float, work: Path) -> Outcome | None:
    """Return why the programs failed, or None when all of them ended well."""
    ended = end.exit
    where = f"stage {end.stage} " if end.stage else ""
    if ended.fault:
        return Outcome(State.FAILED, f"{where}{ended.fault}{_tail(work, end)}", is_infrastructure=True)
    if ended.is_timeout:
        return Outcome(
            State.FAILED,
            f"{where}was still running after {timeout_s:g} s and was ended (time-out)",
            "timeout",
        )
    if ended.signal is not None:
        return Outcome(State.FAILED, f"{where}ended by signal {_signal_name(ended.signal)}{_tail(work, end)}")
    if end.lacking:
        return Outcome(State.FAILED, f"{where}{end.lacking}{_tail(work, end)}", "stage")
    if ended.code != 0:
        return Outcome(State.FAILED, f"{where}exit code {ended.code}{_tail(work, end)}", "exit code")
    return None


def judge_figures(workload: Workload, parsed: Parsed) -> Outcome:
    """Return whether what was read counts, and if not, why."""
    if parsed.problems:
        return Outcome(State.INVALID, "; ".join(parsed.problems[:3]), check="output")
    if not parsed.is_complete:
        return Outcome(State.INVALID, "the output is not complete", check="complete")
    if workload.foms and not parsed.measurements:
        return Outcome(State.INVALID, "the output holds no figure of merit", check="output")
    return Outcome(State.DONE)


def judge_words(case: Case, composer: Composer, work: Path) -> tuple[str, Outcome]:
    """Return what the libraries said of the transport, and whether that is the network of the case."""
    stages = [
        stage for stage in composer.workloads[case.workload].stages(case) if composer.is_heard(case, stage)
    ]
    words = [word for stage in stages for word in read_words(work, stage.name)]
    chosen = describe(words)
    n_ranks = max(((stage.layout or case.layout).ranks for stage in stages), default=0)
    every = witness_every(n_ranks)
    fault = None
    if case.network:
        fault = contradiction(
            composer.site.networks[case.network],
            words,
            devices=named_devices(composer.own_variables(case)),
            are_all_asked=every == 1,
        )
    if chosen and every > 1:
        chosen += f"; {math.ceil(n_ranks / every)} of {n_ranks} ranks were asked"
    return chosen, Outcome(State.INVALID, fault, check="transport") if fault else Outcome(State.DONE)


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
        evidence, fault = attest(
            folder,
            layout,
            slots=slots,
            has_own_names=has_own_names,
            hostnames=hostnames if platform.container is None else (),
        )
        if fault:
            return "", Outcome(State.INVALID, fault, check="placement")
    return evidence, Outcome(State.DONE)


def _tail(work: Path, end: StagesEnd) -> str:
    """Return the end of what the program wrote, from standard error if there is any, to quote it."""
    for name in (end.stderr, end.stdout):
        try:
            with (work / name).open("rb") as file:
                file.seek(max(file.seek(0, os.SEEK_END) - 4 * _TAIL, 0))
                text = file.read().decode(errors="replace").strip()
        except OSError:
            continue
        if text:
            return ": " + " ".join(text[-_TAIL:].split())
    return ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
