"""Numbers that a stranger wrote into plan and journal: what is read is answered, and at once."""

from __future__ import annotations

import json
import time
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from support.synthetic import make_campaign, write_campaign
from tare.cli.main import make_group
from tare.core.campaign import Campaign
from tare.core.errors import CampaignError
from tare.core.values import MOST_RUNS
from tare.storage.campaign import JOURNAL, PLAN, read_campaign
from tare.storage.journal import AttemptEnded, BlockBegan, Journal, read_events, write_line

ANSWERS = (["status"], ["compare"], ["check", "--fail-if", "overhead(network=overlay) > 5 %"])


def answer(folder: Path, *words: str) -> str:
    told = CliRunner().invoke(make_group(), [words[0], str(folder), *words[1:]], standalone_mode=False)
    if isinstance(told.exception, Exception) and not isinstance(told.exception, CampaignError):
        raise told.exception
    return told.stdout or str(told.exception)


def with_values(campaign: Campaign, value: float) -> Campaign:
    """Return `campaign` with `value` in the place of the first figures of its contender's first run."""
    runs = list(campaign.attempts)
    at = next(n for n, one in enumerate(runs) if not campaign.plan.is_reference(campaign.cases[one.case]))
    series = [msgspec.structs.replace(one, values=[value, *one.values[1:]]) for one in runs[at].series]
    runs[at] = msgspec.structs.replace(runs[at], series=series)
    return msgspec.structs.replace(campaign, attempts=tuple(runs))


@pytest.mark.parametrize("block", [MOST_RUNS, MOST_RUNS + 1, 1_000_000_000])
def test_a_block_of_a_huge_number_keeps_nobody_waiting(tmp_path: Path, block: int) -> None:
    campaign = make_campaign(blocks=3)
    write_campaign(campaign, tmp_path)
    last = campaign.attempts[-1]
    with (tmp_path / JOURNAL).open("ab") as journal:
        journal.write(write_line(BlockBegan(block, [last.case])) + write_line(AttemptEnded(last)))
    began = time.process_time()
    told = [answer(tmp_path, *words) for words in ANSWERS]
    assert time.process_time() - began < 3
    assert all("this line is damaged" in one for one in told) == (block > MOST_RUNS)


@pytest.mark.parametrize("margin", [-1, -0.5, 1e308, 2e6])
def test_a_margin_that_is_none_is_refused(tmp_path: Path, margin: float) -> None:
    write_campaign(make_campaign(blocks=3), tmp_path)
    plan = json.loads((tmp_path / PLAN).read_text())
    (tmp_path / PLAN).write_text(json.dumps(plan | {"margin": margin}))
    for words in ANSWERS:
        told = answer(tmp_path, *words)
        assert f"{PLAN}: damaged" in told
        assert "$.margin" in told


@pytest.mark.parametrize("value", [10**400, -1], ids=["400 digits", "negative"])
@pytest.mark.parametrize("name", ["seed", "warmup", "retries", "min", "max"])
def test_a_count_of_hundreds_of_digits_or_below_zero_is_refused(
    tmp_path: Path, name: str, value: int
) -> None:
    write_campaign(make_campaign(blocks=3), tmp_path)
    plan = json.loads((tmp_path / PLAN).read_text())
    (plan if name in plan else plan["repeats"])[name] = value
    (tmp_path / PLAN).write_text(json.dumps(plan))
    for words in ANSWERS:
        assert f"{PLAN}: damaged" in answer(tmp_path, *words)


@pytest.mark.parametrize(
    "value", [10**400, 10**19, 0, -1], ids=["400 digits", "20 digits", "none", "negative"]
)
@pytest.mark.parametrize("name", ["nodes", "ranks", "ranks_per_node", "threads"])
def test_a_layout_that_no_machine_has_is_refused(tmp_path: Path, name: str, value: int) -> None:
    write_campaign(make_campaign(blocks=3), tmp_path)
    plan = json.loads((tmp_path / PLAN).read_text())
    plan["cases"][0]["layout"][name] = value
    (tmp_path / PLAN).write_text(json.dumps(plan))
    for words in (*ANSWERS, ["scaling"]):
        assert f"{PLAN}: damaged" in answer(tmp_path, *words)


def test_a_case_that_a_plan_has_twice_does_not_count_twice(tmp_path: Path) -> None:
    write_campaign(make_campaign(blocks=3), tmp_path)
    plan = json.loads((tmp_path / PLAN).read_text())
    twice = plan["cases"][0]["id"]
    plan["cases"].append(plan["cases"][0])
    (tmp_path / PLAN).write_text(json.dumps(plan))
    for words in ANSWERS:
        assert f"{PLAN}: damaged (it has the case {twice} twice)" in answer(tmp_path, *words)


@pytest.mark.parametrize("blocks", [2, 4, 6])
@pytest.mark.parametrize("value", [1e30, 5e-324, -1e30, 0.0])
def test_figures_as_large_or_small_as_a_computer_has_are_answered(
    tmp_path: Path, value: float, blocks: int
) -> None:
    write_campaign(with_values(make_campaign(blocks=blocks, sizes=(1,)), value), tmp_path)
    for words in ANSWERS:
        assert answer(tmp_path, *words)


@pytest.mark.parametrize("value", [1e308, -1e308])
def test_figures_that_no_parser_reads_are_damage(tmp_path: Path, value: float) -> None:
    (one,) = with_values(make_campaign(blocks=1), value).attempts[-1:]
    write_campaign(make_campaign(blocks=1), tmp_path)
    series = [msgspec.structs.replace(s, values=[value] * len(s.values)) for s in one.series]
    forged = AttemptEnded(msgspec.structs.replace(one, series=series))
    with (tmp_path / JOURNAL).open("ab") as journal:
        journal.write(write_line(forged) * 2)
    for words in ANSWERS:
        assert "this line is damaged" in answer(tmp_path, *words)


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_what_no_reader_takes_is_not_written(tmp_path: Path, value: float) -> None:
    campaign = make_campaign(blocks=2)
    write_campaign(campaign, tmp_path)
    before = (tmp_path / JOURNAL).read_bytes()
    forged = next(one for one in with_values(campaign, value).attempts if one not in campaign.attempts)
    with Journal(tmp_path / JOURNAL) as journal, pytest.raises(CampaignError, match="cannot be read again"):
        journal.append(AttemptEnded(forged))
    assert (tmp_path / JOURNAL).read_bytes() == before
    assert len(read_campaign(tmp_path).attempts) == len(campaign.attempts)
    assert read_events(tmp_path / JOURNAL)
