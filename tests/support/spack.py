"""A double of Spack: what matters is how it is called, and that what it loads becomes visible."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path


def spack_double(folder: Path, packages: Mapping[str, Path | None] | None = None) -> Path:
    """Write a Spack into `folder` and return it.

    `packages` are installed: specs such as ``mpich@4.2.1/abcdefg``, and what each makes visible. A spec with
    `missing` in it is not installed.
    """
    shell = folder / "share/spack/setup-env.sh"
    program = folder / "bin/spack"
    for path in (shell, program):
        path.parent.mkdir(parents=True, exist_ok=True)
    installed = packages or {}
    cases = "".join(
        f"  {shlex.quote(spec)}) export PATH={shlex.quote(str(prefix))}/bin:$PATH;;\n"
        for spec, prefix in installed.items()
        if prefix
    )
    shell.write_text(
        f"export SPACK_ROOT={shlex.quote(str(folder))}\n"
        'spack() { [ "$1" = load ] || return 2; shift; case $* in *missing*)\n'
        "  echo \"==> Error: Spec '$*' matches no installed packages.\" >&2; return 1;;\n"
        f'{cases}  esac\n  export SPACK_LOADED="$*"; }}\n'
    )
    (folder / "found.json").write_text(json.dumps([_record(spec) for spec in installed]))
    program.write_text(
        f'#!/bin/sh\n[ "$1 $2" = "find --json" ] || exit 2\n'
        f'[ "$3" = openmpi ] || exit 2\ncat {shlex.quote(str(folder / "found.json"))}\n'
    )
    program.chmod(0o755)
    return folder


def _record(spec: str) -> dict[str, object]:
    """Return what ``spack find --json`` (Spack 0.22) prints of a package."""
    name, _, rest = spec.partition("@")
    version, _, digest = rest.partition("/")
    return {
        "name": name,
        "version": version,
        "arch": {"platform": "linux", "platform_os": "debian12", "target": "x86_64_v3"},
        "compiler": {"name": "gcc", "version": "12.2.0"},
        "namespace": "builtin",
        "parameters": {"build_system": "autotools", "cflags": []},
        "package_hash": "k2dcwvlyv6wezhdx4sjq4bbfbz2eku2xqpnwjm3o4gyatkoskoda====",
        "hash": digest.ljust(32, "x"),
    }
