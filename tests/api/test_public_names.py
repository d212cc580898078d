"""What docs/python.md promises: names, parameters and their defaults."""

from __future__ import annotations

import inspect
from importlib import resources
from pathlib import Path

import msgspec
import pytest

import tare

PAGE = Path(__file__).parents[2] / "docs" / "python.md"

SIGNATURES = {
    "open_campaign": "(folder, *, unpaired=False, mean='geometric', redact=())",
    "plan_study": "(study, *, site=None, blocks=None, campaign=None)",
    "run_study": (
        "(study, folder=None, *, on_event=None, blocks=None, extend=False, retry_failed=False, jobs=1, "
        "boost=True, rehearsal=True, keep_storage=False, profile=False, redact=())"
    ),
    "Campaign.cases": "(self)",
    "Campaign.runs": "(self)",
    "Campaign.measurements": "(self, *, every=False, telemetry=False)",
    "Campaign.estimates": "(self, *, foms=())",
    "Campaign.compare": "(self, *, reference=None, margin=None, foms=(), correction=None, points=False)",
    "Campaign.scaling": "(self, *, foms=(), p_ref=None)",
    "Campaign.why": "(self)",
    "Campaign.predict": "(self, *, curves=None)",
    "Campaign.tolerance": "(self, *, curves=None)",
    "Campaign.charts": "(self, *, foms=(), extra=())",
    "Attributions.to_polars": "(self)",
    "Comparisons.to_polars": "(self)",
    "Estimates.to_polars": "(self)",
    "Predictions.to_polars": "(self)",
    "ScalingCurves.to_polars": "(self)",
    "Tolerances.to_polars": "(self)",
    "StudyPlan.cases": "(self)",
    "StudyPlan.describe": "(self, case)",
    "StudyPlan.settings": "(self, case)",
}
PROPERTIES = {
    "Campaign": {"figures", "folder", "is_running", "progress", "question", "reference", "study"},
    "StudyPlan": {"n_runs", "notes", "study"},
}
EVENT = (
    "kind",
    "n_done",
    "n_runs",
    "eta_s",
    "eta_is_least",
    "case",
    "what",
    "block",
    "state",
    "reason",
    "elapsed_s",
    "text",
)


def bare(function: object) -> str:
    """Return a signature without its types."""
    assert callable(function)
    found = inspect.signature(function)
    every = [one.replace(annotation=inspect.Parameter.empty) for one in found.parameters.values()]
    return str(found.replace(parameters=every, return_annotation=inspect.Signature.empty))


def found(name: str) -> object:
    value: object = tare
    for part in name.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_signature_stays(name: str) -> None:
    assert bare(found(name)) == SIGNATURES[name]


def test_no_public_name_is_missing_here_or_on_the_page() -> None:
    page = PAGE.read_text()
    for name in set(tare.__all__) - {"__version__"}:
        assert f"`{name}" in page, name
    for kind, properties in PROPERTIES.items():
        public = {name for name in vars(found(kind)) if not name.startswith("_")}
        methods = {name.split(".")[1] for name in SIGNATURES if name.startswith(f"{kind}.")}
        assert public == methods | properties
        assert not [name for name in public if f"`{name}" not in page and f".{name}" not in page]


def test_the_fields_of_events_stay() -> None:
    assert tare.RunEvent.__struct_fields__ == EVENT
    assert [one.value for one in tare.EventKind] == ["begins", "ended", "note"]
    assert issubclass(tare.RunEvent, msgspec.Struct)


def test_every_public_name_can_be_had_and_is_explained() -> None:
    for name in tare.__all__:
        assert name == "__version__" or inspect.getdoc(found(name))
    assert set(tare.__all__) <= set(dir(tare))
    with pytest.raises(AttributeError, match="no attribute 'plam_study'"):
        tare.plam_study  # noqa: B018


def test_its_types_are_for_others_too() -> None:
    assert resources.files("tare").joinpath("py.typed").is_file()


def test_a_wrong_name_is_known_to_python_for_its_suggestion() -> None:
    with pytest.raises(AttributeError, match="no attribute 'open_campagn'") as raised:
        tare.open_campagn  # noqa: B018 - the name is the test
    assert (raised.value.name, raised.value.obj) == ("open_campagn", tare)
