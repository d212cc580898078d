"""The section *Why?* of the live page: where differences come from, as profiled runs end."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import msgspec

from live.conftest import Serve
from report.html_reader import Page
from support.profiled import BASE, as_recorded, profiled_campaign, with_more
from support.synthetic import make_campaign, write_campaign
from tare.analysis.causes.attribution import attributions
from tare.analysis.causes.correlates import explanations
from tare.core.campaign import Campaign
from tare.live.watch import Hub
from tare.report.variants import lay_out
from tare.report.words.causes import cause_sentence
from tare.storage.campaign import JOURNAL, read_campaign

SLOWER = with_more(BASE, ("MPI_Alltoall", 4096), 4.0)


def stopped_after(folder: Path, blocks: int, of: int = 5) -> Campaign:
    """Write a campaign with profiled runs of which the first `blocks` have ended; return the whole."""
    whole = as_recorded(profiled_campaign(folder, BASE, SLOWER, blocks=of))
    (folder / JOURNAL).unlink()
    ended = tuple(one for one in whole.attempts if one.block <= blocks)
    orders = {block: order for block, order in whole.orders.items() if block <= blocks}
    write_campaign(msgspec.structs.replace(whole, attempts=ended, orders=orders), folder)
    return whole


def why(client: httpx.Client) -> str:
    """Return the text of the section, empty if the page has none."""
    found = [one.text for one in Page(client.get("/c/demo").text).all("section") if "Why?" in one.text]
    return re.sub(r"\s+", " ", found[0]) if found else ""


def test_before_three_blocks_the_section_says_that_more_profiled_runs_are_needed(
    serve: Serve, tmp_path: Path
) -> None:
    stopped_after(tmp_path / "demo", 2)
    text = why(serve(tmp_path))
    assert "Not enough profiled runs yet: overlay" in text
    assert "2 blocks have a profile of both sides; 3 or more are needed" in text
    assert "makes" not in text


def test_before_the_first_profiled_run_each_pair_that_will_be_profiled_is_named(
    serve: Serve, tmp_path: Path
) -> None:
    stopped_after(tmp_path / "demo", 0)
    text = why(serve(tmp_path))
    assert "Not enough profiled runs yet: overlay" in text
    assert "0 blocks have a profile of both sides" in text


def test_the_sentence_of_the_report_is_on_the_page_with_its_interval(serve: Serve, tmp_path: Path) -> None:
    stopped_after(tmp_path / "demo", 5)
    client = serve(tmp_path)
    text = why(client)
    said = r"overlay makes .* take 40 % \[\d+, \d+\] longer .* 100 % \[\d+, \d+\] of that is MPI_Alltoall"
    assert re.search(said, text), text
    assert "yet" not in text
    assert "interim" not in text
    body = client.get("/api/c/demo").json()
    (one,) = body["why"]
    assert re.sub(r"\s+", " ", one["sentence"]) in text
    assert one["attribution"]["n_blocks"] == 5
    campaign = read_campaign(tmp_path / "demo")
    (same,) = attributions(campaign)
    assert one["sentence"] == cause_sentence(same, lay_out(campaign, ()), explanations(campaign))


def test_a_campaign_without_profiled_runs_has_no_such_section(serve: Serve, tmp_path: Path) -> None:
    write_campaign(make_campaign(blocks=5), tmp_path / "demo")
    client = serve(tmp_path)
    assert why(client) == ""
    assert client.get("/api/c/demo").json()["why"] == []


def test_profiled_runs_are_those_that_the_folder_has_and_count_as_no_run(tmp_path: Path) -> None:
    stopped_after(tmp_path / "demo", 3)
    hub = Hub([tmp_path])
    hub.poll()
    (watched,) = hub.campaigns.values()
    assert watched.campaign_state is not None
    found = watched.campaign_state.campaign()
    assert found == msgspec.structs.replace(read_campaign(tmp_path / "demo"), environments={})
    assert len(found.profiled()) == 6
    assert watched.campaign_state.progress().n_planned == 10
