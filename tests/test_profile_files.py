"""Profiles come from inside of runs, so nothing in them is taken on trust."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.profiled import BASE, profile
from tare.analysis.causes.profiles import UNEXPLAINED, components
from tare.core.profile import STORED, Profile, parse, read


def _whole() -> dict[str, Any]:
    return profile(BASE, np.random.default_rng(1))


def test_a_whole_profile_is_read() -> None:
    found = parse(json.dumps(_whole()).encode())
    assert isinstance(found, Profile)
    assert found.ranks == 4
    assert found.functions[0].function == "MPI_Allreduce"


_BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"version": 2}, "is of version 2"),
    ({"complete": False}, "is not complete"),
    ({"ranks": 5}, "has 4 numbers of nodes for 5 ranks"),
    ({"ranks": 0}, "damaged"),
    ({"ranks": 1 << 40}, "damaged"),
    ({"wall_s": [1.0, -1.0, 1.0, 1.0]}, "damaged"),
    ({"wall_s": [1e300] * 4}, "damaged"),
    ({"wall_s": [0.0] * 4}, "took no time"),
    ({"computation_s": [1e4] * 4}, "has parts of"),
    ({"mpi": "x" * 1000}, "damaged"),
    ({"functions": [{"function": "MPI_Send"}]}, "damaged"),
]


@pytest.mark.parametrize(("change", "why"), _BROKEN)
def test_what_cannot_be_is_no_profile_and_says_why(change: dict[str, Any], why: str) -> None:
    found = parse(json.dumps(_whole() | change).encode())
    assert isinstance(found, str)
    assert found.startswith("no profile, because profile.json")
    assert why in found


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"version": NaN}', "[" * 100_000, "\xff"])
def test_what_is_no_json_is_no_profile(text: str) -> None:
    assert isinstance(parse(text.encode("latin-1")), str)


def test_a_row_of_another_number_of_ranks_is_refused() -> None:
    whole = _whole()
    whole["functions"][0]["waiting_s"] = [0.0]
    found = parse(json.dumps(whole).encode())
    assert isinstance(found, str)
    assert "has 1 number of MPI_Allreduce for 4 ranks" in found


def test_a_wait_longer_than_its_call_is_refused() -> None:
    whole = _whole()
    whole["functions"][0]["waiting_s"] = [9.0] * 4
    found = parse(json.dumps(whole).encode())
    assert isinstance(found, str)
    assert "has a wait of 9 s in MPI_Allreduce" in found


def test_a_run_without_a_file_says_so(tmp_path: Path) -> None:
    assert read(tmp_path) == "no profile, because the run left no profile.json"


def test_a_folder_in_place_of_the_file_is_no_profile(tmp_path: Path) -> None:
    (tmp_path / STORED).mkdir()
    assert str(read(tmp_path)).startswith("no profile, because profile.json cannot be read")


@pytest.mark.parametrize("name", ["mix-2ranks", "mix-3ranks", "slow-rank"])
def test_profiles_of_real_programs_are_read_and_their_parts_are_the_whole(name: str) -> None:
    found = parse((Path(__file__).parent / f"recorded/profiles/{name}.json").read_bytes())
    assert isinstance(found, Profile)
    parts = components(found)
    assert sum(parts.values()) == pytest.approx(sum(found.wall_s) / found.ranks)
    assert abs(parts[UNEXPLAINED]) <= 0.01 * sum(parts.values())  # the library's own cost


def test_a_pipe_or_a_link_in_its_place_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / STORED)
    assert "cannot be read: a pipe, not a file" in str(read(tmp_path))
    (tmp_path / STORED).unlink()
    (tmp_path / STORED).symlink_to("/proc/self/environ")
    assert "cannot be read: a symbolic link, which is not followed" in str(read(tmp_path))
