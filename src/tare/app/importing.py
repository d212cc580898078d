"""Import existing output: judge the files, and extend the plan of the campaign by their cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from tare.app.stated_settings import check_stated, expecting
from tare.core.attempt import State, gather_series
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.counting import count
from tare.core.errors import UsageError
from tare.core.plan import Plan
from tare.core.values import MOST_RUNS, Scalar
from tare.core.workload import Workload
from tare.execution.outcome import judge_figures
from tare.execution.parsing import parse_file
from tare.execution.printed_settings import anchored
from tare.storage.campaign import is_begun, is_campaign, read_campaign
from tare.storage.import_files import ReadFile
from tare.storage.imports import Import, extended_plan
from tare.storage.trees import Refused

_MOST_LISTED = 20
_CURE_OF_END = "; if it was to end there, state that: --set max_bytes=SIZE, or {max_bytes} in --pattern"


def existing_import(folder: Path) -> Campaign | None:
    """Return the imported campaign in `folder`; None if there is none yet, or only the beginning of one."""
    if not folder.exists():
        return None
    if not is_campaign(folder):
        if any(folder.iterdir()) and not is_begun(folder):
            raise UsageError(f"{folder} holds something else; choose another --out")
        return None
    campaign = read_campaign(folder)
    if not all(one.source for one in campaign.attempts):
        raise UsageError(f"{folder} holds runs that tare made itself; choose another --out")
    return campaign


def file_judge(workload: Workload) -> Callable[[Path, Case], ReadFile]:
    """Return a function that reads a file and judges it like the output of a run of Tare."""
    better = {fom.name: fom.better for fom in workload.foms}
    has_end = any(one.name == "max_bytes" for one in workload.parameters)

    def judge(path: Path, case: Case) -> ReadFile:
        parsed = check_stated(workload, case, parse_file(expecting(workload, case), path))
        outcome = judge_figures(workload, parsed)
        is_done = outcome.state is State.DONE
        if not is_done and not parsed.is_end_known and parsed.measurements and has_end:
            outcome = outcome._replace(reason=f"{outcome.reason}{_CURE_OF_END}")
        series = gather_series(anchored(parsed.measurements), better) if is_done else []
        left_out = parsed.left_out if is_done else ()
        return ReadFile(outcome.state, outcome.reason, outcome.check, tuple(series), parsed.printed, left_out)

    return judge


def require_figures(found: Import, refused: Sequence[Refused], existing: Campaign | None) -> None:
    """Raise UsageError unless a file has figures, or the files belong to a campaign that already exists."""
    if existing is not None and (found.runs or found.n_known or any(one.is_fault for one in refused)):
        return
    if any(run.attempt.state is State.DONE for run in found.runs):
        return
    reasons = [(one.path, one.why) for one in refused]
    reasons += [(run.attempt.source.path, run.attempt.reason) for run in found.runs if run.attempt.source]
    shown = "".join(f"\n  {path}: {why}" for path, why in reasons[:_MOST_LISTED])
    more = f"\n  … and {len(reasons) - _MOST_LISTED} more" if len(reasons) > _MOST_LISTED else ""
    raise UsageError(f"no file gave a figure, so nothing is imported{shown or '; there is no file'}{more}")


def imported_plan(
    folder: Path,
    workload: Workload,
    existing: Campaign | None,
    found: Import,
    reference: Mapping[str, Scalar],
) -> Plan:
    """Return the plan of the campaign in `folder` with the imported runs; `reference` may replace its own.

    Raises UsageError if no case has the settings of `reference`, or if a repeat has too large a number.
    """
    old = existing.plan if existing else Plan(study=folder.resolve().name, site="imported", cases=())
    n_blocks = max([old.repeats.max if existing else 0, *(run.attempt.block for run in found.runs)])
    foms = {workload.name: tuple(workload.foms)}
    plan = extended_plan(old, (run.case for run in found.runs), foms, reference, n_blocks)
    if plan.is_too_large:
        raise UsageError(
            f"repeat {n_blocks} of {count(len(plan.cases), 'case')} is too large a number: repeats count "
            "from 1, and "
            f"a campaign holds {MOST_RUNS} runs; a date is {{started}}"
        )
    kinds = {one.name: one.kind for one in workload.parameters}
    plan = msgspec.structs.replace(
        plan, kinds={**old.kinds, workload.name: kinds}, sending=_sending(existing, workload)
    )
    if reference and not any(plan.is_reference(case) for case in plan.cases):
        raise UsageError(
            f"--reference {_settings_text(reference)}: no file has these settings; "
            f"what varies is {', '.join(plan.varied) or 'nothing'}"
        )
    return plan


def _sending(existing: Campaign | None, workload: Workload) -> tuple[str, ...] | None:
    """Return the workloads that send messages; None if that is unknown for an existing campaign."""
    known = existing.plan.sending if existing else ()
    if known is None or not workload.needs_transport:
        return known
    return tuple(dict.fromkeys((*known, workload.name)))


def _settings_text(settings: Mapping[str, Scalar]) -> str:
    return " ".join(f"{name}={value}" for name, value in settings.items())
