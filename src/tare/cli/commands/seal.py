"""`tare seal`: sign a campaign, so that others can verify that it is unchanged."""

from __future__ import annotations

from pathlib import Path

import click

from tare.core.errors import UsageError
from tare.terminal.output import echo, json_option, print_json


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--key",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    required=True,
    help="An SSH key, such as ~/.ssh/id_ed25519; for a key in ssh-agent, its .pub file.",
)
@json_option
def command(folder: Path, key: Path, as_json: bool) -> None:
    """Sign the campaign in DIR with an SSH key (ssh-keygen -Y sign).

    SHA256SUMS lists the checksums of its files, and SHA256SUMS.sig is the signature. The journal holds
    the checksums of all evidence, so the signature covers them too. A campaign that was changed is not
    signed. Others check the signature with 'tare verify DIR --signers FILE --signer NAME'.

    \b
    Example:
      tare seal campaigns/demo --key ~/.ssh/id_ed25519
    """
    from tare.storage.journal import is_held
    from tare.storage.sealing import seal
    from tare.storage.verifying import verify

    if is_held(folder / "journal.jsonl"):
        raise UsageError(f"{folder}: it is running; seal it when it has ended")
    faults = verify(folder).faults
    if faults:
        first = f"{faults[0].where}: {faults[0].what}"
        raise UsageError(f"{folder}: not as it was written: {first}; 'tare verify {folder}' lists all")
    signer = seal(folder, key)
    if as_json:
        print_json("tare.seal/1", {"folder": str(folder), "sealed_by": signer})
    else:
        echo(f"{folder}: sealed by {signer}")
