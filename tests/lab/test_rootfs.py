"""Root file systems for containers: what is asked of mmdebstrap, and when it is asked again.

`mmdebstrap` is a double, since the real one takes a minute and Debian's mirrors; `make test` calls that one.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tare.core.errors import InfrastructureError, LabError
from tare.lab import rootfs

DOUBLE = """\
#!/bin/sh
echo "$@" >>"{folder}/calls"
for last; do :; done
root=$last
[ "$last" != - ] || root=$(mktemp -d)
mkdir -p "$root/etc" "$root/dev" && echo ID=debian >"$root/etc/os-release" && : >"$root/dev/null"
[ "$last" != - ] || {{ tar -C "$root" -cf - .; rm -rf "$root"; }}
{end}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where root file systems go, and the double of mmdebstrap lies."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    set_double(tmp_path)
    return tmp_path


def set_double(folder: Path, end: str = "exit 0") -> None:
    program = folder / "mmdebstrap"
    program.write_text(DOUBLE.format(folder=folder, end=end))
    program.chmod(0o755)


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text().splitlines()


def test_it_is_built_once(folder: Path) -> None:
    first = rootfs.build("box", ["hpcc"], folder=folder)
    again = rootfs.build("box", ["hpcc"], folder=folder)
    assert rootfs.is_built(folder / "box")
    assert first.elapsed_s > 0
    assert again.elapsed_s == 0
    assert len(calls(folder)) == 1


@pytest.mark.parametrize(("packages", "suite"), [(["hpcc", "fio"], "bookworm"), (["hpcc"], "trixie")])
def test_another_recipe_builds_it_anew(folder: Path, packages: list[str], suite: str) -> None:
    rootfs.build("box", ["hpcc"], "bookworm", folder)
    rootfs.build("box", packages, suite, folder)
    assert len(calls(folder)) == 2
    assert suite in calls(folder)[1]
    assert ",".join(packages) in calls(folder)[1]


def test_one_that_somebody_else_made_is_left_alone(folder: Path) -> None:
    (folder / "box/etc").mkdir(parents=True)
    (folder / "box/etc/os-release").write_text("ID=mine\n")
    rootfs.build("box", ["hpcc"], folder=folder)
    assert not (folder / "calls").exists()


def test_an_ordinary_user_owns_all_of_it_and_gets_no_devices(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    rootfs.build("box", ["hpcc"], folder=folder)
    assert "--mode=unshare --format=tar" in calls(folder)[0]
    assert {path.stat().st_uid for path in (folder / "box").rglob("*")} == {os.getuid()}
    assert list((folder / "box/dev").iterdir()) == []


@pytest.mark.parametrize("user", [0, 1000])
def test_a_build_that_fails_leaves_nothing_and_reports_why(
    folder: Path, monkeypatch: pytest.MonkeyPatch, user: int
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    set_double(folder, "echo 'I: hello' >&2; echo 'E: no such suite' >&2; exit 25")
    with pytest.raises(InfrastructureError, match=r"no root file system: E: no such suite$"):
        rootfs.build("box", ["hpcc"], folder=folder)
    assert {path.name for path in folder.iterdir()} == {"mmdebstrap", "calls"}


def test_a_user_without_further_ids_gets_the_cure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    set_double(folder, "echo 'E: failed to parse /etc/subuid and /etc/subgid' >&2; exit 25")
    with pytest.raises(InfrastructureError, match="usermod --add-subuids"):
        rootfs.build("box", ["hpcc"], folder=folder)


def test_without_mmdebstrap_the_cure_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InfrastructureError, match="apt install mmdebstrap"):
        rootfs.build("box", ["hpcc"], folder=folder)


def test_one_that_is_not_built_is_reported_with_the_cure_and_those_of_others_are_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARE_ROOTFS", str(folder))
    (folder / "mine").mkdir(parents=True, exist_ok=True)
    rootfs.require_built({str(folder / "mine"), "/images/none", ""})
    with pytest.raises(LabError, match=r"build it with: tare lab rootfs$"):
        rootfs.require_built({str(folder / "debian")})
    with pytest.raises(LabError, match=r"tare lab rootfs --release trixie$"):
        rootfs.require_built({str(folder / "trixie")})
    with pytest.raises(LabError, match=r"tare lab rootfs --name cluster$"):
        rootfs.require_built({str(folder / "cluster")})
