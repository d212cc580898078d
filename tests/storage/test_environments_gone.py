"""A campaign that is removed while a command reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare.core.errors import CampaignError
from tare.storage.campaign import read_environment


def test_a_campaign_that_is_gone_is_not_one_that_lacks_a_file(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="the campaign is gone"):
        read_environment(tmp_path / "removed", "0123")
    with pytest.raises(CampaignError, match=r"0123\.json: cannot read: No such file"):
        read_environment(tmp_path, "0123")
