from __future__ import annotations

from pathlib import Path

import msgspec

from support.synthetic import make_campaign
from tare.core.packets import Counted
from tare.plugins.collectors.packets import store
from tare.report.charts.packets import packet_sizes


def test_sizes_of_all_runs_and_hosts_of_a_case_are_taken_together(tmp_path: Path) -> None:
    campaign = msgspec.structs.replace(make_campaign(blocks=2), folder=tmp_path)
    case = campaign.attempts[0].case
    for attempt in campaign.attempts:
        if attempt.case == case:
            folder = tmp_path / attempt.folder
            folder.mkdir(parents=True)
            one = Counted(interface="fab0", n_packets=90, n_dropped=10, sent=[(66, 30), (1514, 10)])
            store(folder, {"n1": one, "n2": one})
    (found,) = packet_sizes(campaign)
    assert (found.case, found.interface, found.n_packets) == (case, "fab0", 160)
    assert found.peaks == ((66, 0.75), (1514, 0.25))
    assert found.shares == ((128, 0.75), (2048, 0.25))
    assert found.lost == 0.1


def test_a_campaign_that_counted_none_has_none() -> None:
    assert packet_sizes(make_campaign(blocks=2)) == []
