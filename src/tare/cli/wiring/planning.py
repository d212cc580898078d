"""Wire the parts together: from a study file to a plan, and to when it is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tare import config, plugins
from tare.compose import Composer
from tare.errors import UsageError
from tare.model.plan import Plan
from tare.model.site import Site
from tare.model.study import Study
from tare.model.workload import InlineDefinition, Workload
from tare.plan import make_plan

if TYPE_CHECKING:
    from tare.runner.loop import Rule

STUDY = "study.yaml"
SITE = "site.yaml"


class Loaded(NamedTuple):
    """A study that was read and planned, and the texts that it was read from, by their frozen names."""

    study: Study
    plan: Plan
    composer: Composer
    texts: dict[str, str]


def load(path: Path, n_blocks: int | None = None, site_file: Path | None = None) -> Loaded:
    """Read and plan the study at `path`, or the frozen one of the campaign folder `path`.

    `n_blocks` overrides the study's repeats, `site_file` its site. Raises FileFaults with every fault of
    its files.
    """
    study_path, site_path = path, site_file
    if path.is_dir():
        study_path, site_path = path / STUDY, site_file or path / SITE
        if not study_path.is_file():
            raise UsageError(f"{path}: neither a study file nor a campaign folder; it holds no {STUDY}")
    known: Mapping[str, Workload] = {}

    def catalogue(inline: Sequence[InlineDefinition]) -> Mapping[str, Workload]:
        nonlocal known
        known = plugins.workloads(inline)
        return known

    study, source = config.load_study(study_path, catalogue, site_path)
    if n_blocks is not None:
        study = msgspec.structs.replace(study, repeats=study.repeats.exactly(n_blocks))
    site = with_agent(source.site)
    composer = Composer(site, known, plugins.launcher, plugins.runtime)
    texts = {STUDY: study_path.read_text(encoding="utf-8-sig"), SITE: source.text}
    return Loaded(study, make_plan(study, site, known), composer, texts)


def with_agent(site: Site) -> Site:
    """Return `site` with the agent of the lab, where it is one."""
    if site.lab is None:
        return site
    from tare import lab

    return msgspec.structs.replace(site, agent=(str(lab.AGENT),))


def stopping_rule(plan: Plan) -> Rule | None:
    """Return what says which cases go on beyond the least number of blocks; None where all do."""
    if plan.repeats.until is None:
        return None
    from tare.answers.stopping import StoppingRule

    return StoppingRule(plan)
