"""The sampler on nodes where something fails: full disks, kills, sources that come and go, unusual paths."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tare.core.safe_folder import SafeFolder
from tare.core.telemetry import Epoch, Host, Span
from tare.plugins.collectors.sampler import raw_name, read, settle
from tare.plugins.collectors.sampler.bundle import program
from tare.plugins.collectors.sampler.recording import STORED, HostRecording, store
from tare.plugins.collectors.sampler.sources import cores
from telemetry.test_sampler import Started, faulty

SPAN = Span(hosts={"n1": Host(offset_s=0.0, offset_error_s=0.001)}, epochs=(Epoch("run", 1.0, 2.0),))
HEAD = {"sampler": 1, "node": "n1", "period_s": 1.0, "machine": "m"}
FLAKY = """
HAS_PATHS = False
n = [0]
def paths(root):
    return ['/proc/stat']
def shorten(lines):
    n[0] += 1
    if n[0] == 2:
        raise ValueError('garbage')
    return ['reading {}'.format(n[0])]
"""
HALF = """
HAS_PATHS = True
def paths(root):
    return ['/proc', '/proc/uptime', '/none']
def shorten(lines):
    return lines
"""


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    sampler = Started(program(), tmp_path)
    yield sampler
    sampler.end()


def _recorded(folder: Path) -> HostRecording:
    recording = read(SafeFolder(folder))
    assert recording is not None
    return recording.hosts[0]


def _write(path: Path, *lines: dict[str, object]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _line(at_s: float, **more: object) -> dict[str, object]:
    return {"t": at_s, "w": at_s, "s": {"memory": [f"MemTotal: {at_s:.0f} kB"]}, **more}


def test_a_disk_that_fills_up_between_two_commands_is_reported_at_the_next(
    started: Started, tmp_path: Path
) -> None:
    path = tmp_path / raw_name("n1")
    started.send("begin", str(path), "0.01")
    most = path.stat().st_size + 2000
    resource.prlimit(started.process.pid, resource.RLIMIT_FSIZE, (most, most))
    while path.stat().st_size < most:
        pass
    assert "too large" in str(started.send("mark", "solve")["fault"])
    assert "too large" in str(started.send("end")["fault"])
    assert _recorded(tmp_path).samples, "up to what there was room for"
    assert path not in [fd.readlink() for fd in Path(f"/proc/{started.process.pid}/fd").iterdir()]


def test_a_source_that_failed_once_is_read_again(tmp_path: Path) -> None:
    sampler = Started(faulty(("flaky", FLAKY)), tmp_path)
    sampler.send("begin", str(tmp_path / raw_name("n1")), "60")
    for mark in ("a", "b", "c"):
        sampler.send("mark", mark)
    sampler.end()
    host = _recorded(tmp_path)
    reported = [sample.lines.get("flaky") for sample in host.samples]
    assert reported == [["reading 1"], None, ["reading 3"], ["reading 4"]]
    assert host.faults == {"flaky": "ValueError: garbage"}


def test_files_of_a_source_that_cannot_be_read_leave_it_the_others(tmp_path: Path) -> None:
    sampler = Started(faulty(("half", HALF)), tmp_path)
    sampler.send("begin", str(tmp_path / raw_name("n1")), "60")
    sampler.end()
    host = _recorded(tmp_path)
    assert [line.split()[0] for line in host.samples[0].lines["half"]] == ["/proc/uptime"]
    assert set(host.faults) == {"/proc", "/none"}


def test_the_records_of_a_source_before_it_failed_do_not_count_as_current_ones(tmp_path: Path) -> None:
    _write(tmp_path / raw_name("n1"), HEAD, _line(1), {"t": 2, "w": 2, "s": {}, "faults": {"memory": "gone"}})
    assert [sample.lines.keys() for sample in _recorded(tmp_path).samples] == [{"memory"}, set()]


def test_a_sampler_takes_any_path_in_any_locale(tmp_path: Path) -> None:
    """In the C locale Python 3.6 encodes paths in ASCII, as later ones do without their UTF-8 mode."""
    folder = tmp_path / "jörg"
    folder.mkdir()
    (tmp_path / "sampler.py").write_text(program())
    commands = [["begin", str(folder / raw_name("n1")), "60"], ["end"]]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "utf8=0", str(tmp_path / "sampler.py")],
        input="".join(json.dumps(command) + "\n" for command in commands).encode(),
        env={"LC_ALL": "C"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert len(_recorded(folder).samples) == 2


@pytest.mark.parametrize("text", ["", '{"sampler":1,"no', '{"sampler":"one"}\n'])
def test_a_host_that_came_to_nothing_hides_no_other(tmp_path: Path, text: str) -> None:
    (tmp_path / raw_name("n0")).write_text(text)
    _write(tmp_path / raw_name("n1"), HEAD, _line(1), _line(2))
    assert len(_recorded(tmp_path).samples) == 2
    assert settle(tmp_path, SPAN) == {}, "of memory alone nothing is told here"
    assert len(_recorded(tmp_path).samples) == 2, "when it is stored, too"


def test_a_recording_is_read_up_to_where_it_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / raw_name("n1")
    _write(path, HEAD, _line(1), _line(2))
    with path.open("ab") as file:  # what file systems make of a node that lost its power
        file.write(b"\0" * 512 + b'\n{"t":3,"w":3,"s":{"memory":["MemTotal: 3 kB"]}}\n')
    assert [sample.at_s for sample in _recorded(tmp_path).samples] == [1, 2]
    assert [sample.at_s for sample in store(tmp_path, SPAN).hosts[0].samples] == [1, 2]


def test_storing_that_is_interrupted_loses_nothing(tmp_path: Path) -> None:
    _write(tmp_path / raw_name("n1"), HEAD, *(_line(number) for number in range(1, 40)))
    script = (
        "import resource, sys\nfrom pathlib import Path\n"
        "from tare.plugins.collectors.sampler.recording import store\nfrom tare.core.telemetry import Span\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "store(Path(sys.argv[1]), Span(hosts={}, epochs=()))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, check=False)
    assert done.returncode != 0
    assert len(_recorded(tmp_path).samples) == 39
    assert len(store(tmp_path, SPAN).hosts[0].samples) == 39, "and it can be stored again"
    assert [path.name for path in tmp_path.iterdir()] == [STORED]


def _samples_with(source: str, text: str, tmp_path: Path) -> tuple[list[bool], int, int]:
    """Watch every 10 ms with a further source.

    Return whether it is in the first sample and in a marked one, in how many it is, and how many there are.
    """
    sampler = Started(faulty((source, text)), tmp_path)
    path = tmp_path / raw_name("n1")
    sampler.send("begin", str(path), "0.01")
    while path.read_bytes().count(b"\n") < 12:
        pass
    sampler.send("mark", "a")
    sampler.send("end")
    sampler.end()
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    marked = next(line for line in lines if line.get("mark"))
    return (
        [source in line["s"] for line in (lines[0], marked)],
        sum(source in line["s"] for line in lines),
        len(lines),
    )


def test_what_costs_much_to_read_waits_but_is_there_at_the_begin_and_at_the_end(tmp_path: Path) -> None:
    costly = (
        "import time\nHAS_PATHS = False\ndef paths(root):\n    return ['/proc/uptime']\n"
        "def shorten(lines):\n    end = time.process_time() + 0.03\n"
        "    while time.process_time() < end:\n        pass\n    return lines\n"
    )
    at_commands, n_with, n_samples = _samples_with("costly", costly, tmp_path)
    assert at_commands == [True, True]
    assert n_with < n_samples / 2


def test_a_source_pauses_for_its_own_pause(tmp_path: Path) -> None:
    pausing = (
        "HAS_PATHS = False\ndef paths(root):\n    return ['/proc/uptime']\n"
        "def shorten(lines):\n    return lines\ndef pause_s(lines):\n    return 3600.0\n"
    )
    at_commands, n_with, n_samples = _samples_with("pausing", pausing, tmp_path)
    assert at_commands == [True, True]
    assert n_with <= 3 < n_samples


def test_single_cores_are_in_every_sample_unless_they_are_very_many() -> None:
    def pause_s(n_cores: int) -> float:
        return cores.pause_s([f"cpu{core} 1 2 3 4" for core in range(n_cores)])

    assert [pause_s(n_cores) for n_cores in (1, 128, 256, 1024)] == [0.0, 0.0, 2.0, 8.0]


def test_single_cores_are_recorded_as_often_as_all_together(started: Started, tmp_path: Path) -> None:
    path = tmp_path / raw_name("n1")
    started.send("begin", str(path), "0.1")
    while path.read_bytes().count(b"\n") < 6:
        pass
    started.send("end")
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    assert all("cores" in line["s"] for line in lines[:-1]), "the last may be within a tick of the one before"
    assert len(_recorded(tmp_path).samples[0].lines["cores"]) == os.cpu_count()
