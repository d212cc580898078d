"""A campaign that Tare cannot show, such as a stranger's, leaves the page of all others as it is."""

from __future__ import annotations

import threading
from pathlib import Path

import httpx
import pytest

from live.conftest import Serve
from support.synthetic import make_campaign, write_campaign
from support.waiting import until
from tare.core.campaign import Campaign
from tare.live import watch
from tare.live.statistics import Statistics, compute_statistics
from tare.live.watch import FollowedCampaign
from tare.storage.journal import AttemptBegan, Journal


def fails_for_bad_statistics(campaign: Campaign, revision: int) -> Statistics:
    if campaign.folder.name == "bad":
        raise ZeroDivisionError("forged")
    return compute_statistics(campaign, revision)


def fails_for_bad_polls(one: FollowedCampaign, revision: int) -> bool:
    if one.name == "bad":
        raise RecursionError("forged")
    return POLL(one, revision)


POLL = FollowedCampaign.poll


@pytest.mark.parametrize("fails_at", ["statistics", "poll"])
def test_a_defect_in_one_campaign_is_shown_there_and_all_others_go_on(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch, fails_at: str
) -> None:
    campaign = make_campaign(blocks=2)
    for name in ("bad", "good"):
        write_campaign(campaign, tmp_path / name)
    if fails_at == "poll":
        monkeypatch.setattr(FollowedCampaign, "poll", fails_for_bad_polls)
    else:
        monkeypatch.setattr(watch, "compute_statistics", fails_for_bad_statistics)
    client = serve(tmp_path)
    told = client.get("/c/bad")
    assert told.status_code == 200
    assert "a defect of Tare" in told.text
    for page in ("/", "/c/good", "/api/c/good", "/metrics"):
        assert client.get(page).status_code == 200
    assert change_is_announced(client, tmp_path / "good", campaign)


def change_is_announced(client: httpx.Client, folder: Path, campaign: Campaign) -> bool:
    """Return whether a reader of events hears of a run that begins in `folder`."""
    heard: list[str] = []

    def listen() -> None:
        with client.stream("GET", "/events?c=good", timeout=30) as stream:
            for line in stream.iter_lines():
                heard.extend([line] if line.startswith("data:") else [])
                if len(heard) > 1:
                    return

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    until(lambda: len(heard) == 1)
    with Journal(folder / "journal.jsonl") as journal:
        journal.append(AttemptBegan(campaign.plan.cases[0].id, 2, 2, 2.0))
    listener.join(20)
    return len(heard) > 1
