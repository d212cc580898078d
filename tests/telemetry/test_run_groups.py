"""What the run itself took, by its control group, and what others took beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cli.conftest import TARE
from support.synthetic import make_campaign
from tare.core.attempt import Attempt
from tare.core.safe_folder import SafeFolder
from tare.core.telemetry import Epoch, Host, Span
from tare.core.telemetry_sources import figures as telemetry_figures
from tare.plugins.backends.process import control_groups
from tare.plugins.collectors.sampler import read
from tare.plugins.collectors.sampler.figures import derive
from tare.plugins.collectors.sampler.recording import Head, HostRecording, Recording, Sample
from tare.plugins.collectors.sampler.sources import run
from tare.plugins.collectors.sampler.sources.run import others_share
from tare.report.sections.reasons import watched_words
from tare.storage.campaign import read_campaign
from telemetry.test_sampler import Started, started

__all__ = ["started"]

GROUP = {
    "cpu.stat": "usage_usec 9000000\nuser_usec 7500000\nsystem_usec 1500000\nnice_usec 0\n"
    "nr_periods 40\nnr_throttled 10\nthrottled_usec 250000\nnr_bursts 0\nburst_usec 0\n",
    "cpu.pressure": "some avg10=1.20 avg60=0.50 avg300=0.10 total=2000000\nfull avg10=0.00 avg60=0.00 "
    "avg300=0.00 total=500000\n",
    "memory.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=100000\nfull avg10=0.00 avg60=0.00 "
    "avg300=0.00 total=0\n",
    "io.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\nfull avg10=0.00 avg60=0.00 "
    "avg300=0.00 total=1000000\n",
    "memory.current": "1048576\n",
    "memory.peak": "8388608\n",
    "memory.events": "low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\noom_group_kill 0\n",
    "io.stat": "999:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n"
    "999:16 rbytes=1000 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n"
    "7:1 rbytes=5 wbytes=5 rios=1 wios=1 dbytes=0 dios=0\n",
}
"""The files of a group with all controllers (Documentation/admin-guide/cgroup-v2.rst)."""


def lines(files: dict[str, str] = GROUP) -> list[str]:
    return run.shorten([f"/g/a b/{name} {line}" for name in files for line in files[name].splitlines()])


def sample(at_s: float, busy: int, idle: int, took: list[str], mark: str = "") -> Sample:
    reported = {"cpu": [f"cpu  {busy} 0 0 {idle} 0 0 0 0 0 0"], **({"run": took} if took else {})}
    return Sample(at_s=at_s, wall_s=at_s, lines=reported, mark=mark)


def figures(*samples: Sample, stage: str = "run") -> dict[str, float]:
    head = Head(sampler=1, node="n1", period_s=1.0)
    span = Span(
        hosts={"n1": Host(offset_s=0.0, offset_error_s=0.001, zero_at=0.0)}, epochs=(Epoch(stage, 100, 110),)
    )
    return derive(Recording(hosts=(HostRecording(host="n1", head=head, samples=samples),), span=span))


def test_the_files_of_a_group_are_understood() -> None:
    found = figures(sample(100, 0, 0, []), sample(110, 1200, 800, lines()))
    assert {name: value for name, value in found.items() if name.startswith("run_")} == pytest.approx(
        {
            "run_cpu": 9.0,
            "run_cpu_user": 7.5,
            "run_cpu_system": 1.5,
            "run_throttled": 25.0,
            "run_memory_peak": 8388608,
            "run_oom_kills": 2,
            "run_read": 5096,
            "run_written": 8192,
            "run_cpu_pressure": 20.0,
            "run_cpu_stall": 5.0,
            "run_memory_pressure": 1.0,
            "run_memory_stall": 0.0,
            "run_io_pressure": 10.0,
            "run_io_stall": 10.0,
        }
    )
    assert found.keys() <= telemetry_figures().keys()


def test_what_others_took_is_what_the_node_did_without_the_run() -> None:
    """Of two cores for 10 s, 12 s were spent in programs, and 9 s of these by the run."""
    found = figures(sample(100, 0, 0, []), sample(110, 1200, 800, lines()))
    assert found["cpu_others"] == pytest.approx(15.0)


def test_of_a_run_shorter_than_the_ticks_can_show_others_have_no_share() -> None:
    """In 70 ms of two cores one tick of a stranger would be 7 %, and may be nobody's."""
    assert others_share(0.0, {"cpu.user": 1, "cpu.idle": 13}) is None
    assert others_share(0.0, {"cpu.user": 1, "cpu.idle": 99}) == pytest.approx(1.0)


def test_what_an_earlier_stage_took_is_not_what_this_one_did() -> None:
    """This one had no group, as one whose outputs came out of the cache."""
    early = lines()
    found = figures(sample(99, 0, 0, early, "b"), sample(110, 1200, 800, early), stage="b")
    assert not {name for name in found if name.startswith("run_") or name == "cpu_others"}


def test_without_controllers_cpu_and_pressure_are_known_and_nothing_is_made_up() -> None:
    files = {name: text for name, text in GROUP.items() if name.partition(".")[2] == "pressure"}
    files["cpu.stat"] = "usage_usec 9000000\nuser_usec 7500000\nsystem_usec 1500000\n"
    found = figures(sample(100, 0, 0, []), sample(110, 1200, 800, lines(files)))
    assert found["run_cpu"] == 9.0
    assert not {"run_memory_peak", "run_read", "run_throttled", "run_oom_kills"} & found.keys()


def test_memory_that_has_no_peak_in_the_kernel_is_that_of_the_largest_sample() -> None:
    """memory.peak is there since Linux 5.19."""
    files = {name: text for name, text in GROUP.items() if name != "memory.peak"}
    levels = [lines({**files, "memory.current": f"{level}\n"}) for level in (10, 4000, 20)]
    samples = [sample(102 + number, 100, 100, one) for number, one in enumerate(levels)]
    found = figures(
        sample(100, 0, 0, []), *samples, sample(110, 1200, 800, [*levels[-1], "memory.events oom 0"])
    )
    assert found["run_memory_peak"] == 4000


def test_the_sampler_reads_a_group_until_it_goes_and_records_what_it_could_not_read(
    started: Started, tmp_path: Path
) -> None:
    group = tmp_path / "group"
    group.mkdir()
    (group / "cpu.stat").write_text("usage_usec 1\nuser_usec 1\nsystem_usec 0\n")
    started.send("begin", str(tmp_path / "telemetry.n1.jsonl"), "60", str(group))
    (group / "cpu.stat").write_text(GROUP["cpu.stat"])
    started.send("end", "run ended")
    (group / "cpu.stat").unlink()
    started.send("begin", str(tmp_path / "telemetry.n2.jsonl"), "60")
    started.send("end")
    first, second = read_hosts(tmp_path)
    assert "run" not in first.samples[0].lines
    assert first.samples[-1].lines["run"][0] == "cpu.stat usage_usec 9000000"
    assert {Path(path).name for path in first.faults} == GROUP.keys() - {"cpu.stat"}
    assert not any("run" in one.lines for one in second.samples)
    assert second.faults == {}


def test_a_group_that_is_gone_after_its_stage_is_no_fault_of_the_next(
    started: Started, tmp_path: Path
) -> None:
    group = tmp_path / "group"
    group.mkdir()
    for name, text in GROUP.items():
        (group / name).write_text(text)
    started.send("begin", str(tmp_path / "telemetry.n1.jsonl"), "60", str(group))
    started.send("mark", "build ended")
    for one in group.iterdir():
        one.unlink()
    started.send("mark", "run")
    started.send("end", "run ended")
    (host,) = read_hosts(tmp_path)
    assert host.faults == {}
    assert [len(one.lines.get("run", [])) for one in host.samples] == [0, *[len(lines())] * 3]


def read_hosts(folder: Path) -> tuple[HostRecording, ...]:
    recording = read(SafeFolder(folder))
    assert recording is not None
    return recording.hosts


class TestRealGroups:
    @pytest.fixture(autouse=True)
    def _can_be_made(self) -> None:
        if control_groups.usable() is None:
            pytest.skip("no control group may be made here: run as root, or by systemd-run --user --scope")

    @pytest.fixture
    def neighbours(self) -> Iterator[None]:
        """One on each core, beside and before the run."""
        burn = [sys.executable, "-c", "while True: pass"]
        burning = [subprocess.Popen(burn) for _ in range(os.cpu_count() or 1)]
        yield
        for one in burning:
            one.kill()
            one.wait()

    def _run(self, folder: Path, command: str) -> Attempt:
        (folder / "study.yaml").write_text(
            "study: own\nworkloads:\n  work:\n"
            f"    command: [{sys.executable}, -c, {command!r}]\n"
            "    foms: [{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}]\n"
            "factors: {workload: [work]}\nrepeats: 1\n"
        )
        argv = [TARE, "run", "study.yaml", "--out", "c", "--no-boost"]
        subprocess.run(argv, cwd=folder, check=True, capture_output=True, timeout=120)
        (attempt,) = read_campaign(folder / "c").measured()
        return attempt

    def test_a_run_is_distinguished_from_its_neighbours(self, neighbours: None, tmp_path: Path) -> None:
        """Its programs' time is theirs alone, a child's in a session of its own included."""
        burn = "import time\nwhile time.process_time() < 0.5: pass\n"
        command = (
            "import subprocess, sys; "
            f"subprocess.run([sys.executable, '-c', {burn!r}], start_new_session=True); "
            f"exec({burn!r}); print('value: 1')"
        )
        took = self._run(tmp_path, command).telemetry
        assert 0.99 <= took["run_cpu"] < 1.9
        assert took["run_cpu"] == pytest.approx(took["run_cpu_user"] + took["run_cpu_system"], abs=0.01)
        assert took["cpu_others"] > 5
        assert took["cpu_others"] < 100

    def test_what_the_kernel_did_not_count_is_named_in_the_evidence(self, tmp_path: Path) -> None:
        attempt = self._run(tmp_path, "print('value: 1')")
        (host,) = read_hosts(tmp_path / "c" / attempt.folder)
        read_files = {line.split()[0] for line in host.samples[-1].lines["run"]}
        missing = {path.rpartition("/")[2] for path in host.faults}
        assert "cpu.stat" in read_files
        assert not read_files & missing
        assert read_files | missing >= GROUP.keys() - {"io.stat"}  # which is empty before the first read


def test_the_report_names_beside_which_runs_others_took_much() -> None:
    campaign = make_campaign(blocks=3)
    took = [0.0, 12.0, 31.0, 9.0, 5.0, 0.0]
    attempts = tuple(
        msgspec.structs.replace(one, elapsed_s=2.0, telemetry={"cpu_system": 1.0, "cpu_others": share})
        for one, share in zip(campaign.attempts, took, strict=True)
    )
    reported = watched_words(msgspec.structs.replace(campaign, attempts=attempts), has_reasons=True)
    assert reported == (
        "Beside 2 of 6 runs other programs took 10 % or more of the time of all cores; most beside "
        f"{attempts[2].folder}: 31 %."
    )
    short = (*attempts[:-2], *(msgspec.structs.replace(one, elapsed_s=0.2) for one in attempts[-2:]))
    reported = watched_words(msgspec.structs.replace(campaign, attempts=short), has_reasons=True)
    assert reported.startswith("Beside 2 of 4 runs of 0.5 s or more other programs took")
    quiet = tuple(msgspec.structs.replace(one, elapsed_s=0.2) for one in attempts)
    assert watched_words(msgspec.structs.replace(campaign, attempts=quiet), has_reasons=True) == ""
