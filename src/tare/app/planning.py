"""Load a study file or a campaign folder: read study and site, make the plan, and check its commands."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tare import config
from tare.config.site_file import SiteSource
from tare.config.study_file import StudySource
from tare.core.case import Case
from tare.core.errors import CampaignError, Fault, FileFaults, UsageError
from tare.core.plan import Edition, Plan
from tare.core.program import PROGRAM_SETTINGS
from tare.core.pseudonyms import Pseudonyms
from tare.core.safe_folder import SafeFolder
from tare.core.site import Site
from tare.core.study import Origin, Study
from tare.core.values import MOST_RUNS, Scalar
from tare.core.workload import InlineDefinition, Workload
from tare.execution.compose import Composer
from tare.plan import make_plan, profiled_plan
from tare.plan.job_limits import job_faults
from tare.plugins import registry
from tare.storage.inputs import read_inputs_record

if TYPE_CHECKING:
    from tare.execution.loop_interface import Rule

_MOST_FAULTS = 20
_MOST_BYTES = 64 * 1024 * 1024  # of a study or a site
STUDY = "study.yaml"
SITE = "site.yaml"


class Loaded(NamedTuple):
    """A study with its plan and composer, and the texts of its files by their names in a campaign."""

    study: Study
    plan: Plan
    composer: Composer
    texts: dict[str, str]

    def with_pseudonyms(self, pseudonyms: Pseudonyms) -> Loaded:
        """Return a copy that uses `pseudonyms` in the records of its commands."""
        return self._replace(composer=msgspec.structs.replace(self.composer, pseudonyms=pseudonyms))

    def with_profile(self, begun: Collection[Case] = ()) -> Loaded:
        """Return a copy whose cases also run with the profiling library.

        Raises FileFaults if jobs become too long by these runs, unless a campaign has `begun` with them.
        """
        plan = profiled_plan(self.plan, self.composer.workloads)
        known = {case.id for case in (*self.plan.cases, *begun)}
        if faults := job_faults(plan, self.study, self.composer.site, known):
            raise FileFaults(faults[:_MOST_FAULTS])
        return self._replace(plan=plan)


def load(
    path: Path | StudySource,
    n_blocks: int | None = None,
    site_file: Path | SiteSource | None = None,
    like: Path | None = None,
) -> Loaded:
    """Read and plan the study at `path`: a study file, or a campaign folder with its frozen study.

    It may also be the text of a study. `n_blocks` overrides the study's repeats, `site_file` its site. If
    there is a campaign in the folder `like`, cases are made by the rules of that campaign's version. Raises
    FileFaults with all faults of the files.
    """
    given, site_given = _given(path, site_file)
    known: Mapping[str, Workload] = {}

    def catalogue(inline: Sequence[InlineDefinition]) -> Mapping[str, Workload]:
        nonlocal known
        known = registry.workloads(inline)
        return known

    study, source = config.load_study(given, catalogue, site_given)
    if n_blocks is not None:
        study = msgspec.structs.replace(study, repeats=study.repeats.exactly(n_blocks))
    site = with_agent(source.site)
    composer = Composer(
        site,
        known,
        registry.launcher,
        registry.runtime,
        Pseudonyms(site.redact),
        prologue=study.prologue,
        epilogue=study.epilogue,
        study_inputs=study.inputs,
        study_folder=_study_folder(path, given),
    )
    texts = {STUDY: given.raw.decode("utf-8-sig"), SITE: source.text}
    require_plugins(source)
    folder = path if isinstance(path, Path) else None
    begun = _begun(like or folder)
    plan = make_plan(study, site, known, begun.edition if begun else Edition.USED)
    if faults := job_faults(plan, study, site, {case.id for case in begun.cases} if begun else ()):
        raise FileFaults(faults[:_MOST_FAULTS])
    if len(plan.cases) * plan.repeats.max > MOST_RUNS:
        message = f"more than {MOST_RUNS} runs; give fewer levels or repeats"
        if n_blocks is None and (origin := study.origins.get("repeats")):
            raise FileFaults([study.fault(origin, message)])
        raise UsageError(f"{given.file_name}: {message}")
    _require_commands(plan, study, composer, given.file_name)
    return Loaded(study, plan, composer, texts)


def _given(
    path: Path | StudySource, site: Path | SiteSource | None
) -> tuple[StudySource, Path | SiteSource | None]:
    """Return the text of the study at `path`, and its site: `site`, or that of a campaign folder."""
    if not isinstance(path, Path):
        return path, site
    if not os.path.isdir(path):  # noqa: PTH112  # Path.is_dir raises where a folder above it is closed
        return StudySource.of(path), site
    try:
        has_study = (path / STUDY).is_file()
    except OSError as error:
        raise CampaignError(f"{path}: cannot read: {error.strerror}") from error
    if not has_study:
        raise UsageError(f"{path}: neither a study file nor a campaign folder; it holds no {STUDY}")
    require_frozen(path)
    return StudySource.of(path / STUDY), site or path / SITE


def _study_folder(path: Path | StudySource, given: StudySource) -> Path:
    """Return the folder at which relative paths of the study begin; for a campaign, that of its own study."""
    record = read_inputs_record(path) if isinstance(path, Path) and path.is_dir() else None
    return Path(record.folder) if record else given.near.absolute()


def require_one_folder(study: Path, out: Path | None, named: str) -> None:
    """Raise UsageError if `study` is a campaign folder and `out`, given as `named`, another one."""
    if out is not None and study.is_dir() and study.resolve() != out.resolve():
        raise UsageError(f"{study} is a campaign folder itself; leave out {named}, or name a study")


def require_frozen(folder: Path) -> None:
    """Raise CampaignError unless the study and the site in a campaign folder are files, not links."""
    for name in (STUDY, SITE):
        try:
            if SafeFolder(folder, name).exists():
                SafeFolder(folder, name).read(_MOST_BYTES)
        except OSError as error:
            raise CampaignError(f"{error.filename}: cannot read: {error.strerror}") from error


def require_plugins(source: SiteSource) -> None:
    """Raise FileFaults if a platform of the site names a launcher or runtime that is not installed."""
    faults = []
    for name, platform in source.site.platforms.items():
        for kind, find in (("launcher", registry.launcher), ("runtime", registry.runtime)):
            try:
                find(getattr(platform, kind))
            except UsageError as error:
                faults.append(source.fault(("platforms", name, kind), str(error)))
    if faults:
        raise FileFaults(faults)


def _require_commands(plan: Plan, study: Study, composer: Composer, file_name: str) -> None:
    """Raise FileFaults if the command line of a case cannot be built."""
    faults: dict[str, Fault] = {}
    alike: dict[tuple[object, ...], Case] = {}
    for cases in plan.by_form.values():
        one = cases[0]
        form = (one.platform, one.workload, one.network, one.storage is None, one.layout, one.software)
        alike |= {(*form, *program): case for program, case in _programs(plan, cases).items()}
    for case in alike.values():
        try:
            composer.compose(case)
        except UsageError as error:
            message = f"{case.workload} on platform {case.platform}: {error}"
            origin = _named_at(study, case)
            place = (
                (origin.file, origin.line, origin.column, origin.path) if origin else (file_name, 1, 1, "")
            )
            faults.setdefault(message, Fault(*place, message))
    if faults:
        raise FileFaults(list(faults.values())[:_MOST_FAULTS])


def _programs(plan: Plan, cases: Sequence[Case]) -> dict[tuple[Scalar | None, ...], Case]:
    """Return one of `cases` for each combination of program settings."""
    varied = [name for name in PROGRAM_SETTINGS if name in plan.varied]
    return {tuple(map(one.parameters.get, varied)): one for one in (cases if varied else cases[-1:])}


def _named_at(study: Study, case: Case) -> Origin | None:
    """Return the place in the study that names the platform of `case`, or else its workload, or the site."""
    levels = [*(level for factor in study.factors for level in factor.levels), *study.cases]
    for name, value in (("platform", case.platform), ("workload", case.workload)):
        for level in levels:
            if level.settings.get(name) == value and level.origin is not None:
                return level.origin
        if name in study.origins:
            return study.origins[name]
    return study.origins.get("site")


def _begun(folder: Path | None) -> Plan | None:
    """Return the plan with which the campaign in `folder` was begun; None if there is no campaign."""
    from tare.storage.campaign import is_campaign, read_plan

    if folder is None:
        return None
    with CampaignError.for_files(folder):
        return read_plan(folder) if is_campaign(folder) else None


def with_agent(site: Site) -> Site:
    """Return `site`, with the agent of the lab if the site is a lab."""
    if site.lab is None:
        return site
    from tare import lab

    return msgspec.structs.replace(site, agent=(str(lab.AGENT),))


def stopping_rule(plan: Plan) -> Rule | None:
    """Return the rule that says which cases continue after the minimum of blocks; None if all do."""
    if plan.repeats.until is None:
        return None
    from tare.analysis.repeats.stopping import StoppingRule

    return StoppingRule(plan)
