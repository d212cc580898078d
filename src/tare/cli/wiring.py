"""Wire the parts together: from a study file to a plan and the commands that carry it out."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tare import config, plugins
from tare.compose import Composer
from tare.errors import UsageError
from tare.model.attempt import Traffic
from tare.model.backend import Backend
from tare.model.plan import Plan
from tare.model.site import Site
from tare.model.study import Study
from tare.model.workload import Workload
from tare.plan import make_plan

STUDY = "study.yaml"
SITE = "site.yaml"


class Loaded(NamedTuple):
    """A study that was read and planned, and the texts that it was read from."""

    study: Study
    site: Site
    plan: Plan
    composer: Composer
    texts: dict[str, str]


def load(path: Path) -> Loaded:
    """Read the study at `path`, or the frozen one of the campaign folder `path`, and plan it.

    Raises FileFaults with every fault of its files.
    """
    if path.is_dir():
        if not (path / STUDY).is_file():
            raise UsageError(f"{path}: neither a study file nor a campaign folder; it holds no {STUDY}")
        return _load(path / STUDY, path / SITE)
    return _load(path, None)


def _load(study_path: Path, site_path: Path | None) -> Loaded:
    workloads: dict[str, Workload] = {}

    def catalogue(inline: Sequence[object]) -> Mapping[str, Workload]:
        nonlocal found
        found = plugins.workloads(inline)  # type: ignore[arg-type]
        return found

    found: Mapping[str, Workload] = workloads
    site_source = config.read_site(str(site_path)) if site_path else None
    study, site, site_text = config.load_study(study_path, catalogue, site_source)
    site = with_agent(site)
    plan = make_plan(study, site, found)
    composer = Composer(site, found, plugins.launcher, plugins.runtime)
    return Loaded(study, site, plan, composer, {STUDY: study_path.read_text(), SITE: site_text})
