"""Arguments that cannot be meant are refused, with the cure; those that commands take are taken here, too."""

from __future__ import annotations

import enum
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tare
from support.scales import make_application, usl
from support.synthetic import make_campaign, make_case, write_campaign
from tare.api.campaign import Campaign

STUDY: dict[str, object] = {
    "study": "sizes",
    "reference": {"size": "1KiB"},
    "workloads": {
        "print": {
            "command": "sh -c 'echo \"took {size} s\"'",
            "parameters": {"size": {"kind": "bytes", "default": "1KiB"}},
            "foms": [{"name": "elapsed", "unit": "s", "better": "lower", "regex": r"took (\S+) s"}],
        }
    },
    "factors": {"workload": ["print"], "size": ["1KiB", "2KiB", "4KiB"]},
    "repeats": 3,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_campaign(make_campaign([make_case("host"), make_case("overlay")], ratio=1.3), tmp_path / "c")


@pytest.fixture
def campaign(folder: Path) -> Campaign:
    return tare.open_campaign(folder)


@pytest.mark.parametrize(
    ("redact", "cure"),
    [
        ("overlay", r"redact='overlay': give a list of texts: redact=\['overlay'\]"),
        (["/(/"], "redact: '/\\(/' is no pattern: unclosed group"),
        (["/x*/"], "matches where nothing is"),
        (["a"], "give 2 or more printable characters"),
        ([str(number) for number in range(10, 1011)], "redact: more than 1000; use patterns"),
    ],
)
def test_what_cannot_be_redacted_is_refused(folder: Path, redact: list[str], cure: str) -> None:
    with pytest.raises(tare.UsageError, match=cure):
        tare.open_campaign(folder, redact=redact)
    with pytest.raises(tare.UsageError, match=cure):
        tare.run_study(STUDY, folder.parent / "new", redact=redact)
    assert not (folder.parent / "new").exists()


@pytest.mark.parametrize("number", [0, 2.5, "3", float("nan")])
@pytest.mark.parametrize("name", ["blocks", "jobs"])
def test_only_whole_numbers_of_blocks_and_jobs_are_taken(tmp_path: Path, name: str, number: object) -> None:
    with pytest.raises(tare.UsageError, match=f"{name}={number!r}: use a whole number, 1 or more"):
        tare.run_study(STUDY, tmp_path / "c", **{name: number})  # type: ignore[arg-type]
    assert not (tmp_path / "c").exists()


def test_a_reference_is_written_as_in_the_study_or_as_in_frames(tmp_path: Path) -> None:
    found = tare.run_study(STUDY, tmp_path / "c", boost=False)
    by_text, by_number = found.compare(reference={"size": "2KiB"}), found.compare(reference={"size": 2048})
    assert by_text == by_number
    assert {one.reference["size"] for one in by_text} == {2048}


def test_a_reference_may_be_named_although_the_campaign_hides_it(folder: Path) -> None:
    hidden = tare.open_campaign(folder, redact=["overlay"])
    (found,) = {one.reference["network"] for one in hidden.compare(reference={"network": "overlay"})}
    assert found == "‹redacted-1›"


WRONG: dict[str, tuple[Callable[[Campaign], object], str]] = {
    "a reference as on the command line": (
        lambda one: one.compare(reference="network=host"),  # type: ignore[arg-type]
        r"reference='network=host': give a mapping, such as \{'network': 'host'\}",
    ),
    "the folder of curves": (
        lambda one: one.predict(curves="c"),  # type: ignore[arg-type]
        r"curves='c': give a campaign: curves=tare.open_campaign\('c'\)",
    ),
    "the folder of curves for a tolerance": (
        lambda one: one.tolerance(curves="c"),  # type: ignore[arg-type]
        "curves='c': give a campaign",
    ),
    "one chart as a text": (
        lambda one: one.charts(extra="latency:network"),
        r"extra='latency:network': give a list of texts: extra=\['latency:network'\]",
    ),
    "a chart of no figure": (
        lambda one: one.charts(extra=["lateness:network"]),
        "^extra lateness:network: no figure of merit 'lateness'",
    ),
    "a chart without a factor": (lambda one: one.charts(extra=["lateness"]), "^extra lateness: write FOM:"),
    "a chart over what does not vary": (
        lambda one: one.charts(extra=["latency:weather"]),
        "^extra latency:weather: latency does not vary with 'weather'",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_argument_of_another_form_is_refused_with_the_right_one(campaign: Campaign, what: str) -> None:
    ask, cure = WRONG[what]
    with pytest.raises(tare.UsageError, match=cure):
        ask(campaign)


def test_what_a_plan_and_a_run_find_in_a_mapping_has_keys_and_no_lines(tmp_path: Path) -> None:
    forgets_size = {**STUDY["workloads"]["print"], "command": "sh -c 'echo took 1 s'"}  # type: ignore[index]
    plan = tare.plan_study({**STUDY, "workloads": {"print": forgets_size}})
    assert [one.split(" print ")[0] for one in plan.notes] == ["study: factors.size[0]:"]
    absent = {**forgets_size, "command": "no-such-program"}
    with pytest.raises(tare.UsageError, match=r"\n  study: print on platform .*no-such-program is not found"):
        tare.run_study({**STUDY, "workloads": {"print": absent}}, tmp_path / "c")


LISTS: dict[str, Callable[[list[str]], object]] = {
    "a generator": lambda names: (one for one in names),
    "an iterator": iter,
    "a set": set,
    "an array": np.array,
    "a series": pl.Series,
    "keys": dict.fromkeys,
}


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("method", ["compare", "estimates", "charts"])
def test_figures_may_be_any_list_of_texts(campaign: Campaign, method: str, kind: str) -> None:
    given: Any = LISTS[kind](["latency"])
    found, expected = getattr(campaign, method)(foms=given), getattr(campaign, method)(foms=["latency"])
    assert [*found] == [*expected]
    assert len(expected) < len(getattr(campaign, method)())


@pytest.mark.parametrize("wrong", [[5], [None], [["latency"]], b"latency"])
@pytest.mark.parametrize("method", ["compare", "estimates", "scaling", "charts"])
def test_a_list_of_anything_but_texts_is_a_type_error(campaign: Campaign, method: str, wrong: object) -> None:
    with pytest.raises(TypeError, match=r"foms holds .*; give a list of texts"):
        getattr(campaign, method)(foms=wrong)


def test_what_is_no_number_is_a_type_error(campaign: Campaign) -> None:
    with pytest.raises(TypeError, match=r"margin='0\.03': give a number, not a str"):
        campaign.compare(margin="0.03")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"p_ref=\[2\]: give a number, not a list"):
        campaign.scaling(p_ref=[2])  # type: ignore[arg-type]
    assert campaign.compare(margin=np.float64(0.03)) == campaign.compare(margin=Fraction(3, 100))  # type: ignore[arg-type]


def test_a_scale_that_no_case_has_is_named_as_the_argument(tmp_path: Path) -> None:
    folder = write_campaign(make_application({"host": usl(6, 0.02, 0.0001)}), tmp_path / "scaling")
    with pytest.raises(tare.UsageError, match=r"^p_ref 3: no case has this scale"):
        tare.open_campaign(folder).scaling(p_ref=3)


def test_a_path_of_bytes_is_a_type_error(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="folder=b'c': give the path as text, not as bytes"):
        tare.open_campaign(b"c")  # type: ignore[arg-type]


def test_what_cannot_be_called_is_refused_before_anything_begins(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="on_event='print': give what can be called"):
        tare.run_study(STUDY, tmp_path / "c", on_event="print")  # type: ignore[arg-type]
    assert not (tmp_path / "c").exists()


class Level(enum.IntEnum):
    SMALL = 1024


@pytest.mark.parametrize("level", [Level.SMALL, type("Bytes", (int,), {})(1024)])
def test_a_number_of_a_type_of_ones_own_is_a_number(level: int) -> None:
    study = {**STUDY, "factors": {"workload": ["print"], "size": [level, 2048]}}
    assert tare.plan_study(study).cases()["size"].to_list() == [1024, 2048]


def test_half_of_a_surrogate_pair_is_refused_where_it_is() -> None:
    study = {**STUDY, "factors": {"workload": ["print"], "size": ["1KiB", "\ud800"]}}
    with pytest.raises(tare.FileFaults, match=r"size\[1\]: text cannot hold half of a surrogate pair"):
        tare.plan_study(study)


@pytest.mark.parametrize("wrong", [None, 5, {"a"}, Path])
def test_an_argument_of_a_wrong_type_is_named(campaign: Campaign, folder: Path, wrong: Any) -> None:
    for given in ({"folder": wrong}, {"folder": folder, "redact": 5}):
        with pytest.raises(TypeError, match=r"^(folder|redact)=.*: give a (path|list of texts), not "):
            tare.open_campaign(**given)
    if wrong is not None:
        with pytest.raises(TypeError, match=r"^site=.*: give a path, not a "):
            tare.plan_study(STUDY, site=wrong)
    for method in ("compare", "estimates", "scaling", "charts"):
        with pytest.raises(TypeError, match=r"^foms=None: give a list of texts, not None"):
            getattr(campaign, method)(foms=None)


def test_a_mean_of_a_wrong_type_is_refused_with_those_that_there_are(folder: Path) -> None:
    with pytest.raises(tare.UsageError, match=r"mean \[\]: choose from geometric"):
        tare.open_campaign(folder, mean=[])  # type: ignore[arg-type]
