"""Look for known vulnerabilities of what is locked: python -m requirements.audit LOCK…

It fails where one is known. Where no database can be asked it says so, and passes: a machine without the
internet finds nothing, and that is not the same as nothing to find.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from requirements.locked import Pin, distinct

_SERVICES = ("pypi", "osv")
_BUDGET_S = 35.0  # for all databases together: CI has other things to do


# How requests, urllib3 and pip-audit say that a database does not answer, or not as one.
_UNREACHABLE = re.compile(
    r"connect|resol|timed out|timeout|max retries|status|HTTPError|SSLError", re.IGNORECASE
)


class AuditError(Exception):
    """The audit itself does not work, of which nothing follows for what is locked."""


class Finding(NamedTuple):
    """What the databases say: how many packages they know, which they do not, and what is known of them."""

    looked_up: int
    unknown: tuple[str, ...]
    vulnerable: tuple[str, ...]


def judge(pins: Sequence[Pin], answer: dict[str, Any]) -> Finding:
    """Return what pip-audit's JSON says of `pins`; what it skips, or does not name, is unknown."""
    asked = {(one["name"], one["version"]) for one in answer["dependencies"] if "version" in one}
    vulnerable = [
        f"{one['name']} {one['version']}: {found['id']}"
        + (f", mended in {', '.join(found['fix_versions'])}" if found["fix_versions"] else ", not mended yet")
        for one in answer["dependencies"]
        for found in one.get("vulns", ())
    ]
    unknown = [f"{one.name} {one.version}" for one in pins if (one.name, one.version) not in asked]
    return Finding(len(pins) - len(unknown), tuple(unknown), tuple(vulnerable))


def report(finding: Finding) -> tuple[str, int]:
    """Return what is said of a finding, and the exit code: 1 for a known vulnerability, else 0."""
    total = finding.looked_up + len(finding.unknown)
    lines = [f"audit: {one}" for one in finding.vulnerable]
    if not finding.looked_up:
        lines.append(
            f"audit: NOT DONE: no database of advisories can be asked for the {total} locked packages"
        )
        return "\n".join(lines), 0
    known = len(finding.vulnerable)
    lines.append(
        f"audit: {finding.looked_up} of {total} locked packages looked up, "
        f"{known or 'no'} known {'vulnerability' if known == 1 else 'vulnerabilities'}"
    )
    if finding.unknown:
        lines.append(
            f"audit: not looked up, since the database does not know them: {', '.join(finding.unknown)}"
        )
    return "\n".join(lines), int(bool(known))


def ask(pins: Sequence[Pin], options: Sequence[str], timeout_s: float) -> Finding:
    """Ask pip-audit, which compares names and versions only, and installs nothing.

    What it says is judged, and not its exit code: that is 0 where it found none of the packages. Raises
    AuditError where it fails for another reason than a database that cannot be asked.
    """
    end = time.monotonic() + timeout_s
    parts = [judge(layer, _run(layer, options, end - time.monotonic())) for layer in _layers(pins)]
    return Finding(
        sum(part.looked_up for part in parts),
        tuple(one for part in parts for one in part.unknown),
        tuple(one for part in parts for one in part.vulnerable),
    )


def _run(pins: Sequence[Pin], options: Sequence[str], timeout_s: float) -> dict[str, Any]:
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--format", "json"]
    command += ["--progress-spinner", "off", "--timeout", "5", *options]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as lock:
        lock.write("".join(f"{one}\n" for one in pins))
        lock.flush()
        command += ["--requirement", lock.name]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=max(timeout_s, 0.1), check=False
            )
        except subprocess.TimeoutExpired:
            return {"dependencies": []}
    try:
        return dict(json.loads(done.stdout))
    except json.JSONDecodeError:
        said = done.stderr.strip().rpartition("\n")[2]
        if _UNREACHABLE.search(said):
            return {"dependencies": []}
        raise AuditError(f"pip-audit failed: {said[:500]}") from None


def _layers(pins: Sequence[Pin]) -> list[list[Pin]]:
    """Return `pins` in parts, each with a package once, as pip-audit wants it: NumPy has several versions."""
    layers: list[list[Pin]] = []
    for one in pins:
        layer = next((layer for layer in layers if one.name not in {other.name for other in layer}), None)
        if layer is None:
            layers.append(layer := [])
        layer.append(one)
    return layers


def main(arguments: Sequence[str]) -> int:
    """Audit the locks named, with the first database that knows any of them."""
    pins = distinct(map(Path, arguments))
    end = time.monotonic() + _BUDGET_S
    for service in _SERVICES:
        try:
            finding = ask(pins, ["--vulnerability-service", service], end - time.monotonic())
        except AuditError as error:
            print(f"audit: {error}", file=sys.stderr)
            return 2
        if finding.looked_up:
            break
    said, code = report(finding)
    print(said)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
