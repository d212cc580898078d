"""Pictures: painted here or beside, they are the same; and who paints ends with whom it paints for."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import pytest

from tare.report.charts import scripts
from tare.report.charts.painting import Painter, Picture, parallel_painter
from tare.report.charts.scripts import chart_scripts

SPEC = """{
  "data": {"values": [{"x": 1, "y": 2}, {"x": 3, "y": 1}]},
  "mark": "line",
  "encoding": {"x": {"field": "x", "type": "quantitative"}, "y": {"field": "y", "type": "quantitative"}}
}"""


def test_a_picture_comes_in_three_forms(here: Picture) -> None:
    assert here.svg.startswith("<svg")
    assert here.png.startswith(b"\x89PNG")
    assert here.pdf.startswith(b"%PDF")


@pytest.fixture(scope="module")
def here() -> Picture:
    return Painter().paint(SPEC, 1.0)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU paints here")
def test_a_picture_of_another_process_is_the_same(here: Picture) -> None:
    with parallel_painter() as painter:
        picture = painter.paint(SPEC, 1.0)
        assert (picture.svg, picture.png) == (here.svg, here.png)
        assert picture.pdf.startswith(b"%PDF")


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU paints here")
def test_a_painter_that_dies_costs_time_and_no_picture(here: Picture) -> None:
    with parallel_painter() as painter:
        for pid in children():
            os.kill(pid, signal.SIGKILL)
        picture = painter.paint(SPEC, 1.0)
        assert (picture.svg, picture.png) == (here.svg, here.png)


def test_scripts_are_bundled_once_for_a_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(scripts, "_bundle", lambda: "bundled")
    assert fresh_scripts() == "bundled"
    monkeypatch.setattr(scripts, "_bundle", lambda: pytest.fail("bundled again"))
    assert fresh_scripts() == "bundled"
    (kept,) = (tmp_path / "tare").iterdir()
    assert kept.stat().st_mode & 0o077 == 0


def test_a_cache_that_cannot_be_written_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tare").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(scripts, "_bundle", lambda: "bundled")
    assert fresh_scripts() == "bundled"


def fresh_scripts() -> str:
    """Return the scripts as another process would find them."""
    return chart_scripts.__wrapped__()


def children() -> list[int]:
    """Return the processes that paint for this one."""
    tasks = Path("/proc/self/task").glob("*/children")
    pids = [int(pid) for task in tasks for pid in task.read_text().split()]
    return [pid for pid in pids if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_nothing_is_left_running_when_painting_ends() -> None:
    with parallel_painter() as painter:
        assert painter.paint(SPEC, 1.0).svg
    assert children() == []


def test_an_interrupt_ends_what_is_being_painted() -> None:
    with contextlib.suppress(KeyboardInterrupt), parallel_painter() as painter:
        painter.paint(SPEC, 1.0)
        raise KeyboardInterrupt
    assert children() == []
