"""Read YAML study and site files into the types of `tare.core`.

Every fault of a file is reported at once, with file:line:column and the cure::

    study, source = load_study(Path("study.yaml"), catalogue)
    source.site.nodes
"""

from __future__ import annotations

from tare.config.aa_study import as_aa_study
from tare.config.schema import json_schema
from tare.config.settings import setting_from_text
from tare.config.site_file import SiteSource, load_lab_spec, load_site, read_site, site_from_text
from tare.config.study_file import Catalogue, StudySource, load_study, study_from_text

__all__ = [
    "Catalogue",
    "SiteSource",
    "StudySource",
    "as_aa_study",
    "json_schema",
    "load_lab_spec",
    "load_site",
    "load_study",
    "read_site",
    "setting_from_text",
    "site_from_text",
    "study_from_text",
]
