"""OMB's parser on real output; corpus/INDEX.tsv names the origin of each file."""

from __future__ import annotations

import io
from pathlib import Path
from typing import NamedTuple

import pytest

from support.outputs import figures
from workloads.cases import case_of
from workloads.osu_output import OSU, parse


class Expected(NamedTuple):
    """What one file holds of one benchmark: `at` maps (run, bytes) to the first column; run None is alone."""

    file: str
    benchmark: str
    is_complete: bool
    n_sizes: tuple[int, ...]
    at: dict[tuple[int | None, int], float]


REAL = (
    Expected("01-latency-ompi5-eks-busError-crash-at-start.out", "latency", False, (), {}),
    Expected("02-bw-ompi-libfabric-busError-no-rows.out", "bw", False, (), {}),
    Expected("03-bw-cancelled-at-2M.out", "bw", False, (21,), {(None, 8): 6.17, (None, 1048576): 10681.33}),
    Expected(
        "04-latency-cancelled-at-512K.out", "latency", False, (20,), {(None, 8): 16.01, (None, 262144): 81.10}
    ),
    Expected(
        "05-cuda-latency-HH-cancelled-after-64B.out",
        "latency",
        False,
        (8,),
        {(None, 8): 20.79, (None, 64): 20.77},
    ),
    Expected("06-allreduce-cancelled-no-table.out", "allreduce", False, (), {}),
    Expected(
        "07-cuda-allreduce-DD-ompi-help-interleaved.out",
        "allreduce",
        True,
        (19,),
        {(None, 8): 879.03, (None, 1048576): 22740.41},
    ),
    Expected(
        "08-cuda-allreduce-256rank-warnings.out",
        "allreduce",
        True,
        (19,),
        {(None, 8): 391.84, (None, 1048576): 4203.34},
    ),
    Expected(
        "09-multi-pair-latency-bw-allreduce-UCX-errors.out", "latency", True, (24,) * 28, {(1, 8): 1.55}
    ),
    Expected(
        "09-multi-pair-latency-bw-allreduce-UCX-errors.out", "bw", True, (23,) * 28, {(1, 4194304): 24671.94}
    ),
    Expected(
        "09-multi-pair-latency-bw-allreduce-UCX-errors.out",
        "allreduce",
        False,
        (19, 17, 19),
        {(1, 8): 2511.07, (2, 262144): 307311.13, (3, 8): 2822.15, (3, 1048576): 19045.99},
    ),
    Expected(
        "10-two-allreduce-tables-one-file.out",
        "allreduce",
        True,
        (19, 19),
        {(1, 8): 81.90, (2, 8): 112.30, (1, 1048576): 51357.86, (2, 1048576): 52498.01},
    ),
    Expected(
        "11-cuda-DD-multi-pair-concatenated.out",
        "latency",
        True,
        (24,) * 28,
        {(1, 8): 17.36, (1, 4194304): 515.32},
    ),
    Expected("11-cuda-DD-multi-pair-concatenated.out", "bw", True, (23,) * 28, {(1, 4194304): 9204.28}),
    Expected(
        "11-cuda-DD-multi-pair-concatenated.out",
        "allreduce",
        True,
        (19,) * 5,
        {(5, 8): 189.48, (5, 1048576): 1316.79},
    ),
    Expected(
        "12-latency-gke-flux-trailer.out",
        "latency",
        True,
        (24,),
        {(None, 8): 36.03, (None, 0): 36.20, (None, 4194304): 2416.95},
    ),
    Expected(
        "13-latency-impi-verbs-v5.6.2.out", "latency", True, (24,), {(None, 8): 1.50, (None, 4194304): 642.53}
    ),
    Expected(
        "14-bw-ompi4-ucx-v5.6.out",
        "bw",
        True,
        (23,),
        {(None, 8): 60.44, (None, 1048576): 12171.87, (None, 4194304): 12164.86},
    ),
    Expected(
        "15-bibw-ompi3-ucx-csd3.out", "bibw", True, (23,), {(None, 8): 83.88, (None, 4194304): 24601.60}
    ),
    Expected(
        "16-alltoall-ompi4-roce.out", "alltoall", True, (21,), {(None, 8): 36.25, (None, 1048576): 354525.59}
    ),
    Expected(
        "17-mbw_mr-8pairs-ompi4.out", "mbw_mr", True, (23,), {(None, 8): 438.60, (None, 4194304): 12392.77}
    ),
    Expected(
        "25-polaris-host-allreduce-v5.3-64rank.dat",
        "allreduce",
        True,
        (28,),
        {(None, 8): 12.58, (None, 536870912): 454241.73},
    ),
    Expected(
        "26-polaris-cuda-alltoall-v5.3.dat",
        "alltoall",
        True,
        (25,),
        {(None, 8): 50.76, (None, 67108864): 70596.65},
    ),
    Expected("27-polaris-mpiexec-usage-error.dat", "allreduce", False, (), {}),
    Expected("28-polaris-empty-file.dat", "alltoall", False, (), {}),
    # It ends in a row of 2 MiB without a line end, and OMB's own sizes go on to 4 MiB: as far as anybody can
    # tell it was cut off. A case that asked for no more finds it whole (see below).
    Expected(
        "31-virtualclient-latency.txt", "latency", False, (23,), {(None, 8): 18.54, (None, 2097152): 563.25}
    ),
    Expected(
        "32-virtualclient-allreduce.txt",
        "allreduce",
        True,
        (19,),
        {(None, 8): 17.35, (None, 1048576): 566.82},
    ),
    Expected(
        "33-cuda-bw-v7.5-mpich-slingshot.extract.txt",
        "bw",
        True,
        (23,),
        {(None, 8): 0.74, (None, 4194304): 23974.34},
    ),
    Expected(
        "34-alltoall-v7.5-validation-pass.extract.txt",
        "alltoall",
        True,
        (21,),
        {(None, 8): 11.84, (None, 1048576): 519.85},
    ),
    Expected("35-cuda-iallreduce-v7.5-segfault.extract.txt", "iallreduce", False, (), {}),
    Expected(
        "36-bw-v6.2-mpich-no-cxi.extract.txt", "bw", True, (23,), {(None, 8): 1.82, (None, 2097152): 1363.30}
    ),
    Expected(
        "37-bw-v7.5-validation-ldso-warnings.extract.txt",
        "bw",
        True,
        (23,),
        {(None, 8): 7.07, (None, 4194304): 24007.69},
    ),
    Expected(
        "38-lassen-spectrum-jsrun-20-runs.out",
        "mbw_mr",
        True,
        (23,) * 20,
        {(1, 8): 230.17, (1, 4194304): 110812.19},
    ),
    Expected(
        "38-lassen-spectrum-jsrun-20-runs.out",
        "latency",
        True,
        (24,) * 20,
        {(1, 8): 1.15, (1, 4194304): 308.35},
    ),
    Expected(
        "38-lassen-spectrum-jsrun-20-runs.out",
        "allreduce",
        True,
        (19,) * 20,
        {(20, 8): 4.72, (20, 1048576): 256.89},
    ),
)


@pytest.mark.parametrize("expected", REAL, ids=lambda one: f"{one.file[:2]}-{one.benchmark}")
def test_real_output_is_read(corpus: Path, expected: Expected) -> None:
    parsed = parse(expected.benchmark, (corpus / "osu" / expected.file).read_text())
    main = OSU[expected.benchmark].foms[0].name
    assert parsed.is_complete == expected.is_complete
    assert (parsed.problems == ()) == expected.is_complete
    n_sizes = tuple(
        len(figures(parsed, main, **({"run": run} if len(expected.n_sizes) > 1 else {})))
        for run, _ in enumerate(expected.n_sizes, start=1)
    )
    assert n_sizes == expected.n_sizes
    assert len(figures(parsed, main)) == sum(expected.n_sizes)
    for (run, size), value in expected.at.items():
        assert figures(parsed, main, bytes=size, **({"run": run} if run else {})) == [value]


def test_a_case_that_asked_for_fewer_sizes_finds_a_short_table_whole(corpus: Path) -> None:
    text = (corpus / "osu/31-virtualclient-latency.txt").read_text()
    asked = OSU["latency"].expecting(case_of(OSU["latency"], max_bytes=2 << 20))
    assert asked.parse(io.StringIO(text)).is_complete


def test_every_file_of_the_collection_is_expected(corpus: Path) -> None:
    assert {one.file for one in REAL} == {path.name for path in (corpus / "osu").iterdir()}


def test_message_rates_are_read(corpus: Path) -> None:
    parsed = parse("mbw_mr", (corpus / "osu/17-mbw_mr-8pairs-ompi4.out").read_text())
    assert figures(parsed, "message_rate", bytes=8) == [54825405.31]
    assert figures(parsed, "message_rate", bytes=4194304) == [2954.67]


def test_the_mean_over_small_messages_is_that_of_the_rows(corpus: Path) -> None:
    parsed = parse("latency", (corpus / "osu/13-latency-impi-verbs-v5.6.2.out").read_text())
    (mean,) = figures(parsed, "latency_small_mean")
    assert mean == pytest.approx((1.50 + 1.50 + 1.51 + 1.50 + 1.50 + 1.51 + 1.53) / 7, abs=1e-6)


@pytest.mark.parametrize("expected", REAL, ids=lambda one: f"{one.file[:2]}-{one.benchmark}")
def test_output_cut_anywhere_is_not_complete_with_fewer_figures(corpus: Path, expected: Expected) -> None:
    text = (corpus / "osu" / expected.file).read_text()
    main = OSU[expected.benchmark].foms[0].name
    whole = [one.value for one in parse(expected.benchmark, text).measurements if one.fom == main]
    for cut in range(0, len(text), max(len(text) // 40, 1)):
        parsed = parse(expected.benchmark, text[:cut])
        found = figures(parsed, main)
        assert found == whole[: len(found)]
        # Sizes of the user's own may end with any whole row; the text does not tell.
        is_own_end = text[:cut].endswith("\n") and expected.file.startswith(("25", "26"))
        if len(expected.n_sizes) < 2 and not is_own_end:
            assert not parsed.is_complete or len(found) == len(whole)
