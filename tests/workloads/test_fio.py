"""Real output of fio (corpus/INDEX.tsv names the origin of each file): its jobs, clients and groups."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tare.core.workload import Parsed
from workloads.damage import cuts
from workloads.fio_examples import FIO, JSON, TEXT, figures, parse


def figure(parsed: Parsed, operation: str, **at: int | str) -> tuple[float, float]:
    read = figures(parsed, operation, **at)
    return read["iops"], read["bandwidth"]


@pytest.mark.parametrize("text", [TEXT, JSON], ids=["text", "json"])
def test_a_log_of_another_pattern_contradicts_its_workload(text: str) -> None:
    """Small blocks at random are no sequential reading."""
    asked = text.replace('"jobname" : "one",', '"jobname" : "one", "job options" : {"rw" : "randread"},')
    assert FIO["randread"].parse(io.StringIO(asked)).problems == ()
    for pattern in ("read", "write", "randwrite"):
        reported = FIO[pattern].parse(io.StringIO(asked)).problems
        assert reported == (f"fio.{pattern} is of rw={pattern}, and fio printed rw=randread",)


def test_a_mix_is_of_the_workloads_that_are_in_it_and_keeps_its_pattern(corpus: Path) -> None:
    text = (corpus / "fio/12-text-ceph-rw-4k.out").read_text()
    for pattern, n_problems in {"read": 0, "write": 0, "randread": 1, "randwrite": 1}.items():
        parsed = FIO[pattern].parse(io.StringIO(text))
        assert (len(parsed.problems), parsed.printed["rw"]) == (n_problems, ("rw",))


@pytest.mark.parametrize("text", [TEXT, JSON], ids=["text", "json"])
def test_the_figures_of_each_version_say_which_one_it_is(text: str) -> None:
    (version,) = parse(text).printed["program_version"]
    parsed = parse(text + text.replace(str(version), "3.1"))
    assert parsed.printed["program_version"] == (version, "3.1")
    assert {one.at["program_version"] for one in parsed.measurements} == {version, "3.1"}
    assert not any("run" in one.at for one in parsed.measurements)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "02-json-3.16-superbench-rw.log",
            {"read": (85138.890741, 340570), "write": (85066.128925, 340283)},
        ),
        ("03-json-vc-write.json", {"write": (734.70852, 188085)}),
        ("04-json-vc-readwrite.json", {"read": (569.699415, 145843), "write": (256.606819, 65691)}),
        ("06-json-vc-example.txt", {"write": (2167.231601, 8668)}),
        ("11-text-ceph-randread-1M.out", {"read": (133.00582543608, 136198)}),
        (
            "12-text-ceph-rw-4k.out",
            {"read": (136.08827347469, 557417 / 1024), "write": (136.47105814999, 558985 / 1024)},
        ),
    ],
)
def test_a_job_is_read(corpus: Path, name: str, expected: dict[str, tuple[float, float]]) -> None:
    parsed = parse((corpus / "fio" / name).read_text())
    assert (parsed.is_complete, parsed.problems) == (True, ())
    operations = {str(one.at["operation"]) for one in parsed.measurements}
    found = {operation: figure(parsed, operation) for operation in operations}
    assert found == {operation: pytest.approx(each, rel=1e-9) for operation, each in expected.items()}


def test_latencies_are_in_microseconds(corpus: Path) -> None:
    def latency(name: str, operation: str) -> float:
        return figures(parse((corpus / "fio" / name).read_text()), operation)["latency"]

    assert latency("03-json-vc-write.json", "write") == pytest.approx(87015.125958)
    assert latency("11-text-ceph-randread-1M.out", "read") == pytest.approx(240350)
    assert latency("12-text-ceph-rw-4k.out", "write") == pytest.approx(120500)


def test_an_interrupted_run_is_not_complete(corpus: Path) -> None:
    parsed = parse((corpus / "fio/01-json-3.33-terminated-on-signal-prefix.json").read_text())
    assert (parsed.is_complete, parsed.problems) == (
        False,
        ("fio was interrupted: fio: terminating on signal 2",),
    )
    assert figure(parsed, "read") == (7662.030309, 30648)
    assert figure(parsed, "write") == (39338.066766, 157352)


def test_a_job_with_an_error_is_a_problem(corpus: Path) -> None:
    parsed = parse((corpus / "fio/05-json-vc-with-error.txt").read_text())
    assert figure(parsed, "read") == (49501.318267, 197509)
    assert "job fiotest of fio ended with error 42" in parsed.problems
    assert sum("err=4" in problem for problem in parsed.problems) == 2


def test_jobs_of_clients_are_distinguished(corpus: Path) -> None:
    parsed = parse((corpus / "fio/09-json-pbench-fio0-client.txt").read_text())
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figure(parsed, "read", job="job-/tmp/fio#1", host="perf36") == (7951.016328, 31812)
    assert figure(parsed, "read", job="All clients") == (93198.150858, 372875)
    assert len({(one.at.get("host"), one.at["job"]) for one in parsed.measurements}) == 11


def test_jobs_of_one_name_are_distinguished(corpus: Path) -> None:
    parsed = parse((corpus / "fio/10-json-pbench-perf-fio-0.txt").read_text())
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figure(parsed, "read", job="job-/dev/nvme8n1#1") == (96.77941, 387)
    assert figure(parsed, "write", job="job-/dev/nvme8n1#1") == (96.729827, 386)
    assert len({one.at["job"] for one in parsed.measurements}) == 8


def test_groups_of_jobs_in_text_are_distinguished(corpus: Path) -> None:
    parsed = parse((corpus / "fio/13-text-ceph-fourjobs-write-1M.out").read_text())
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figure(parsed, "write", job="ceph-fuse-replicated") == pytest.approx((976 / 60.207, 16600))
    assert figure(parsed, "write", job="ceph-fuse-erasure_1") == pytest.approx((1572 / 60.108, 26781))
    assert len({one.at["job"] for one in parsed.measurements}) == 6


def test_every_file_has_its_expectation_above(corpus: Path) -> None:
    assert len(list((corpus / "fio").iterdir())) == 11


def test_output_cut_anywhere_is_complete_only_with_all_its_figures(corpus: Path) -> None:
    for path in sorted((corpus / "fio").iterdir()):
        text = path.read_text()
        whole = len(parse(text).measurements)
        for cut in cuts(text):
            for lines in (io.StringIO(cut), cut.splitlines()):
                parsed = FIO["read"].parse(lines)
                assert not parsed.is_complete or len(parsed.measurements) == whole
