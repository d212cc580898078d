"""Read the figures of a campaign anew from its recorded outputs, as a mended study says.

The result is a new campaign. Nothing runs, and the old campaign stays as it is. The programs of the mended
study must be those that ran: only figures, checks and what is compared may differ. So a regex that was wrong
costs no second campaign.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from tare import __version__
from tare.app.planning import SITE, STUDY, Loaded, load
from tare.app.provenance import hostnames_of
from tare.config.study_file import StudySource
from tare.core.attempt import Attempt, State
from tare.core.campaign import Campaign, Reparse
from tare.core.case import Case
from tare.core.counting import count
from tare.core.errors import CampaignError, CampaignLocked, UsageError, not_written
from tare.core.job import Exit
from tare.core.plan import Plan
from tare.core.safe_folder import SafeFolder
from tare.core.site import Platform
from tare.execution.exits import StagesEnd, tells_of_outliving
from tare.execution.outcome import judge, judge_output, with_figures
from tare.storage.campaign import JOURNAL, freeze, open_journal, read_campaign, store_reparse
from tare.storage.journal import AttemptEnded, read_events
from tare.storage.pseudonyms import read_pseudonyms
from tare.storage.rewriting import keep_attempt, keep_records, with_cases

_STDOUT, _STDERR = "stdout", "stderr"
_OF_OUTPUT = frozenset({"output", "complete"})
"""The checks that an output fails by what the study makes of it."""


class Reparsed(NamedTuple):
    """Each attempt that ended, as it was and as it is now, and of how many runs outputs were read."""

    attempts: tuple[tuple[Attempt, Attempt], ...]
    n_read: int


class _Source(NamedTuple):
    """The old campaign, the mended study, and the case of the study for the id of each old one."""

    campaign: Campaign
    new: Loaded
    cases: Mapping[str, Case]

    def platform(self, old: Attempt) -> Platform:
        """Return the platform that an attempt ran on."""
        return self.new.composer.site.platforms[self.cases[old.case].platform]


def reparse(
    source: Path,
    study: Path | StudySource,
    out: Path,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Reparsed:
    """Make the campaign `out` of the outputs of the campaign `source`, read as `study` says.

    `on_progress` is called with how many attempts were read, and of how many. Raises UsageError if `out` is
    there already, or if `study` would run anything else; CampaignError if evidence is missing or has changed.
    """
    _require_new(out)
    found = _matched(source, study)
    events = read_events(source / JOURNAL)
    total = sum(isinstance(event, AttemptEnded) for event in events)
    pairs: list[tuple[Attempt, Attempt]] = []
    ids = {old: new.id for old, new in found.cases.items()}
    with _new_folder(out) as folder:
        keep_records(source, folder, ids)
        with open_journal(folder) as journal:
            for event in events:
                if isinstance(event, AttemptEnded):
                    keep_attempt(source, folder, event.attempt, ids[event.attempt.case])
                    attempt = _read_anew(found, event.attempt)
                    pairs.append((event.attempt, attempt))
                    on_progress(len(pairs), total)
                    journal.append(AttemptEnded(attempt), is_synced=False)
                else:
                    journal.append(with_cases(event, ids), is_synced=False)
        record = _record(found, ids, pairs)
        store_reparse(folder, record)
        freeze(folder, found.new.plan, found.new.texts)
    return Reparsed(tuple(pairs), record.n_runs)


def _require_new(out: Path) -> None:
    with CampaignError.for_files(out):
        folder = SafeFolder(out)
        if folder.exists() and (not folder.is_folder() or folder.names()):
            raise UsageError(f"{out} is there already; choose another --out")


@contextmanager
def _new_folder(out: Path) -> Iterator[Path]:
    """Yield a folder beside `out` that becomes `out` at the end; nothing is left of it after an error."""
    folder = out.parent / f".{out.name}-{secrets.token_hex(4)}"
    try:
        SafeFolder(out.parent).make_folder()
        SafeFolder(folder).make_folder(is_fresh=True)
    except OSError as error:
        raise not_written(out, error, "choose another --out") from error
    with CampaignError.for_files(out):
        try:
            yield folder
            folder.rename(out)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _matched(source: Path, study: Path | StudySource) -> _Source:
    """Return both studies and their cases. Raises UsageError unless both run the same."""
    campaign = read_campaign(source)
    if not SafeFolder(source, STUDY).is_file():
        raise UsageError(f"{source} was not run by tare; read its files anew by tare import")
    if campaign.is_running:
        raise CampaignLocked(f"{source}: another tare is running this campaign; wait until it has ended")
    frozen = campaign.plan
    old, new = load(source), load(study, site_file=source / SITE, like=source)
    repeated = msgspec.structs.replace(new.plan, repeats=frozen.repeats, telemetry=frozen.telemetry)
    new = new._replace(plan=repeated).with_pseudonyms(read_pseudonyms(source))
    if frozen.profiled:
        new = new.with_profile()
    if new.plan.seed != frozen.seed:
        raise UsageError(
            f"the study has the seed {new.plan.seed}, and {source} ran in an order of seed {frozen.seed}; "
            "keep the study's name, or its seed"
        )
    by_form = {_form(case): case for case in new.plan.with_profiled_runs.cases}
    planned = frozen.with_profiled_runs.cases
    cases = {case.id: by_form[_form(case)] for case in planned if _form(case) in by_form}
    _require_same_cases(frozen, new.plan, cases, source)
    _require_same_programs(old, new, planned, cases)
    return _Source(campaign, new, cases)


def _form(case: Case) -> bytes:
    """Return what a case is, apart from the definition of its workload and the names of its levels."""
    profiled = "profiled" if case.profile_of else None
    plain = msgspec.structs.replace(case, id="", names={}, profile_of=profiled)
    return msgspec.json.encode(plain, order="deterministic")


def _require_same_cases(old: Plan, new: Plan, cases: Mapping[str, Case], source: Path) -> None:
    cure = "tare reparse takes a study with the same cases"
    for plan, known, lacking in (
        (old, set(cases), "the study no longer has"),
        (new, {case.id for case in cases.values()}, f"{source} does not have"),
    ):
        other = [case for case in plan.with_profiled_runs.cases if case.id not in known]
        if other:
            what = count(len(other), "case")
            raise UsageError(f"{lacking} {what}, such as {plan.describe(other[0])}; {cure}")


def _require_same_programs(
    old: Loaded, new: Loaded, planned: Sequence[Case], cases: Mapping[str, Case]
) -> None:
    """Raise UsageError unless each case of `new` runs what its old case ran."""
    for case in planned:
        before, after = old.composer.compose(case), new.composer.compose(cases[case.id])
        if before == after:
            continue
        named = old.plan.describe(case)
        for (_, one), (_, other) in zip(before, after, strict=False):
            if one.argv != other.argv:
                was, now = (" ".join(new.composer.pseudonyms.argv(argv)) for argv in (one.argv, other.argv))
                raise UsageError(
                    f"{named} ran {was!r}, and the study now says {now!r}; run it as a campaign of its own"
                )
        raise UsageError(
            f"{named} ran with other variables, files, stages or placement than the study now says; run it "
            "as a campaign of its own"
        )


def reads(old: Attempt, platform: Platform) -> bool:
    """Return whether the outputs of an attempt on `platform` decided its state, so that they are read anew.

    Where pods ran is recorded of done runs only, so an invalid run in pods stays as it was.
    """
    if old.state is State.DONE:
        return True
    is_of_output = old.state is State.INVALID and old.check in _OF_OUTPUT and not old.is_infrastructure
    return is_of_output and platform.options.pods is None and not tells_of_outliving(old.reason)


def _read_anew(found: _Source, old: Attempt) -> Attempt:
    """Return an attempt as its outputs say now; as it was, if they are not read."""
    case, composer = found.cases[old.case], found.new.composer
    attempt = msgspec.structs.replace(old, case=case.id)
    if not reads(old, found.platform(old)):
        return attempt
    work = found.campaign.folder / old.folder
    if old.state is State.DONE:
        parsed, outcome = judge_output(case, composer, work, (_STDERR, _STDOUT))
        return with_figures(attempt, composer.workloads[case.workload], composer, parsed, outcome)
    ended = Exit(code=old.exit_code, signal=old.signal, elapsed_s=old.elapsed_s)
    end = StagesEnd(ended, _STDOUT, _STDERR, "")
    names = hostnames_of(found.campaign.folder, old)
    return judge(attempt, case, composer, end, work, found.new.plan.timeout_s, names)


def _record(found: _Source, ids: Mapping[str, str], pairs: Sequence[tuple[Attempt, Attempt]]) -> Reparse:
    """Return what the new campaign keeps of where its figures come from; `ids` are the new ids of cases."""
    before = found.campaign.reparse
    read = [(one, other) for one, other in pairs if reads(one, found.platform(one))]
    return Reparse(
        source=found.new.composer.pseudonyms.only(found.campaign.folder.resolve().name),
        at=time.time(),
        tare=__version__,
        n_runs=len({(one.case, one.block) for one, _ in read}),
        n_changed=len({(one.case, one.block) for one, other in read if one.state is not other.state}),
        cases={new: before.cases.get(old, old) if before else old for old, new in ids.items()},
    )
