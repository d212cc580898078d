"""Sign a campaign, and check its signature, with OpenSSH's signatures (ssh-keygen(1), -Y).

The signed text is a list of checksums (sha256sum(1)) of the plan, the journal, the study, the site and the
facts of nodes. The journal in turn holds the checksums of all evidence.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from pathlib import Path

from tare.core.errors import CampaignError, UsageError
from tare.core.safe_folder import SafeFolder
from tare.storage.campaign import ENVIRONMENTS

SEAL = "SHA256SUMS"
SIGNATURE = "SHA256SUMS.sig"
_NAMESPACE = "tare"
_UPPERMOST = (
    "journal.jsonl",
    "plan.json",
    "reparse.json",
    "site.yaml",
    "study.yaml",
    "telemetry.imported.json",
)
_MOST_BYTES = 1024 * 1024


def seal(folder: Path, key: Path) -> str:
    """Write the seal of the campaign in `folder`, signed with an SSH `key`; return who signed it.

    The key may be held by ssh-agent(1), with only the public part in a file. Raises UsageError where it
    cannot sign, CampaignError where the seal cannot be written.
    """
    root = SafeFolder(folder)
    text = _listed(root)
    with tempfile.TemporaryDirectory() as draft:
        path = Path(draft, SEAL)
        path.write_bytes(text)
        _call("-Y", "sign", "-f", str(key), "-n", _NAMESPACE, str(path), cure=f"{key}: cannot sign")
        signature = path.with_name(SIGNATURE).read_bytes()
    with CampaignError.for_files(folder):
        (root / SEAL).replace(text)
        (root / SIGNATURE).replace(signature)
    return signer_of(root)


def is_sealed(root: SafeFolder) -> bool:
    """Return whether the campaign has a seal, valid or not."""
    return (root / SEAL).exists() or (root / SIGNATURE).exists()


def signer_of(root: SafeFolder, signers: Path | None = None, signer: str = "") -> str:
    """Return who signed the seal: `signer` if one of the keys that `signers` allow did, else the key.

    `signers` is a file of allowed signers (ssh-keygen(1)). Raises CampaignError where the signature is not of
    this seal, or not of `signer`.
    """
    try:
        text, signature = (root / SEAL).read(_MOST_BYTES), (root / SIGNATURE).read(_MOST_BYTES)
    except OSError as error:
        raise CampaignError(f"{error.filename}: cannot read: {error.strerror}") from error
    with tempfile.TemporaryDirectory() as draft:
        path = Path(draft, SIGNATURE)
        path.write_bytes(signature)
        options = ["-n", _NAMESPACE, "-s", str(path)]
        if signers is None:
            options = ["-Y", "check-novalidate", *options]
        else:
            options = ["-Y", "verify", "-f", str(signers), "-I", signer, *options]
        try:
            printed = _call(*options, data=text, cure="the signature does not hold")
        except UsageError as error:
            raise CampaignError(f"{(root / SIGNATURE).path}: {error}") from error
    return signer or printed.rpartition(" key ")[2].strip()


def broken(root: SafeFolder) -> list[tuple[str, str]]:
    """Return each file that was changed, removed or added since the seal was written, with the reason."""
    text = (root / SEAL).read(_MOST_BYTES).decode(errors="replace")
    sealed = {name: digest for digest, _, name in (line.partition("  ") for line in text.splitlines())}
    now = {
        name: digest
        for digest, _, name in (line.partition("  ") for line in _listed(root).decode().splitlines())
    }
    faults = [(name, "changed since it was sealed") for name in sealed if now.get(name, "") != sealed[name]]
    return faults + [(name, "added since it was sealed") for name in now if name not in sealed]


def _listed(root: SafeFolder) -> bytes:
    """Return the text to sign: the checksum and name of each file of the campaign except evidence."""
    names = [name for name in _UPPERMOST if (root / name).is_file()]
    names += [f"{ENVIRONMENTS}/{one.name}" for one in (root / ENVIRONMENTS).files("*.json")]
    lines = []
    for name in names:
        with (root / name).reader() as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {name}\n")
    return "".join(lines).encode()


def _call(*words: str, cure: str, data: bytes = b"") -> str:
    """Call ssh-keygen, and return what it prints. Raises UsageError, which begins with `cure`."""
    try:
        ended = subprocess.run(["ssh-keygen", *words], input=data, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise UsageError("there is no ssh-keygen; install OpenSSH's client (8.2 or newer)") from error
    if ended.returncode != 0:
        lines = (ended.stderr or ended.stdout).decode(errors="replace").strip().splitlines()
        raise UsageError(f"{cure}: {'; '.join(lines)}")
    return ended.stdout.decode(errors="replace").strip()
