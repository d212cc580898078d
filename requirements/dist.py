"""Build the wheel and the sdist of the last commit, in dist/: python -m requirements.dist

They are built twice: both from what git holds, and the wheel once more from the sdist alone. dist/ stays as
it was if the two differ. Times within are that of the commit (https://reproducible-builds.org/specs/source-date-epoch/).
It needs no network: hatchling is the one that is locked. Compressed bytes also depend on the zlib of Python.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

TARGET = Path("dist")


class BuildError(Exception):
    """Nothing was built; the message says why, and the cure."""


def main() -> int:
    """Build, compare, and write dist/ and its SHA256SUMS; return the exit code."""
    try:
        built = build_twice(Path(), TARGET)
    except BuildError as error:
        print(f"dist: {error}", file=sys.stderr)
        return 1
    lines = [f"{digest}  {name}" for name, digest in built.items()]
    (TARGET / "SHA256SUMS").write_text("\n".join(lines) + "\n")
    print(*lines, f"dist: {TARGET}: built twice, with the same bytes", sep="\n")
    return 0


def build_twice(root: Path, target: Path) -> dict[str, str]:
    """Put the wheel and the sdist of the last commit of `root` into `target`; return SHA-256 by name."""
    epoch = _git(root, "log", "-1", "--format=%ct").decode().strip()
    with tempfile.TemporaryDirectory() as temporary:
        first, second = Path(temporary) / "first", Path(temporary) / "another place"
        _commit_into(root, first)
        hatchling(first, epoch, "sdist", "wheel")
        _commit_into(root, second)
        hatchling(second, epoch, "sdist")
        with tarfile.open(next((second / "dist").glob("*.tar.gz"))) as sdist:
            sdist.extractall(second / "unpacked", filter="data")
        hatchling(next((second / "unpacked").iterdir()), epoch, "wheel", into=second / "dist")
        return take(first / "dist", second / "dist", target)


def hatchling(source: Path, epoch: str, *targets: str, into: Path | None = None) -> None:
    """Build `targets` of the tree `source` into its dist/, or `into`.

    Raises:
        BuildError: Hatchling failed.
    """
    command = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "--directory",
        str((into or source / "dist").absolute()),
    ]
    command += [part for one in targets for part in ("--target", one)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"hatchling cannot build {' and '.join(targets)}:\n{done.stdout}{done.stderr}")


def take(first: Path, second: Path, target: Path) -> dict[str, str]:
    """Move the files of `first` into `target`, which is emptied of older ones; return their SHA-256 by name.

    Raises:
        BuildError: The files of `second` are others.
    """
    built, again = digests(first), digests(second)
    if built != again:
        differing = sorted(name for name in {**built, **again} if built.get(name) != again.get(name))
        raise BuildError(f"two builds differ: {', '.join(differing)}; compare them with diffoscope")
    target.mkdir(exist_ok=True)
    for old in [*target.glob("*.whl"), *target.glob("*.tar.gz"), *target.glob("SHA256SUMS")]:
        old.unlink()
    for name in built:
        (target / name).write_bytes((first / name).read_bytes())
    return built


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of `folder` by its name."""
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in sorted(folder.iterdir())}


def _commit_into(root: Path, target: Path) -> None:
    """Write the files of the last commit of `root` into `target`."""
    archive = target.with_suffix(".tar")
    archive.write_bytes(_git(root, "archive", "HEAD"))
    with tarfile.open(archive) as files:
        files.extractall(target, filter="data")


def _git(root: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise BuildError("there is no git; install it") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise BuildError(
            f"git {arguments[0]} failed: {said}; releases are built in a clone of the repository"
        )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
