"""Campaigns, plans, results and errors can be sent to other processes, as pools of processes do."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

import tare
from support.synthetic import make_campaign, make_case, write_campaign
from tare.core.errors import OutputLost
from tare.plugins.registry import UnknownName

ERRORS: dict[str, Callable[[], tare.TareError]] = {
    "UsageError": lambda: tare.UsageError("wrong; write it right"),
    "FileFaults": lambda: tare.FileFaults([tare.Fault("s.yaml", 2, 3, "factors.n", "is wrong; use 1")]),
    "NoCampaign": lambda: tare.NoCampaign(Path("c"), "plan.json is missing"),
    "DiskFull": lambda: tare.DiskFull(Path("c")),
    "CampaignLocked": lambda: tare.CampaignLocked("c: is running"),
    "OutputLost": lambda: OutputLost(BrokenPipeError(32, "Broken pipe")),
    "UnknownName": lambda: UnknownName("launcher 'x'"),
}


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("again", [lambda one: pickle.loads(pickle.dumps(one)), copy.copy, copy.deepcopy])
def test_a_copy_of_an_error_says_the_same(kind: str, again: Callable[[object], object]) -> None:
    error = ERRORS[kind]()
    found = again(error)
    assert type(found) is type(error)
    assert (str(found), vars(found)) == (str(error), vars(error))
    assert isinstance(found, tare.TareError)
    assert found.exit_code == error.exit_code


def test_a_pool_of_processes_says_which_folder_holds_no_campaign(tmp_path: Path) -> None:
    folder = write_campaign(make_campaign([make_case("host"), make_case("overlay")]), tmp_path / "c")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        with pytest.raises(tare.NoCampaign, match="nowhere: not a campaign folder"):
            pool.submit(tare.open_campaign, tmp_path / "nowhere").result(timeout=60)
        found = pool.submit(tare.open_campaign, folder).result(timeout=60)
    assert found.compare() == tare.open_campaign(folder).compare()
