"""Measure many random campaigns, and print what is claimed of them: ``python -m truth 2000``."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from truth import page
from truth.campaigns import write_campaign
from truth.claimed import asked
from truth.counting import Table
from truth.shapes import of_shapes
from truth.spoken import spoken
from truth.templates import kind_of
from truth.test_agreement import agree
from truth.wild import wild

EVERY = 10
"""Of so many campaigns one is written to a folder, where all outputs are held against each other."""


def measured(n_studies: int, *, first: int = 0, every: int = EVERY, is_shown: bool = False) -> Table:
    """Return the table of `n_studies`; every so many are written, and all their outputs compared."""
    table, began = Table(), time.monotonic()
    for number, seed in enumerate(range(first, first + n_studies), 1):
        add(table, seed, is_written=seed % every == 0)
        if is_shown:
            _show(number, n_studies, time.monotonic() - began)
    return table


def add(table: Table, seed: int, *, is_written: bool) -> None:
    """Measure the study of one seed, and count what is claimed of it."""
    study = wild(np.random.default_rng(seed))
    found = study.measured(seed)
    told = spoken(study, found)
    table.n_sentences += told.n_sentences
    for kind, sentence in told.unknown.items():
        table.unknown.setdefault(kind, f"seed {seed}, {kind.partition(':')[0]}: {sentence}")
    for sentence in told.wrong:
        table.wrong.setdefault(kind_of(sentence), f"seed {seed}: {sentence}")
    groups = (f"{study.truth.blocks:2} blocks", study.noise)
    table.add(seed, study.special, groups, [*asked(study, found), *of_shapes(study, found), *told.asked])
    if is_written and study.rises is None:
        with tempfile.TemporaryDirectory() as folder:
            try:
                agree(write_campaign(found, Path(folder) / "c"))
            except AssertionError as error:
                table.disagreeing[seed] = str(error)
            else:
                table.n_agreeing += 1


def _show(number: int, n_studies: int, seconds: float) -> None:
    width = 40
    done = width * number // n_studies
    left = seconds / number * (n_studies - number)
    bar = "█" * done + "·" * (width - done)
    end = "\n" if number == n_studies else ""
    sys.stderr.write(f"\r{bar} {number}/{n_studies} studies, {left / 60:.0f} min left {end}")
    sys.stderr.flush()


def report(table: Table) -> str:
    """Return the table, and an example of each kind of claim that is false."""
    lines = [str(table), ""]
    for (special, family), count in sorted(table.counts.items()):
        if count.example is not None and not special:
            lines.append(f"seed {count.example[0]}, {family}: {count.example[1][:400]}")
    lines += [f"not in tests/truth/templates.py: {text}" for text in table.unknown.values()]
    lines += [f"not so: {text}" for text in table.wrong.values()]
    lines += [f"seed {seed}: outputs disagree: {text[:300]}" for seed, text in table.disagreeing.items()]
    lines += [f"more is false than promised: {family}" for family in table.too_much]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Print the table, and return 1 where more is false than promised, or what is said is not known."""
    n_studies = int(arguments[0]) if arguments else 2000
    table = measured(n_studies, is_shown=sys.stderr.isatty())
    sys.stdout.write(f"{report(table)}\n")
    if "--page" in arguments:
        page.write(table)
    return int(bool(table.disagreeing or table.unknown or table.wrong or table.too_much))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
