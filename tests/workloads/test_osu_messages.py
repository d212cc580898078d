"""OMB's tables among messages: no line that counts is lost, and none that does not is read."""

from __future__ import annotations

import pytest

from support.outputs import figures
from tare.plugins.workloads.osu_output import OsuLog
from workloads.osu_output import LATENCY, SIZES, parse, table


@pytest.mark.parametrize(
    "noise",
    [
        "[n1:00042] UCX  ERROR  something timed out\n",
        "\n",
        "2 more processes have sent help message help-mpi-btl-tcp.txt / dropped inbound connection\n",
        "slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT 2026-01-01 ***\n",
        "Start time: 1725077730\n",
        "# note\n",
        "12\n",
        "\0\x07\ufffd\n",
    ],
)
def test_noise_between_rows_changes_nothing(noise: str) -> None:
    noisy = "".join(line + noise for line in LATENCY.splitlines(keepends=True))
    assert parse("latency", noise + noisy) == parse("latency", LATENCY)


@pytest.mark.parametrize("label", ["", "0: ", "n1: ", "node[7] "])
def test_rows_among_thousands_of_messages_are_read(label: str) -> None:
    noise = "    0x7f12a3 retrying after 250 ms\nINFO:root:heartbeat mem=512.3MiB\n\n" * 1000
    rare = "".join(f"{noise}{label}{line}" for line in LATENCY.splitlines(keepends=True)) + noise
    dense = "".join(f"{label}{line}" for line in LATENCY.splitlines(keepends=True))
    assert parse("latency", rare) == parse("latency", dense)
    assert parse("latency", rare).measurements


@pytest.mark.parametrize(
    ("benchmark", "lines"),
    [
        (
            "latency",
            [
                "# OSU MPI Latency Test v7.5",
                "# Datatype: MPI_CHAR.",
                *("# Size   Avg Latency(us)", "1   1.00", "2   1.00"),
                "# Datatype: MPI_INT.",
                *("# Size   Avg Latency(us)", "4   2.00", "8   **.**", "DATA VALIDATION ERROR: rank 1"),
            ],
        ),
        (
            "latency",
            ["+ srun osu_latency -m 1:2", "# OSU MPI Latency Test v5.8", "# Size  Latency (us)", "1  1.00"],
        ),
        (
            "mbw_mr",
            [
                "# OSU MPI Multiple Bandwidth / Message Rate Test v5.8",
                "# [ pairs: 4 ] [ window size: 64 ]",
                *("# Size   MB/s   Messages/s", "1   9.00   9000000.00"),
            ],
        ),
        ("bw", ["# OSU MPI Bandwidth Test v7.5", "# Size   Bandwidth (MB/s)   Validation", "1   0.1   Fail"]),
        ("barrier", ["# OSU MPI Barrier Latency Test v5.8", "# Avg Latency(us)", "             8.63"]),
        (
            "ibarrier",
            [
                "# OSU MPI Non-blocking Barrier Latency Test v5.8",
                "  Overall(us)   Compute(us)",
                "8.77   5.32",
            ],
        ),
    ],
)
@pytest.mark.parametrize("label", ["", "n1: ", "node[7] "])
def test_no_line_that_counts_is_lost_among_messages(
    monkeypatch: pytest.MonkeyPatch, benchmark: str, lines: list[str], label: str
) -> None:
    noise = "    0x7f12a3 retrying after 250 ms\n[n1:00042] UCX  WARN\n# loaded gcc/13\n\n" * 200
    found = parse(benchmark, "".join(f"{noise}{label}{line}\n" for line in lines) + noise)
    monkeypatch.setattr(OsuLog, "sieve", None)
    assert found == parse(benchmark, "".join(f"{label}{line}\n" for line in lines))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("8   ", "2 more processes have sent help message\n8   "),
        ("8   ", "8  **.**\n8   "),
        ("8   ", "8   \t"),
        ("8   ", "8.5 "),
        ("\n8   ", "\nn1: 8   "),
        ("# Size", "12 osu_latency -m 4:64\n3 osu_latency -m 8:16\n# Size"),
    ],
)
def test_rows_read_at_once_are_those_read_one_by_one(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    text = LATENCY.replace(old, new, 1)
    assert text != LATENCY
    at_once = parse("latency", text)
    monkeypatch.setattr(OsuLog, "sieve", None)
    assert at_once == parse("latency", text)


def test_a_row_that_failed_its_validation_is_named_among_those_that_passed() -> None:
    rows = {size: f"{size / 10:.2f}{'Fail' if size == 8 else 'Pass':>18}" for size in SIZES[1:]}
    parsed = parse("latency", table("Latency Test v7.4", "# Size  Avg Latency(us)  Validation", rows))
    assert [one for one in parsed.problems if "failed its validation: 8 " in one]
    assert len(figures(parsed, "latency")) == len(rows)


@pytest.mark.parametrize(
    "message", [" " * 100_000 + "x", "#  " * 50_000, "a:" * 50_000, "1:" + "2" * 100_000]
)
def test_a_long_line_that_is_no_row_takes_linear_time(message: str) -> None:
    """With the square of its length, such a line would take hours."""
    text = f"{message}\n{LATENCY}"
    assert parse("latency", text).measurements == parse("latency", LATENCY).measurements
