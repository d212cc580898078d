"""No source is collected for nothing: each gives figures out of what it alone read on a node."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tare.core.telemetry_sources import drawn_against_time, figures, sources, time_series
from tare.plugins.collectors.sampler.figures import HostCounts, StageCounts, difference, parse
from tare.plugins.collectors.sampler.recording import Sample

Lines = Callable[[str], list[str]]
_NUMBER = re.compile(r"(?<![\w./:-])\d+(?![\w:@-])")


@pytest.fixture
def lines_of(node: Path, tmp_path: Path) -> Lines:
    """Return what comes back of each source from a node that lies here as files, and from a run's group."""
    group = tmp_path / "group"
    group.mkdir()
    files = {
        "cpu.stat": "usage_usec 9000000\nuser_usec 8\nsystem_usec 1\nnr_periods 4\nnr_throttled 1\n",
        "memory.peak": "4096\n",
        "memory.events": "oom_kill 1\n",
        "io.stat": "8:0 rbytes=512 wbytes=1024 rios=1 wios=2 dbytes=0 dios=0\n",
        **{
            f"{kind}.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=9000\n"
            "full avg10=0.00 avg60=0.00 avg300=0.00 total=900\n"
            for kind in ("cpu", "memory", "io")
        },
    }
    for name, text in files.items():
        (group / name).write_text(text)

    def lines_of(name: str) -> list[str]:
        source = sources()[name]
        find = getattr(source, "group_paths", None)
        paths = find(str(group)) if find else source.paths(str(node))
        lines = []
        for path in filter(Path.exists, map(Path, paths)):
            text = path.read_text().splitlines()
            lines += [f"{path} {line}" for line in text] if source.HAS_PATHS else text
        return list(source.shorten(lines))

    return lines_of


def watched(lines: dict[str, list[str]]) -> StageCounts:
    """Return a node that counted all of `lines` in ten seconds, beginning at nothing."""
    last = Sample(at_s=10.0, wall_s=10.0, lines=lines)
    nothing = {name: [_NUMBER.sub("0", line) for line in one] for name, one in lines.items()}
    first = Sample(at_s=0.0, wall_s=0.0, lines=nothing)
    counted = difference(parse(first, lines), parse(last, lines))
    host = HostCounts("n1", True, 10.0, counted, frozenset(), (first, last))
    return StageCounts([host], [host], "eth0")


@pytest.mark.parametrize("name", list(sources()))
def test_what_a_source_reads_becomes_figures_of_its_own(name: str, lines_of: Lines) -> None:
    source = sources()[name]
    everything = {one: lines_of(one) for one in sources()}
    found = {one for one, value in source.figures(watched(everything)).items() if value is not None}
    assert found, f"nothing reads {name}"
    assert found <= source.FIGURES.keys()
    without = watched({one: [] if one == name else lines for one, lines in everything.items()})
    try:
        left = {one for one, value in source.figures(without).items() if value}
    except LookupError:
        left = set()
    assert left < found, f"{name} makes its figures without what it reads"


def test_every_declared_figure_is_computed_by_the_source_that_declares_it(lines_of: Lines) -> None:
    everything = watched({one: lines_of(one) for one in sources()})
    computed = {
        name: {one for one, value in source.figures(everything).items() if value is not None}
        for name, source in sources().items()
    }
    assert {name: source.FIGURES.keys() - computed[name] for name, source in sources().items()} == {
        name: set() for name in sources()
    }
    assert len(figures()) == sum(len(one.FIGURES) for one in sources().values())


def test_what_is_drawn_against_time_has_a_value_in_every_step() -> None:
    reported = {
        name for one in drawn_against_time().values() for name in one.over_time({"cpu.idle": 1.0}, 1.0, None)
    }
    assert reported == time_series().keys()
