"""Rows that lost a part are told by their width, which is that of all rows of a table."""

from __future__ import annotations

import random
import re

import pytest

from support.outputs import parse
from tare.core.workload import Parsed
from tare.plugins.workloads.common.row_widths import Shape, odd_rows, shape
from workloads.collection import text_of

TABLES = [
    ("osu.latency", "osu/13-latency-impi-verbs-v5.6.2.out"),
    ("osu.bw", "osu/14-bw-ompi4-ucx-v5.6.out"),
    ("osu.allreduce", "osu/25-polaris-host-allreduce-v5.3-64rank.dat"),
    ("imb.pingpong", "imb/07-pingpong-ompi4-ucx.out"),
    ("osu.alltoall", "osu/16-alltoall-ompi4-roce.out"),
]


def points(parsed: Parsed) -> dict[tuple[str, str], float]:
    return {(one.fom, str(sorted(one.at.items()))): one.value for one in parsed.measurements}


@pytest.mark.parametrize(("workload", "name"), TABLES)
def test_a_hole_within_a_table_changes_no_figure_in_silence(workload: str, name: str) -> None:
    text = text_of(name)
    whole = points(parse(workload, text))
    assert whole
    start = re.search(r"(?m)^\s*[0-9]+ +[0-9]", text)
    assert start is not None
    draw = random.Random(7)
    for _ in range(300):
        at, size = draw.randrange(start.start(), len(text)), draw.randint(1, 26)
        parsed = parse(workload, text[:at] + text[at + size :])
        changed = {point for point, value in points(parsed).items() if whole.get(point) != value}
        assert not changed or parsed.problems, text[at - 60 : at] + "|" + text[at : at + size] + "|"


def shapes(rows: list[str]) -> list[Shape]:
    return [shape(row.split(), len(row)) for row in rows]


PADDED = [f"{size:<10}{1 + size / 100:>18.2f}" for size in (1, 2, 4, 8, 1024)]


def test_rows_that_are_not_padded_have_no_width() -> None:
    assert odd_rows(shapes([" ".join(row.split()) for row in PADDED]), overflow=10) == []


@pytest.mark.parametrize("odd", ["8           1.08", f"8{'1.08':>40}"])
def test_the_row_with_another_width_is_found(odd: str) -> None:
    assert odd_rows(shapes([*PADDED, odd, *PADDED]), overflow=10) == [len(PADDED)]


def test_a_cell_that_is_wider_than_its_column_makes_a_longer_row() -> None:
    assert odd_rows(shapes([*PADDED, f"8{'1234567890.08':>40}"]), overflow=10) == []
