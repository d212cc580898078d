"""Draw charts as pictures for paper and slides: Vega-Lite makes SVG, from which PNG and PDF are made."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Protocol

from tare.report.charts.scripts import VEGALITE, chart_scripts

_LONG_DECIMALS = re.compile(r"(\d\.\d\d)\d+")
_SMALLEST = '{"mark": "point", "data": {"values": [{}]}}'
_LEAST_CPUS = 2


class Picture(Protocol):
    """One figure in the file formats for use outside the page."""

    @property
    def svg(self) -> str:
        """Return the figure as SVG."""

    @property
    def png(self) -> bytes:
        """Return the figure as PNG."""

    @property
    def pdf(self) -> bytes:
        """Return the figure as PDF."""


class Painter(Protocol):
    """An object that draws pictures of charts, and gives the scripts for live charts."""

    def scripts(self) -> str:
        """Return the scripts that draw charts in a browser."""

    def paint(self, spec: str, scale: float) -> Picture:
        """Return the picture of a Vega-Lite `spec`; its PNG has `scale` pixels for each unit."""


class Here:
    """A painter that works in this process; it makes each format only when it is used."""

    def scripts(self) -> str:
        """Return the scripts that draw charts in a browser."""
        return chart_scripts()

    def paint(self, spec: str, scale: float) -> Picture:
        """Return the picture of a Vega-Lite `spec`; its PNG has `scale` pixels for each unit."""
        return _Later(spec, scale)


class Beside:
    """A painter that works in two other processes.

    Threads would not run in parallel, because vl-convert holds Python's lock. One process turns charts into
    SVG, the other SVG into PNG and PDF. The thread `between` passes the SVG on.
    """

    def __init__(
        self, charts: ProcessPoolExecutor, paper: ProcessPoolExecutor, between: ThreadPoolExecutor
    ) -> None:
        self._charts, self._paper, self._between = charts, paper, between
        self._charts.submit(to_svg, _SMALLEST)  # start Vega before the first chart: it takes half a second
        self._scripts = self._paper.submit(chart_scripts)

    def scripts(self) -> str:
        """Return the scripts that draw charts in a browser."""
        try:
            return self._scripts.result()
        except BrokenExecutor:
            return chart_scripts()

    def paint(self, spec: str, scale: float) -> Picture:
        """Return the picture of a Vega-Lite `spec`; its PNG has `scale` pixels for each unit."""
        svg = self._charts.submit(to_svg, spec)
        paper = self._between.submit(lambda: self._paper.submit(to_paper, svg.result(), scale).result())
        return _Coming(_Later(spec, scale), svg, paper)


@contextlib.contextmanager
def painter_beside() -> Iterator[Painter]:
    """Yield a painter that works in parallel to this process, if there are at least two CPUs."""
    if len(os.sched_getaffinity(0)) < _LEAST_CPUS:
        yield Here()
        return
    spawn = multiprocessing.get_context("spawn")  # a fork would copy locks that other threads hold
    charts, paper = (ProcessPoolExecutor(1, mp_context=spawn, initializer=_begin) for _ in range(2))
    with ThreadPoolExecutor(1) as between:
        try:
            yield Beside(charts, paper, between)
        finally:
            for pool in (
                charts,
                paper,
            ):  # wait for them: Python 3.11 may close its pipes twice if it ends before they do
                pool.shutdown(cancel_futures=True)


class _Later:
    """A picture whose formats are each made on first use."""

    def __init__(self, spec: str, scale: float) -> None:
        self._spec, self._scale = spec, scale

    @functools.cached_property
    def svg(self) -> str:
        return to_svg(self._spec)

    @functools.cached_property
    def png(self) -> bytes:
        return self._paper[0]

    @functools.cached_property
    def pdf(self) -> bytes:
        return self._paper[1]

    @functools.cached_property
    def _paper(self) -> tuple[bytes, bytes]:
        return to_paper(self.svg, self._scale)


class _Coming:
    """A picture that another process makes; if that process dies, this process makes it."""

    def __init__(self, here: Picture, svg: Future[str], paper: Future[tuple[bytes, bytes]]) -> None:
        self._here, self._svg, self._paper = here, svg, paper

    @property
    def svg(self) -> str:
        try:
            return self._svg.result()
        except BrokenExecutor:
            return self._here.svg

    @property
    def png(self) -> bytes:
        try:
            return self._paper.result()[0]
        except BrokenExecutor:
            return self._here.png

    @property
    def pdf(self) -> bytes:
        try:
            return self._paper.result()[1]
        except BrokenExecutor:
            return self._here.pdf


def to_svg(spec: str) -> str:
    """Return a Vega-Lite `spec` as SVG, with at most two decimals, since a printer cannot resolve more."""
    import vl_convert

    return _LONG_DECIMALS.sub(r"\1", vl_convert.vegalite_to_svg(spec, vl_version=VEGALITE))


def to_paper(svg: str, scale: float) -> tuple[bytes, bytes]:
    """Return an SVG as PNG, with `scale` pixels for each unit, and as PDF."""
    import vl_convert

    return vl_convert.svg_to_png(svg, scale=scale), vl_convert.svg_to_pdf(svg)


def _begin() -> None:
    """Ignore interrupts, which the parent process handles, and end when the parent ends for any reason."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
