"""`tare reparse`: read the figures of a campaign anew from its outputs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tare.cli.commands.run import most_frequent
from tare.cli.options import OutputPath
from tare.core.attempt import State
from tare.core.counting import count
from tare.terminal.output import echo, json_option, print_json

if TYPE_CHECKING:
    from tare.app.reparsing import Reparsed

_MOST_REASONS = 5


@click.command()
@click.argument("campaign", type=click.Path(path_type=Path), metavar="CAMPAIGN")
@click.argument("study", type=click.Path(path_type=Path), metavar="STUDY")
@click.option(
    "--out",
    required=True,
    type=OutputPath(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder of the new campaign.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, campaign: Path, study: Path, out: Path, as_json: bool) -> None:
    """Read the figures of CAMPAIGN anew from the outputs of its runs, as STUDY says, into a new campaign.

    For a study whose regex, unit or check was wrong: mend it, and nothing need run again. CAMPAIGN stays as
    it is. STUDY must have the same cases and run the same programs; figures, checks, margins, the question
    and the reference may differ. A run that failed, or was invalid for another reason than its output, keeps
    its state. One that is now done is checked for its network and placement as if it had just ended.

    Exits with 1 if a run is not done.

    \b
    Examples:
      tare reparse campaigns/first mended.yaml --out campaigns/mended
      tare reparse campaigns/old campaigns/old --out campaigns/new   the same study, a newer tare
    """
    from tare.app.reparsing import reparse

    with _progress_bar() as on_progress:
        found = reparse(campaign, study, out, on_progress)
    if as_json:
        print_json("tare.reparse/1", _body(campaign, out, found))
    else:
        _print(campaign, out, found)
    if any(one.state is not State.DONE for _, one in found.attempts):
        ctx.exit(1)


@contextmanager
def _progress_bar() -> Iterator[Callable[[int, int], None]]:
    """Yield what shows how many runs were read, on standard error at a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    with click.progressbar(length=1, label="reading", file=sys.stderr, show_pos=True) as bar:

        def show(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        yield show


def _body(campaign: Path, out: Path, found: Reparsed) -> dict[str, object]:
    return {
        "campaign": str(campaign),
        "out": str(out),
        "runs": [
            {
                "case": new.case,
                "block": new.block,
                "attempt": new.attempt,
                "before": old.state,
                "state": new.state,
                "reason": new.reason,
                "folder": new.folder,
            }
            for old, new in found.attempts
        ],
    }


def _print(campaign: Path, out: Path, found: Reparsed) -> None:
    states = Counter((old.state, new.state) for old, new in found.attempts)
    parts = [_change(old, new, n) for (old, new), n in states.most_common()]
    echo(f"{out}: {count(found.n_read, 'run')} of {campaign} read anew: {'; '.join(parts) or 'none'}")
    why = Counter(f"{one.state}: {one.reason}" for _, one in found.attempts if one.state is not State.DONE)
    for line in most_frequent(why, _MOST_REASONS):
        echo(f"  {line}")
    echo("", f"next: tare compare {out}")


def _change(old: State, new: State, n: int) -> str:
    if old is not new:
        return f"{n} {new}, {'was' if n == 1 else 'were'} {old}"
    return f"{n} {new}" if new is State.DONE else f"{n} still {new}"
