"""How nodes are watched: by default, at a site, and where a study wants it otherwise."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from config.study_doubles import DOUBLE_SITE, double_catalogue, faults_of
from tare.config import read_site, study_from_text
from tare.core.errors import FileFaults
from tare.core.telemetry_options import TelemetryOptions

HEAD = "study: s\nworkload: hpcg\n"
SITE = "site: s\nnodes: [n1]\nplatforms: {bare: {}}\nnetworks: {host: {interface: eth0}}\n"


def of_site(folder: Path, rest: str) -> TelemetryOptions:
    (folder / "site.yaml").write_text(SITE + rest)
    return read_site("site.yaml", folder).site.telemetry


def of_study(rest: str, site: TelemetryOptions) -> TelemetryOptions:
    at = msgspec.structs.replace(DOUBLE_SITE, telemetry=site)
    return study_from_text(HEAD + rest, "study.yaml", double_catalogue, at).telemetry


def test_nodes_are_sampled_once_a_second_and_packets_not_counted(tmp_path: Path) -> None:
    assert of_site(tmp_path, "") == TelemetryOptions(period_s=1.0, is_counting_packets=False)
    assert of_study("", TelemetryOptions()) == TelemetryOptions()


def test_a_site_has_defaults_of_its_own(tmp_path: Path) -> None:
    found = of_site(tmp_path, "telemetry: {period: 10 s, packets: true}\n")
    assert found == TelemetryOptions(period_s=10.0, is_counting_packets=True)
    assert of_site(tmp_path, "telemetry: {period: off}\n") == TelemetryOptions(period_s=None)


def test_a_study_overrides_them_key_by_key() -> None:
    site = TelemetryOptions(period_s=10.0, is_counting_packets=True)
    assert of_study("", site) == site
    assert of_study("telemetry: {period: 100 ms}\n", site) == TelemetryOptions(
        period_s=0.1, is_counting_packets=True
    )
    assert of_study("telemetry: {packets: false}\n", site) == TelemetryOptions(period_s=10.0)
    assert of_study("telemetry: {period: off}\n", site) == TelemetryOptions(
        period_s=None, is_counting_packets=True
    )


def test_a_platform_that_is_not_watched_has_its_packets_counted_no_more() -> None:
    found = of_study("telemetry: {packets: true, unwatched: [bare]}\n", TelemetryOptions())
    assert (found.period_of("bare"), found.counts_packets("bare")) == (None, False)
    assert (found.period_of("docker"), found.counts_packets("docker")) == (1.0, True)


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        (
            "{period: 1 ms}",
            "study.yaml:3:21: telemetry.period: 0.001 s is too often; use 10 ms or more, or off",
        ),
        ("{packets: 3}", "study.yaml:3:22: telemetry.packets: "),
        ("{unwatched: [bere]}", "study.yaml:3:24: telemetry.unwatched[0]: the site has no platform 'bere'"),
    ],
)
def test_what_cannot_be_is_a_fault_with_its_place(written: str, fault: str) -> None:
    (found,) = faults_of(f"{HEAD}telemetry: {written}\n")
    assert found.startswith(fault)


def test_packets_need_a_network() -> None:
    bare = msgspec.structs.replace(DOUBLE_SITE, networks={})
    with pytest.raises(FileFaults, match="the site names no network whose packets could be counted"):
        study_from_text(HEAD + "telemetry: {packets: true}\n", "study.yaml", double_catalogue, bare)


def test_a_site_file_is_checked_alike(tmp_path: Path) -> None:
    with pytest.raises(FileFaults, match=r"site\.yaml:5:21: telemetry\.period: 0\.005 s is too often"):
        of_site(tmp_path, "telemetry: {period: 5 ms}\n")
    with pytest.raises(FileFaults, match="unknown key 'unwatched'"):
        of_site(tmp_path, "telemetry: {unwatched: [bare]}\n")
