"""Plan a study from a file, or from values of Python."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tare import config
from tare.api.arguments import count, path
from tare.api.results import cases_frame
from tare.app import planning
from tare.app.session import blocks_begun_with
from tare.config.document_text import document_text
from tare.core.counting import count as counted
from tare.core.errors import UsageError
from tare.core.values import Scalar
from tare.storage.pseudonymous import PseudonymousView

if TYPE_CHECKING:
    import polars as pl

StudyLike = str | os.PathLike[str] | Mapping[str, object]
_STUDY, _SITE = "study", "site"
"""How faults name what has no file."""


def plan_study(
    study: StudyLike,
    *,
    site: StudyLike | None = None,
    blocks: int | None = None,
    campaign: str | os.PathLike[str] | None = None,
) -> StudyPlan:
    """Plan `study`, as `tare plan` does, and run nothing.

    `study` is the path of a study file or of a campaign folder, or a mapping with the keys of a study file
    (docs/reference.md); a site that such a mapping names by a relative path is sought in the working folder.
    `site` replaces the site that the study names: ``local``, ``lab``, the path of a site file, or a mapping
    with the keys of a site file. `blocks` replaces the study's number of blocks; a campaign folder has the
    number that it was begun with.
    `campaign` is the folder in which it will run: a campaign that is there keeps the ids of its cases.

    Raises FileFaults with every fault of both, each with its place: line and column in a file, or the keys
    that lead to it in a mapping.
    """
    n_blocks = None if blocks is None else count("blocks", blocks)
    folder = None if campaign is None else path("campaign", campaign)
    named, at_site = study_source(study), _site(site)
    loaded = planning.load(named, n_blocks, at_site, folder)
    if n_blocks is None and isinstance(named, Path) and named.is_dir():
        loaded = planning.load(named, blocks_begun_with(named, loaded), at_site, folder)
    return StudyPlan(loaded)


class StudyPlan:
    """The cases of a study at a site, and the number of their runs."""

    def __init__(self, loaded: planning.Loaded) -> None:
        self._loaded = loaded
        self._plan = PseudonymousView(loaded.composer.pseudonyms).plan(loaded.plan)

    def __repr__(self) -> str:
        return f"<tare.StudyPlan {self.study}: {counted(len(self), 'case')}, {counted(self.n_runs, 'run')}>"

    def __len__(self) -> int:
        """Return the number of cases."""
        return len(self._plan.cases)

    @property
    def study(self) -> str:
        """Return the name of the study."""
        return self._plan.study

    @property
    def n_runs(self) -> int:
        """Return the number of measured runs, cases × least number of blocks; warm-up is not counted."""
        return self._plan.n_runs

    @property
    def notes(self) -> tuple[str, ...]:
        """Return sentences on how the cases were made, as `tare plan` prints them."""
        return tuple(self._plan.notes)

    def cases(self) -> pl.DataFrame:
        """Return the cases, one row for each: its id as `case`, and a column for each setting."""
        return cases_frame(self._plan)

    def describe(self, case: str) -> str:
        """Return the case with the id `case` in a few words, such as ``copy block=64KiB``.

        Raises UsageError if the plan has no such case.
        """
        found = self._plan.cases_by_id.get(case)
        if found is None:
            raise UsageError(f"{case}: no case of study {self.study} has this id; see cases()")
        return self._plan.describe(found)

    def settings(self, case: str) -> dict[str, Scalar]:
        """Return the settings of the case with the id `case`; empty if the plan has no such case."""
        found = self._plan.cases_by_id.get(case)
        return {} if found is None else found.settings


def study_source(study: StudyLike) -> Path | config.StudySource:
    """Return the path of a study, or its text if it is a mapping."""
    if not isinstance(study, Mapping):
        return path("study", study)
    return config.StudySource(document_text(study, _STUDY).encode(), _STUDY, Path(), has_lines=False)


def _site(site: StudyLike | None) -> Path | config.SiteSource | None:
    if site is None:
        return None
    if not isinstance(site, Mapping):
        return config.read_site(os.fspath(path("site", site)))
    text = document_text(site, _SITE)
    return config.SiteSource(
        config.site_from_text(text, _SITE, has_lines=False), text, _SITE, has_lines=False
    )
