"""What others recorded, cut to runs and kept with them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from support.synthetic import make_campaign
from tare.core.campaign import Campaign
from tare.core.errors import CampaignError
from tare.core.safe_folder import SafeFolder
from tare.core.telemetry import Epoch, Track
from tare.storage.telemetry import cut, imported_timeline, keep, read_imported

EPOCH = Epoch("run", 100.0, 110.0)


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return msgspec.structs.replace(make_campaign(blocks=1), folder=tmp_path)


def _kept(campaign: Campaign, *tracks: Track) -> dict[str, dict[float, float]]:
    attempt = campaign.attempts[0]
    keep(campaign, attempt, tracks, EPOCH)
    return {
        name: dict(zip(one.at, values, strict=True))
        for one in read_imported(SafeFolder(campaign.folder / attempt.folder)).tracks
        for name, values in one.values.items()
    }


def test_figures_that_come_one_by_one_are_all_kept() -> None:
    """As by a Prometheus, which answers one query after the other, or a table of sar that lacks a row."""
    points = [("n1", at, 1.0, {"load": at}) for at in (101.0, 102.0)]
    points += [("n1", at, 1.0, {"rate": at, "packets": 1.0}) for at in (101.0, 102.0, 103.0)]
    both, one = sorted(cut(points, EPOCH), key=lambda track: sorted(track.values))
    assert both.values == {"load": (101.0, 102.0)}
    assert one.values == {"packets": (1.0, 1.0, 1.0), "rate": (101.0, 102.0, 103.0)}
    together = cut([*points[:2], *points[2:4]], EPOCH)
    assert [sorted(track.values) for track in together] == [["load", "packets", "rate"]]


def test_a_run_over_midnight_is_put_together_of_the_files_of_two_days(campaign: Campaign) -> None:
    _kept(campaign, Track(host="n1", since=(99.0, 103.0), at=(103.0, 105.0), values={"load": (1.0, 2.0)}))
    kept = _kept(campaign, Track(host="n1", since=(105.0,), at=(107.0,), values={"load": (3.0,)}))
    assert kept == {"load": {103.0: 1.0, 105.0: 2.0, 107.0: 3.0}}


def test_what_is_imported_anew_takes_the_place_of_what_was_there_at_that_time(campaign: Campaign) -> None:
    _kept(campaign, Track(host="n1", since=(101.5, 103.5), at=(103.5, 105.5), values={"load": (8.0, 9.0)}))
    kept = _kept(
        campaign, Track(host="n1", since=(101.0, 103.0), at=(103.0, 106.0), values={"load": (1.0, 2.0)})
    )
    assert kept == {"load": {103.0: 1.0, 106.0: 2.0}}


def test_what_was_imported_can_be_drawn_like_what_was_recorded(campaign: Campaign) -> None:
    folder = campaign.folder / campaign.attempts[0].folder
    assert imported_timeline(SafeFolder(folder)) is None
    _kept(
        campaign,
        Track(host="n1", since=(101.0,), at=(102.0,), values={"cpu_idle": (70.0,), "cpu_iowait": (5.0,)}),
    )
    found = imported_timeline(SafeFolder(folder))
    assert found is not None
    assert found.tracks[0].values["cpu_busy"] == (25.0,)


def test_figures_that_do_not_each_have_their_times_are_damage(campaign: Campaign) -> None:
    place = SafeFolder(campaign.folder)
    track = '{"host":"n1","since":[0.0],"at":[1.0],"values":{"cpu_idle":[5.0],"cpu_iowait":[1.0,2.0]}}'
    (place / "telemetry.imported.json").replace(f'{{"tracks":[{track}],"epochs":[]}}'.encode())
    with pytest.raises(CampaignError, match="1 time, and other numbers of values"):
        imported_timeline(place)
