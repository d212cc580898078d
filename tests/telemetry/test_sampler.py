"""The program that goes to nodes, really run: it loses nothing, and leaves nothing behind."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.waiting import until
from tare.core.safe_folder import SafeFolder
from tare.core.telemetry import Epoch, Host, Span, end_mark
from tare.plugins.collectors.sampler import raw_name, read
from tare.plugins.collectors.sampler.bundle import program, source_texts
from tare.plugins.collectors.sampler.recording import STORED, store


class Started:
    """A sampler that is up, as a backend talks to it."""

    def __init__(self, text: str, folder: Path) -> None:
        path = folder / "sampler.py"
        path.write_text(text)
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.heard()

    def heard(self) -> dict[str, object]:
        assert self.process.stdout is not None
        response: dict[str, object] = json.loads(self.process.stdout.readline())
        return response

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def send(self, *command: str) -> dict[str, object]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()
        return self.heard()


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    sampler = Started(program(), tmp_path)
    yield sampler
    sampler.end()


def faulty(*sources: tuple[str, str]) -> str:
    """Return the program with further sources."""
    *head, run = program().rpartition("run()\n")[0::2]
    added = "".join(f"add_source({name!r}, {text!r})\n" for name, text in sources)
    return "".join(head) + added + "run()\n" + run


def test_a_recording_has_its_first_and_last_sample_however_short_it_is(
    started: Started, tmp_path: Path
) -> None:
    started.send("begin", str(tmp_path / raw_name("n1")), "60")
    started.send("mark", "solve")
    assert started.send("end")["fault"] == ""
    recording = read(SafeFolder(tmp_path))
    assert recording is not None
    (host,) = recording.hosts
    assert [sample.mark for sample in host.samples] == ["", "solve", ""]
    assert {"cpu", "interfaces", "memory", "tcp"} <= set(host.head.sources)


def test_the_sample_at_the_end_of_a_stage_is_the_last_one(started: Started, tmp_path: Path) -> None:
    started.send("begin", str(tmp_path / raw_name("n1")), "60")
    started.send("mark", end_mark("solve"))
    started.send("end")
    recording = read(SafeFolder(tmp_path))
    assert recording is not None
    assert [sample.mark for sample in recording.hosts[0].samples] == ["", end_mark("solve")]


def test_only_what_changed_is_written_and_all_of_it_is_read_again(started: Started, tmp_path: Path) -> None:
    path = tmp_path / raw_name("n1")
    started.send("begin", str(path), "60")
    started.send("end")
    first, last = (json.loads(line) for line in path.read_text().splitlines()[1:])
    assert "memory" in first["s"]
    assert isinstance(last["s"]["cpu"], dict), "changed lines by number"
    recording = read(SafeFolder(tmp_path))
    assert recording is not None
    before, after = recording.hosts[0].samples
    assert len(after.lines["cpu"]) == len(before.lines["cpu"])
    assert after.lines["memory"][0] == before.lines["memory"][0]


def test_it_samples_at_its_period(started: Started, tmp_path: Path) -> None:
    started.send("begin", str(tmp_path / raw_name("n1")), "0.02")
    while (recording := read(SafeFolder(tmp_path))) is None or len(recording.hosts[0].samples) < 4:
        pass
    started.send("end")


def test_a_source_that_fails_is_recorded_and_the_others_go_on(tmp_path: Path) -> None:
    broken = "HAS_PATHS = False\ndef paths(root):\n    raise PermissionError(13, 'Permission denied')\n"
    later = (
        "HAS_PATHS = False\nn = [0]\ndef paths(root):\n    return ['/proc/stat']\n"
        "def shorten(lines):\n    n[0] += 1\n    return [str(1 / (2 - n[0]))]\n"
    )
    sampler = Started(faulty(("broken", broken), ("later", later), ("syntax", "def")), tmp_path)
    sampler.send("begin", str(tmp_path / raw_name("n1")), "60")
    sampler.send("end")
    sampler.end()
    recording = read(SafeFolder(tmp_path))
    assert recording is not None
    (host,) = recording.hosts
    assert set(host.faults) == {"broken", "later", "syntax"}
    assert "Permission denied" in host.faults["broken"]
    assert "cpu" in host.samples[-1].lines


def test_it_ends_by_itself_when_nobody_is_there_any_more(started: Started, tmp_path: Path) -> None:
    started.send("begin", str(tmp_path / raw_name("n1")), "60")
    assert started.process.stdin is not None
    started.process.stdin.close()
    assert started.process.wait(timeout=30) == 0
    recording = read(SafeFolder(tmp_path))
    assert recording is not None
    assert len(recording.hosts[0].samples) == 2, "the last sample is there"


def test_what_was_written_before_a_kill_is_readable(started: Started, tmp_path: Path) -> None:
    path = tmp_path / raw_name("n1")
    started.send("begin", str(path), "60")
    started.send("mark", "solve")
    started.process.send_signal(signal.SIGKILL)
    started.process.wait(timeout=30)
    with path.open("ab") as file:
        file.write(b'{"t":1.0,"w":')
    recording = read(SafeFolder(tmp_path))
    assert recording is not None
    assert [sample.mark for sample in recording.hosts[0].samples] == ["", "solve"]


def test_a_folder_that_it_cannot_write_to_is_reported(started: Started, tmp_path: Path) -> None:
    response = started.send("begin", str(tmp_path / "no" / "folder.jsonl"), "1")
    assert "No such file" in str(response["fault"])
    assert started.send("begin", str(tmp_path / raw_name("n1")), "1")["fault"] == ""


def test_recordings_are_stored_as_one_compressed_file_and_read_the_same(
    started: Started, tmp_path: Path
) -> None:
    for host in ("n1", "n2"):
        started.send("begin", str(tmp_path / raw_name(host)), "60")
        started.send("end")
    raw = read(SafeFolder(tmp_path))
    span = Span(hosts={"n1": Host(offset_s=0.5, offset_error_s=0.1)}, epochs=(Epoch("run", 1.0, 2.0),))
    stored = store(tmp_path, span)
    assert raw is not None
    assert stored.hosts == raw.hosts
    assert read(SafeFolder(tmp_path)) == stored
    assert stored.span == span
    assert sorted(path.name for path in tmp_path.glob("telemetry*")) == [STORED]
    assert gzip.decompress((tmp_path / STORED).read_bytes()).startswith(b'{"hosts":')


def test_a_recording_that_ends_within_its_first_period_needs_no_file(
    started: Started, tmp_path: Path
) -> None:
    started.send("hold", str(tmp_path / raw_name("n1")), "60")
    started.send("mark", "solve")
    held = str(started.send("end", end_mark("solve"))["held"])
    span = Span(hosts={"n1": Host()}, epochs=(Epoch("run", 1.0, 2.0),))
    stored = store(tmp_path, span, {"n1": held.encode()})
    assert [sample.mark for sample in stored.hosts[0].samples] == ["", "solve", end_mark("solve")]
    assert read(SafeFolder(tmp_path)) == stored
    assert [path.name for path in tmp_path.glob("telemetry*")] == [STORED]


def test_a_held_recording_is_written_as_a_whole_when_its_first_period_is_over(
    started: Started, tmp_path: Path
) -> None:
    path = tmp_path / raw_name("n1")
    started.send("hold", str(path), "0.1")
    started.send("mark", "solve")
    until(path.exists, within_s=30)
    assert started.send("end")["held"] == ""
    recording = read(SafeFolder(tmp_path))
    assert recording is not None
    assert [sample.mark for sample in recording.hosts[0].samples][:2] == ["", "solve"]
    assert len(recording.hosts[0].samples) >= 4


def test_a_held_recording_that_nobody_asks_for_is_written(started: Started, tmp_path: Path) -> None:
    started.send("hold", str(tmp_path / raw_name("n1")), "60")
    assert started.process.stdin is not None
    started.process.stdin.close()
    assert started.process.wait(timeout=30) == 0
    recording = read(SafeFolder(tmp_path))
    assert recording is not None
    assert len(recording.hosts[0].samples) == 2


def test_a_file_of_two_sources_is_opened_once(started: Started, tmp_path: Path) -> None:
    started.send("begin", str(tmp_path / raw_name("n1")), "60")
    files = [str(one.readlink()) for one in Path(f"/proc/{started.process.pid}/fd").iterdir()]
    assert files.count("/proc/stat") == 1
    started.send("end")
    recording = read(SafeFolder(tmp_path))
    assert recording is not None
    assert {"cores", "cpu"} <= recording.hosts[0].samples[0].lines.keys()


def test_each_source_is_one_file() -> None:
    assert {"cpu", "memory", "interfaces", "tcp", "infiniband", "disk", "nfs", "lustre"} <= set(
        source_texts()
    )
