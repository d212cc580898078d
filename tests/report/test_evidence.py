"""What a run left behind, as it travels inside the page."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path

import msgspec

from support.synthetic import make_campaign
from tare.core.attempt import State
from tare.core.safe_folder import SafeFolder
from tare.report.evidence import RUN_LIMIT, Command, Evidence, pack, pack_all, read_evidence
from tare.report.sections.runs import by_urgency


def test_packed_evidence_unpacks_to_the_same(tmp_path: Path) -> None:
    (tmp_path / "command.json").write_text('[{"argv": ["mpirun", "a b"], "env": {"X": "1"}, "host": "n1"}]')
    (tmp_path / "stdout").write_text("table\n")
    (tmp_path / "prepare.stderr").write_text("warning\n")
    found = read_evidence(SafeFolder(tmp_path))
    assert found == Evidence(
        [Command(["mpirun", "a b"], {"X": "1"}, "n1")], {"stdout": "table\n", "prepare.stderr": "warning\n"}
    )
    unpacked = zlib.decompress(base64.b64decode(pack(found)))
    assert msgspec.json.decode(unpacked, type=Evidence) == found


def test_a_long_output_keeps_its_head_and_its_tail_and_states_what_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "stdout").write_text("first" + "x" * (2 * RUN_LIMIT) + "last")
    text = read_evidence(SafeFolder(tmp_path)).streams["stdout"]
    assert text.startswith("firstx")
    assert text.endswith("xlast")
    assert f"{RUN_LIMIT + 9} bytes left out" in text
    assert len(text) < RUN_LIMIT + 200


def test_an_output_at_the_limit_is_whole(tmp_path: Path) -> None:
    (tmp_path / "stdout").write_text("x" * RUN_LIMIT)
    assert read_evidence(SafeFolder(tmp_path)).streams["stdout"] == "x" * RUN_LIMIT


def test_broken_and_missing_files_leave_out_only_themselves(tmp_path: Path) -> None:
    (tmp_path / "command.json").write_text("{torn")
    (tmp_path / "stdout").write_bytes(b"caf\xe9\x00\x1b[0m")
    (tmp_path / "stderr").mkdir()
    assert read_evidence(SafeFolder(tmp_path)) == Evidence([], {"stdout": "caf\ufffd␀␛[0m"})


def test_runs_that_need_explaining_come_first_when_room_is_short(tmp_path: Path) -> None:
    campaign = make_campaign(blocks=3)
    attempts = [*campaign.attempts[:-1], msgspec.structs.replace(campaign.attempts[-1], state=State.FAILED)]
    for one in attempts:
        (tmp_path / one.folder).mkdir(parents=True)
        (tmp_path / one.folder / "stdout").write_text(one.folder)
    ordered = by_urgency(msgspec.structs.replace(campaign, attempts=tuple(attempts)))
    size = max(len(text) for text in pack_all(ordered, tmp_path).values())
    packed = pack_all(ordered, tmp_path, page_limit=2 * size)
    assert next(iter(packed)) == attempts[-1].folder
    assert len(packed) == 2


def test_the_run_that_lies_farthest_from_its_case_is_asked_for_before_its_like() -> None:
    campaign = make_campaign(blocks=6, noise=0.001)
    odd = campaign.attempts[7]
    slow = [msgspec.structs.replace(one, values=[2 * value for value in one.values]) for one in odd.series]
    attempts = list(campaign.attempts)
    attempts[7] = msgspec.structs.replace(odd, series=slow)
    first, *_ = by_urgency(msgspec.structs.replace(campaign, attempts=tuple(attempts)))
    assert (first.case, first.block) == (odd.case, odd.block)
