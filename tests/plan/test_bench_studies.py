"""The studies that benchmarks write can be planned: else their tables show it only when they are run."""

from __future__ import annotations

from pathlib import Path

import pytest

import tare
from bench import profile_cost


@pytest.mark.parametrize("name", [name for name, _ in profile_cost.studies(Path())])
def test_a_study_of_the_cost_of_profiles_is_planned(name: str, tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(dict(profile_cost.studies(tmp_path))[name])
    assert tare.plan_study(study).n_runs
