"""Print one table: each measured value, the value that it is compared with, and the goal."""

from __future__ import annotations

import argparse

from bench import (
    observer,
    overhead,
    parsing,
    planning,
    profile_cost,
    queue,
    reading,
    report,
    startup,
    stopping,
    telemetry,
    tolerance,
    why,
)

SUITES = {
    "startup": startup.measure,
    "planning": planning.measure,
    "overhead": overhead.measure,
    "stopping": stopping.measure,
    "parsing": parsing.measure,
    "queue": queue.measure,
    "reading": reading.measure,
    "report": report.measure,
    "telemetry": telemetry.measure,
    "observer": observer.measure,
    "profile": profile_cost.measure,
    "why": why.measure,
    "tolerance": tolerance.measure,
}
ALONE = {"observer", "profile", "why", "tolerance"}
"""Suites that take minutes, up to half an hour, and need an otherwise idle machine."""


def main() -> None:
    """Run the suites named on the command line, or all except those in ALONE."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    alone = ", ".join(sorted(ALONE))
    parser.add_argument(
        "suites",
        nargs="*",
        metavar="SUITE",
        help=f"one of {', '.join(SUITES)}; by default all but those that take minutes, up to half an hour, "
        f"and need an otherwise idle machine: {alone}",
    )
    names = parser.parse_args().suites
    if unknown := [name for name in names if name not in SUITES]:
        parser.error(f"no suite is named {unknown[0]!r}; choose from {', '.join(SUITES)}")
    names = names or [name for name in SUITES if name not in ALONE]
    print(f"{'what':58} {'measured':>14} {'against':>14}  goal")
    for name in names:
        for row in SUITES[name]():
            print(f"{row.what:58} {row.measured:>14} {row.against:>14}  {row.goal}", flush=True)


if __name__ == "__main__":
    main()
