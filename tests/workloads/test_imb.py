"""Real output of IMB (corpus/INDEX.tsv names the origin of each file), also of runs that were killed."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.outputs import figures, only
from workloads.imb_examples import FOOTER, IMB, parse


@pytest.mark.parametrize(
    ("name", "at_8", "at_4194304"),
    [
        ("03-pingpong-impi193-peta4.out", (0.39, 20.26), (1030.47, 4070.30)),
        ("07-pingpong-ompi4-ucx.out", (1.05, 7.63), (352.68, 11892.60)),
    ],
)
def test_pingpong_is_read(
    corpus: Path, name: str, at_8: tuple[float, float], at_4194304: tuple[float, float]
) -> None:
    parsed = parse("PingPong", (corpus / "imb" / name).read_text())
    assert parsed.is_complete
    assert parsed.problems == ()
    assert len(figures(parsed, "latency")) == 24
    for size, expected in ((8, at_8), (4194304, at_4194304)):
        assert (only(parsed, "latency", bytes=size), only(parsed, "bandwidth", bytes=size)) == expected


def test_a_collective_is_read(corpus: Path) -> None:
    parsed = parse("Alltoall", (corpus / "imb/04-alltoall-cirrus-mpt218.out").read_text())
    assert parsed.is_complete
    assert len(figures(parsed, "time_avg")) == 24
    assert only(parsed, "time_avg", bytes=8) == 42.99
    assert only(parsed, "time_min", bytes=8) == 17.61
    assert only(parsed, "time_max", bytes=8) == 77.14
    assert only(parsed, "time_avg", bytes=4194304) == 893642.91


def test_times_and_bandwidth_of_sendrecv_are_read(corpus: Path) -> None:
    parsed = parse("Sendrecv", (corpus / "imb/05-sendrecv-32nodes-archer-cray774.out").read_text())
    assert parsed.is_complete
    assert (only(parsed, "time_avg", bytes=8), only(parsed, "bandwidth", bytes=8)) == (7.10, 1.66)
    assert only(parsed, "time_avg", bytes=4194304) == 3068.99
    assert only(parsed, "bandwidth", bytes=4194304) == 2551.83


def test_several_groups_of_ranks_are_distinguished(corpus: Path) -> None:
    parsed = parse("Uniband", (corpus / "imb/08-uniband-multi-nproc-groups.out").read_text())
    assert parsed.is_complete
    assert len(figures(parsed, "message_rate")) == 7 * 24
    assert only(parsed, "bandwidth", bytes=8, ranks=2) == 29.60
    assert only(parsed, "message_rate", bytes=8, ranks=2) == 3699661
    assert only(parsed, "bandwidth", bytes=4194304, ranks=64) == 23141.09
    assert only(parsed, "bandwidth", bytes=8, ranks=112) == 473.48
    assert only(parsed, "bandwidth", bytes=4194304, ranks=112) == 5786.16
    assert only(parsed, "message_rate", bytes=4194304, ranks=112) == 1380


def test_biband_is_read(corpus: Path) -> None:
    parsed = parse("Biband", (corpus / "imb/09-biband-ompi4-multi-groups.out").read_text())
    assert parsed.is_complete
    assert only(parsed, "bandwidth", bytes=8, ranks=2) == 80.52
    assert [only(parsed, "bandwidth", bytes=4194304, ranks=n) for n in (2, 8, 16)] == [
        17237.89,
        55574.69,
        20544.33,
    ]


def test_killed_runs_are_not_complete_but_their_rows_are_read(corpus: Path) -> None:
    one = parse("Alltoallv", (corpus / "imb/01-alltoallv-128nodes-cray-truncated.out").read_text())
    assert (one.is_complete, only(one, "time_avg", bytes=0)) == (False, 96591.34)
    two = parse("Alltoall", (corpus / "imb/02-alltoall-128nodes-cray-truncated.out").read_text())
    assert not two.is_complete
    assert len(figures(two, "time_avg")) == 16
    assert only(two, "time_avg", bytes=8) == 7431.03
    assert only(two, "time_avg", bytes=16384) == 4309284.27
    assert "the table of Alltoall on 16384 ranks stops at 16384 of 4194304 bytes" in two.problems


def test_a_run_out_of_time_is_not_complete_though_it_came_to_its_end(corpus: Path) -> None:
    parsed = parse("Alltoallv", (corpus / "imb/06-alltoallv-32nodes-cray8-short.out").read_text())
    assert not parsed.is_complete
    assert len(figures(parsed, "time_avg")) == 6
    assert only(parsed, "time_avg", bytes=8) == 56174.82
    assert any("gave up at 32 time-out.;" in problem for problem in parsed.problems)


def real_outputs(corpus: Path) -> Iterator[tuple[str, str]]:
    for path in sorted((corpus / "imb").iterdir()):
        text = path.read_text()
        (benchmark,) = set(re.findall(r"# Benchmarking (\S+)", text))
        yield benchmark, text


def test_output_cut_anywhere_is_complete_only_once_the_closing_line_is_in(corpus: Path) -> None:
    for benchmark, text in real_outputs(corpus):
        whole = {(one.fom, one.at["bytes"], one.value) for one in parse(benchmark, text).measurements}
        for cut in range(0, len(text), 50):
            for lines in (io.StringIO(text[:cut]), text[:cut].splitlines()):
                parsed = IMB[benchmark].parse(lines)
                assert not parsed.is_complete or FOOTER in text[:cut]
                assert {(one.fom, one.at["bytes"], one.value) for one in parsed.measurements} <= whole
