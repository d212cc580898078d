"""What a disk does not give is named on the live page: it must not look as if it had never been written."""

from __future__ import annotations

import errno
import time
from pathlib import Path

import pytest

from live.conftest import Serve
from support.disks import failing_disk
from support.synthetic import make_campaign, write_campaign
from tare.core.attempt import Attempt

_STALE_S = 0.3
"""A look may be a quarter of a second old."""


@pytest.fixture
def first(tmp_path: Path) -> Attempt:
    """The first run of a campaign in the folder ``demo``, with its evidence."""
    campaign = make_campaign(blocks=3)
    folder = write_campaign(campaign, tmp_path / "demo")
    one = campaign.attempts[0]
    (folder / one.folder).mkdir(parents=True, exist_ok=True)
    (folder / one.folder / "stdout").write_text("hello")
    (folder / one.folder / "stderr").write_text("careful")
    (folder / one.folder / "command.json").write_text('[{"argv": ["true"]}]')
    return one


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("stdout", "stdout cannot be read: Input/output error."),
        ("command.json", "Its commands cannot be read: Input/output error."),
        ("1.1", "The folder of the run cannot be read: Input/output error."),
    ],
)
def test_the_page_of_a_run_names_what_cannot_be_read(
    serve: Serve, tmp_path: Path, first: Attempt, name: str, told: str
) -> None:
    client = serve(tmp_path / "demo")
    path = f"/c/demo/run/{first.case}/{first.block}.{first.attempt}"
    whole = client.get(path).text
    with failing_disk(name):
        page = client.get(path)
        stream = client.get(f"/api{path}/log/stdout")
    assert page.status_code == 200
    assert told in page.text
    assert told not in whole
    assert "No command was recorded" not in page.text
    assert "careful" in page.text or name == "1.1", "what can be read is shown"
    if name == "1.1":
        assert stream.status_code == 503
        assert "cannot be read: Input/output error" in stream.text


def test_a_campaign_that_the_disk_does_not_give_stays_on_the_page(
    serve: Serve, tmp_path: Path, first: Attempt
) -> None:
    """It was gone without a word while its folder could not be looked at, and is back when the disk is."""
    client = serve(tmp_path)
    assert "6 of 6" in client.get("/").text
    for is_lookup in (True, False):
        with failing_disk("plan.json", errno.ESTALE, is_lookup=is_lookup):
            time.sleep(_STALE_S)
            assert "demo" in client.get("/").text
            if is_lookup:
                assert "plan.json: cannot read: Stale file handle" in client.get("/c/demo").text
        time.sleep(_STALE_S)
        assert "6 of 6" in client.get("/").text


def test_folders_of_other_users_are_not_shown(serve: Serve, tmp_path: Path, first: Attempt) -> None:
    (tmp_path / "theirs").mkdir()
    with failing_disk(str(tmp_path / "theirs"), errno.EACCES):
        text = serve(tmp_path).get("/").text
    assert "demo" in text
    assert "theirs" not in text


def test_statistics_that_lack_a_file_are_no_defect_and_come_when_it_does(
    serve: Serve, tmp_path: Path, first: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tare.core.errors import CampaignError
    from tare.live import watch

    def broken(*args: object) -> None:
        raise CampaignError("profile.json: cannot read: Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(watch, "compute_statistics", broken)
        client = serve(tmp_path)
        text = client.get("/c/demo").text
    assert "profile.json: cannot read: Input/output error" in text
    assert "defect" not in text
    time.sleep(_STALE_S)
    assert "6 of 6" in client.get("/c/demo").text
