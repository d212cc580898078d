"""A study is planned and run from Python, as the commands do it."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import tare
from tare.cli.main import make_group
from tare.config.document import ListNode, MapNode, Node, ScalarNode, read_document
from tare.config.document_text import document_text
from tare.config.faults import Faults

STUDY: dict[str, object] = {
    "study": "nothing",
    "question": "What does a longer text cost?",
    "reference": {"n": 10},
    "workloads": {
        "print": {
            "command": "sh -c 'echo \"took {n} s\"'",
            "parameters": {"n": {"kind": "number", "default": 10}},
            "foms": [{"name": "elapsed", "unit": "s", "better": "lower", "regex": r"took (\S+) s"}],
        }
    },
    "factors": {"workload": ["print"], "n": [10, 20]},
    "repeats": 3,
}


def test_a_mapping_is_planned_as_its_file_is(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump(STUDY))
    plans = [tare.plan_study(one) for one in (STUDY, file, str(file))]
    assert [one.cases()["case"].to_list() for one in plans] == [plans[0].cases()["case"].to_list()] * 3
    assert (len(plans[0]), plans[0].n_runs, plans[0].study) == (2, 6, "nothing")
    assert tare.plan_study(STUDY, blocks=7).n_runs == 14
    case = plans[0].cases()["case"].to_list()[1]
    assert plans[0].describe(case) == "print n=20"
    assert plans[0].settings(case)["n"] == 20


def test_faults_of_a_mapping_name_the_keys_and_no_line() -> None:
    wrong = {**STUDY, "factors": {"workload": ["print"], "m": [1]}, "margin": "a lot"}
    with pytest.raises(tare.FileFaults) as caught:
        tare.plan_study(wrong)
    lines = str(caught.value).splitlines()
    assert len(lines) > 1
    assert all(line.startswith("study: ") for line in lines)
    assert any("factors.m" in line for line in lines)
    with pytest.raises(tare.UsageError, match=r"study: factors\.n\[1\]: a file cannot hold a object"):
        tare.plan_study({**STUDY, "factors": {"n": [1, object()]}})
    with pytest.raises(tare.UsageError, match="nan is not a number"):
        tare.plan_study({**STUDY, "margin": float("nan")})


def test_a_site_can_be_a_mapping() -> None:
    plan = tare.plan_study(
        STUDY, site={"site": "mine", "nodes": ["localhost"], "platforms": {"bare": {"launcher": "none"}}}
    )
    assert plan.cases()["platform"].unique().to_list() == ["bare"]


def test_a_run_tells_its_events_and_continues_where_it_stopped(tmp_path: Path) -> None:
    events: list[tare.RunEvent] = []
    campaign = tare.run_study(STUDY, tmp_path / "c", on_event=events.append, boost=False)
    ended = [one for one in events if one.kind is tare.EventKind.ENDED]
    assert [one.state for one in ended] == ["done"] * 6
    assert (ended[-1].n_done, ended[-1].n_runs) == (6, 6)
    assert campaign.progress == (6, 6)
    assert str(ended[0]).startswith("[1/6] block 1  print n=")
    again: list[tare.RunEvent] = []
    assert tare.run_study(tmp_path / "c", on_event=again.append, boost=False).progress == (6, 6)
    assert not [one for one in again if one.kind is tare.EventKind.ENDED]
    (only,) = campaign.compare()
    assert only.ratio == pytest.approx(2)
    done = CliRunner().invoke(make_group(), ["status", str(tmp_path / "c")], catch_exceptions=False)
    assert "6 of 6 runs done" in done.stdout


def test_an_error_of_the_callback_ends_the_session_and_the_next_call_goes_on(tmp_path: Path) -> None:
    def fail(event: tare.RunEvent) -> None:
        if event.n_done == 2:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        tare.run_study(STUDY, tmp_path / "c", on_event=fail, boost=False)
    assert tare.open_campaign(tmp_path / "c").progress[0] == 2
    assert not tare.open_campaign(tmp_path / "c").is_running
    assert tare.run_study(STUDY, tmp_path / "c", boost=False).progress == (6, 6)


def test_a_run_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tare.run_study(STUDY, tmp_path / "c", boost=False, blocks=1)
    assert capfd.readouterr() == ("", "")


def test_a_run_may_be_in_a_thread(tmp_path: Path) -> None:
    found: list[tuple[int, int]] = []
    thread = threading.Thread(
        target=lambda: found.append(tare.run_study(STUDY, tmp_path / "c", boost=False, blocks=1).progress)
    )
    thread.start()
    thread.join()
    assert found == [(2, 2)]


def test_what_cannot_be_run_is_refused_with_the_cure(tmp_path: Path) -> None:
    with pytest.raises(tare.UsageError, match="name the campaign's folder"):
        tare.run_study(STUDY)
    with pytest.raises(tare.UsageError, match="plan_study"):
        tare.run_study(tare.plan_study(STUDY), tmp_path, blocks=3)
    with pytest.raises(tare.UsageError, match="use a whole number, 1 or more"):
        tare.run_study(STUDY, tmp_path, jobs=0)
    with pytest.raises(tare.UsageError, match="use a whole number, 1 or more"):
        tare.plan_study(STUDY, blocks=0)


def values(node: Node | None) -> object:
    if isinstance(node, MapNode):
        return {key: values(entry.value) for key, entry in node.entries.items()}
    if isinstance(node, ListNode):
        return [values(item) for item in node.items]
    assert isinstance(node, ScalarNode)
    return node.value


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co"]), max_size=12) | (
    st.sampled_from(
        ["1e3", "0o17", "0x1F", "no", "12:30", "~", "null", "true", "1.", "- a", "a: b", "#", "*a"]
    )
)
SCALARS = TEXTS | st.booleans() | st.none() | st.integers(-(10**15), 10**15) | st.floats(-1e9, 1e9)
KEYS = TEXTS.filter(lambda text: text != "<<")  # it merges mappings
ITEMS = st.recursive(SCALARS, lambda one: st.lists(one) | st.dictionaries(KEYS, one), max_leaves=8)
DOCUMENTS = st.dictionaries(KEYS, ITEMS, min_size=1)


@given(DOCUMENTS)
def test_what_is_written_is_read_back(document: dict[str, object]) -> None:
    faults = Faults("study")
    node = read_document(document_text(document, "study"), faults)
    assert not faults.found
    assert values(node) == document


@pytest.mark.parametrize(
    "blocks", [np.array(["1MiB", "64KiB"]), pl.Series(["1MiB", "64KiB"]), ("1MiB", "64KiB")]
)
def test_levels_may_be_an_array_or_a_series(blocks: object) -> None:
    assert document_text({"block": blocks}, "study") == document_text({"block": ["1MiB", "64KiB"]}, "study")


@pytest.mark.parametrize("number", [np.int64(3), np.array(3), np.float32(3).astype(int)])
def test_a_number_of_numpy_is_a_number(number: object) -> None:
    assert document_text({"size": number}, "study") == "size: 3\n"


def test_errors_name_arguments_and_no_options(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    tare.run_study(STUDY, folder, boost=False)
    with pytest.raises(
        tare.UsageError, match="give extend=True to extend it, or choose another folder"
    ) as asked:
        tare.run_study({**STUDY, "repeats": 4}, folder, boost=False)
    fewer = {**STUDY, "factors": {"workload": ["print"], "n": [10, 30]}}
    with pytest.raises(tare.UsageError, match="restore it, or choose another folder") as lost:
        tare.run_study(fewer, folder, extend=True, boost=False)
    assert "--" not in f"{asked.value}{lost.value}"
