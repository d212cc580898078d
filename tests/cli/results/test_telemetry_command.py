from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from cli.conftest import Tare
from live.conftest import running
from live.test_openmetrics import query
from support.synthetic import make_campaign
from support.waiting import until
from tare.cli.commands.telemetry import command
from tare.core.attempt import Attempt
from tare.core.safe_folder import SafeFolder
from tare.live.server import listen
from tare.storage.campaign import freeze, open_journal, read_campaign
from tare.storage.journal import AttemptBegan, AttemptEnded
from tare.storage.telemetry import read_imported

SADF = """{"sysstat": {"hosts": [{"nodename": "n1", "statistics": [%s]}]}}"""
STATISTIC = (
    '{"timestamp": {"date": "2026-11-21", "time": "12:00:%02d", "utc": 1, "interval": 1},'
    ' "cpu-load": [{"cpu": "all", "user": %d, "nice": 0, "system": 5, "iowait": 0, "steal": 0, "idle": 90}]}'
)
NOON = 1795262400.0


def write_campaign(folder: Path, began_at: float) -> list[Attempt]:
    """Write a campaign of two runs of three seconds, ten seconds apart."""
    campaign = make_campaign(blocks=2)
    attempts = [
        msgspec.structs.replace(one, started_at=began_at + 10 * number, elapsed_s=3.0, hosts=["n1"])
        for number, one in enumerate(campaign.attempts[:2])
    ]
    freeze(folder, campaign.plan, {})
    with open_journal(folder) as journal:
        for one in attempts:
            journal.append(AttemptBegan(one.case, one.block, one.attempt, began_at))
            journal.append(AttemptEnded(one))
    return attempts


def test_statistics_of_a_site_are_cut_to_the_runs(tare_here: Tare, tmp_path: Path) -> None:
    first, second = write_campaign(tmp_path / "c", NOON)
    (tmp_path / "n1.json").write_text(SADF % ",".join(STATISTIC % (s, s) for s in range(1, 13)))
    done = tare_here("telemetry", "import", tmp_path / "c", tmp_path / "n1.json", "--host", "node1", "--json")
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    assert (body["n_readings"], body["n_runs"], body["n_points"]) == (12, 2, 5)
    (track,) = read_imported(SafeFolder(tmp_path / "c" / first.folder)).tracks
    assert (track.host, track.at) == ("node1", (NOON + 1, NOON + 2, NOON + 3))
    assert track.values["cpu_user"] == (1.0, 2.0, 3.0)
    (track,) = read_imported(SafeFolder(tmp_path / "c" / second.folder)).tracks
    assert track.values["cpu_user"] == (11.0, 12.0)


def test_each_run_is_shown_with_what_it_took_and_what_others_took(tare_here: Tare, tmp_path: Path) -> None:
    campaign = make_campaign(blocks=2)
    took = [{"run_cpu": 2.5, "cpu_others": 31.0, "run_memory_peak": 3e6}, {"run_cpu": 4.0, "cpu_others": 0.0}]
    freeze(tmp_path / "c", campaign.plan, {})
    runs = [
        msgspec.structs.replace(one, telemetry=found)
        for one, found in zip(campaign.attempts, [*took, {"cpu_system": 1.0}], strict=False)
    ]
    with open_journal(tmp_path / "c") as journal:
        for one in runs:
            journal.append(AttemptBegan(one.case, one.block, one.attempt, NOON))
            journal.append(AttemptEnded(one))
    head, *rows, left_out = tare_here("telemetry", "show", "c").stdout.splitlines()
    assert head.split("  ")[0] == "run"
    assert "throttled" not in head
    assert [row.split() for row in rows] == [
        [runs[0].folder.removeprefix("attempts/"), "2.50", "s", "31.0", "%", "3.00", "MB"],
        [runs[1].folder.removeprefix("attempts/"), "4.00", "s", "0", "%"],
    ]
    assert left_out.startswith("Left out: 1 of 3 runs, ")
    told = json.loads(tare_here("telemetry", "show", "c", "--json").stdout)
    assert told["runs"] == [{"attempt": one.folder, **one.telemetry} for one in runs[:2]]


def test_importing_twice_changes_nothing(tare_here: Tare, tmp_path: Path) -> None:
    first, _ = write_campaign(tmp_path / "c", NOON)
    (tmp_path / "n1.json").write_text(SADF % (STATISTIC % (2, 2)))
    tare_here("telemetry", "import", tmp_path / "c", tmp_path / "n1.json")
    once = read_imported(SafeFolder(tmp_path / "c" / first.folder))
    tare_here("telemetry", "import", tmp_path / "c", tmp_path / "n1.json")
    assert read_imported(SafeFolder(tmp_path / "c" / first.folder)) == once
    assert once.tracks


@pytest.mark.parametrize(
    ("name", "host"), [("n1.hpc.example", "n1"), ("n1", "n1"), ("n2.hpc.example", "n2.hpc.example")]
)
def test_a_host_is_known_with_its_domain_and_without(tmp_path: Path, name: str, host: str) -> None:
    first, _ = write_campaign(tmp_path / "c", NOON)
    (tmp_path / "n1.json").write_text((SADF % (STATISTIC % (2, 2))).replace('"n1"', f'"{name}"'))
    done = CliRunner().invoke(command, ["import", str(tmp_path / "c"), str(tmp_path / "n1.json")])
    assert done.exit_code == 0, done.output
    (track,) = read_imported(SafeFolder(tmp_path / "c" / first.folder)).tracks
    assert track.host == host


def test_a_host_that_no_run_had_is_reported_and_does_not_count_beside_those_that_had(
    tare_here: Tare, tmp_path: Path
) -> None:
    first, _ = write_campaign(tmp_path / "c", NOON)
    for name, user in (("n1", 2), ("store", 80)):
        (tmp_path / "n1.json").write_text((SADF % (STATISTIC % (2, user))).replace('"n1"', f'"{name}"'))
        done = tare_here("telemetry", "import", "c", "n1.json")
        assert ("No run had a host of the name store; --host" in done.stdout) == (name == "store")
    (imported,) = (one.imported for one in read_campaign(tmp_path / "c").attempts if one.case == first.case)
    assert imported["cpu_user"] == 2.0


def test_what_was_imported_is_a_figure_like_any_other(tare_here: Tare, tmp_path: Path) -> None:
    first, second = write_campaign(tmp_path / "c", NOON)
    (tmp_path / "n1.json").write_text(SADF % ",".join(STATISTIC % (s, s) for s in range(1, 13)))
    assert tare_here("telemetry", "import", tmp_path / "c", tmp_path / "n1.json").returncode == 0
    found = {(one.case, one.block): one.imported for one in read_campaign(tmp_path / "c").attempts}
    assert found[first.case, first.block]["cpu_user"] == 2.0  # of 1, 2 and 3
    assert found[second.case, second.block]["cpu_user"] == 11.5
    rows = tare_here("export", tmp_path / "c").stdout.splitlines()
    assert [row.rpartition("telemetry.")[2] for row in rows if "imported.cpu_user" in row] == [
        "imported.cpu_user,%,,2.0",
        "imported.cpu_user,%,,11.5",
    ]
    rule = "value(telemetry.imported.cpu_user) > 1 %"
    assert "undecided" in tare_here("check", tmp_path / "c", "--fail-if", rule).stdout  # of one run each


def test_a_file_that_is_no_statistics_is_refused_with_the_cure(tare_here: Tare, tmp_path: Path) -> None:
    write_campaign(tmp_path / "c", NOON)
    (tmp_path / "x").write_text("hello")
    done = tare_here("telemetry", "import", tmp_path / "c", tmp_path / "x")
    assert done.returncode == 2
    assert "sadf -j" in done.stderr


def test_statistics_as_sadc_keeps_them_are_refused_without_reading_them(
    tare_here: Tare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sparse file of 1 GiB took twice its size in memory."""
    write_campaign(tmp_path / "c", 1.6e9)
    (tmp_path / "sa01").write_bytes(b"\x96\xd5\x75\x21" + bytes(60))
    monkeypatch.setattr("tare.cli.commands.telemetry.read_given", None)
    done = tare_here("telemetry", "import", tmp_path / "c", tmp_path / "sa01")
    assert done.returncode == 2
    assert "sa01: it is no text; make it with: sadf -j FILE" in done.stderr


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[str]:
    """Run a real Prometheus that watches a server of ours, as a site's watches its nodes."""
    (tmp_path / "none").mkdir()
    listener = listen("127.0.0.1", 0)
    port = listener.access.port
    listener.socket.close()
    with running(tmp_path / "none") as (_, url):
        (tmp_path / "p.yml").write_text(
            "global: {scrape_interval: 1s}\nscrape_configs:\n"
            f"  - {{job_name: node, static_configs: [{{targets: ['{url.removeprefix('http://')}']}}]}}\n"
        )
        command = [
            "prometheus",
            f"--config.file={tmp_path}/p.yml",
            f"--storage.tsdb.path={tmp_path}/tsdb",
            f"--web.listen-address=127.0.0.1:{port}",
        ]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(20)


@pytest.mark.skipif(
    shutil.which("prometheus") is None, reason="no prometheus here; on Debian: apt install prometheus"
)
def test_series_of_a_sites_prometheus_are_cut_to_the_runs(
    tare_here: Tare, tmp_path: Path, prometheus: str
) -> None:
    until(lambda: query(prometheus, 'count_over_time(up{job="node"}[10s]) >= 4'), within_s=30)
    (first, _) = write_campaign(tmp_path / "c", time.time() - 4)
    queries = ("--query", 'answers=up{job="node"}', "--query", 'twice=2*up{job="node"}')
    done = tare_here("telemetry", "import", tmp_path / "c", prometheus, *queries)
    assert done.returncode == 0, done.stderr
    (track,) = read_imported(SafeFolder(tmp_path / "c" / first.folder)).tracks
    assert track.host == "127.0.0.1"
    assert set(track.values["answers"]) == {1.0}
    assert set(track.values["twice"]) == {2.0}
    assert first.started_at is not None
    assert all(first.started_at <= at <= first.started_at + 4 for at in track.at)
    refused = tare_here("telemetry", "import", tmp_path / "c", prometheus, "--query", "x=sum(")
    assert refused.returncode == 2
    assert "parse error" in refused.stderr
