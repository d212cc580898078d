"""Draw charts as pictures for paper and slides: Vega-Lite makes SVG, from which PNG and PDF are made."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import TypeVar

from tare.report.charts.scripts import VEGALITE, chart_scripts

_LONG_DECIMALS = re.compile(r"(\d\.\d\d)\d+")
_SMALLEST = '{"mark": "point", "data": {"values": [{}]}}'
_LEAST_CPUS = 2
_T = TypeVar("_T")


class Picture:
    """One figure in the file formats for use outside the page; each is made when it is first used."""

    def __init__(self, svg: Callable[[], str], paper: Callable[[], tuple[bytes, bytes]]) -> None:
        self._svg, self._paper = svg, functools.cache(paper)

    @functools.cached_property
    def svg(self) -> str:
        """Return the figure as SVG."""
        return self._svg()

    @property
    def png(self) -> bytes:
        """Return the figure as PNG."""
        return self._paper()[0]

    @property
    def pdf(self) -> bytes:
        """Return the figure as PDF."""
        return self._paper()[1]


class Painter:
    """An object that draws pictures of charts in this process, and gives the scripts for live charts."""

    def scripts(self) -> str:
        """Return the scripts that draw charts in a browser."""
        return chart_scripts()

    def paint(self, spec: str, scale: float) -> Picture:
        """Return the picture of a Vega-Lite `spec`; its PNG has `scale` pixels for each unit."""
        svg = functools.cache(lambda: to_svg(spec))
        return Picture(svg, lambda: to_paper(svg(), scale))


class ParallelPainter(Painter):
    """A painter that works in two other processes; if one dies, this process does its work.

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
        return _result(self._scripts, super().scripts)

    def paint(self, spec: str, scale: float) -> Picture:
        """Return the picture of a Vega-Lite `spec`; its PNG has `scale` pixels for each unit."""
        here = super().paint(spec, scale)
        svg = self._charts.submit(to_svg, spec)
        paper = self._between.submit(lambda: self._paper.submit(to_paper, svg.result(), scale).result())
        return Picture(
            lambda: _result(svg, lambda: here.svg), lambda: _result(paper, lambda: (here.png, here.pdf))
        )


def _result(future: Future[_T], otherwise: Callable[[], _T]) -> _T:
    """Return the result of another process, or if that has died, the result of `otherwise`."""
    try:
        return future.result()
    except BrokenExecutor:
        return otherwise()


@contextlib.contextmanager
def parallel_painter() -> Iterator[Painter]:
    """Yield a painter that works in parallel to this process, if there are at least two CPUs."""
    if len(os.sched_getaffinity(0)) < _LEAST_CPUS:
        yield Painter()
        return
    spawn = multiprocessing.get_context("spawn")  # a fork would copy locks that other threads hold
    charts, paper = (ProcessPoolExecutor(1, mp_context=spawn, initializer=_begin) for _ in range(2))
    with ThreadPoolExecutor(1) as between:
        try:
            yield ParallelPainter(charts, paper, between)
        finally:
            # Wait for them: Python 3.11 may close its pipes twice if it ends before they do.
            for pool in (charts, paper):
                pool.shutdown(cancel_futures=True)


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
