"""`tare verify`: check that a campaign is unchanged since it was written, and since it was signed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tare.core.counting import count
from tare.core.errors import UsageError
from tare.terminal.output import echo, json_option, print_json, print_table

if TYPE_CHECKING:
    from tare.storage.verifying import Discrepancy


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--signers",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file of allowed signers (ssh-keygen(1)): the campaign must be sealed by --signer.",
)
@click.option("--signer", default="", help="Who must have sealed it, as named in the file of --signers.")
@json_option
@click.pass_context
def command(ctx: click.Context, folder: Path, signers: Path | None, signer: str, as_json: bool) -> None:
    """Check the campaign in DIR by its checksums, and by its seal if it has one.

    Every line of the journal has a checksum, and the journal holds the checksums of the evidence of every
    run. Files that were changed, damaged, removed or added since are listed, and the exit code is 1. Data
    written by version 0.1.0 have no checksums, and are counted. Checksums show damage, not forgery, because
    whoever changes a file can change its checksum. A seal also shows forgery; see 'tare seal'.

    \b
    Examples:
      tare verify campaigns/demo
      tare verify theirs --signers allowed_signers --signer ada@example.org
    """
    from tare.core.safe_folder import SafeFolder
    from tare.storage.verifying import seal_faults, verify

    if bool(signers) != bool(signer):
        raise UsageError("--signers and --signer go together: a file of keys, and whose of them it must be")
    found = verify(folder)
    sealed_by, broken = seal_faults(SafeFolder(folder), signers, signer)
    faults = [*found.faults, *broken]
    if as_json:
        body = {**found._asdict(), "faults": [one._asdict() for one in faults], "sealed_by": sealed_by}
        print_json("tare.verify/1", body)
    else:
        _print(faults, found.n_runs, found.n_files, found.n_unlisted, found.n_unsummed, sealed_by)
    if faults:
        ctx.exit(1)


def _print(
    faults: list[Discrepancy], n_runs: int, n_files: int, n_unlisted: int, n_unsummed: int, sealed_by: str
) -> None:
    if faults:
        print_table(("where", "what"), [(one.where, one.what) for one in faults])
        echo()
    as_written = "as they were written" if not faults else f"looked at: {count(len(faults), 'fault')}"
    echo(f"{count(n_runs, 'run')} and {count(n_files, 'file')} of evidence {as_written}")
    if n_unsummed or n_unlisted:
        echo(
            f"no checksum vouches for {count(n_unsummed, 'line')} of the journal and the evidence of "
            f"{count(n_unlisted, 'run')}"
        )
    echo(f"sealed by {sealed_by}" if sealed_by else "not sealed: nobody vouches that it was not forged")
