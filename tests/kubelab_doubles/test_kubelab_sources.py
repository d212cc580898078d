"""The programs of the Kubernetes of the tests are built of the very sources that go.sum has hashes of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kubelab import build
from kubelab.processes import KubelabError

MODULES = sorted((Path(build.__file__).parent / "go").glob("*/go.mod"))
GO = """#!/bin/sh
echo "$1 $2 GOFLAGS=$GOFLAGS GOTOOLCHAIN=$GOTOOLCHAIN GOWORK=$GOWORK" >>"$LOG"
echo "$GOMODCACHE $GOCACHE" >>"$LOG.caches"
[ "$1" != mod ] || exit "$VERIFIED"
while [ "$1" != -o ]; do shift; done
echo built >"$2"
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a double of Go write down what it is told."""
    (tmp_path / "go").write_text(GO)
    (tmp_path / "go").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    monkeypatch.setenv("GOFLAGS", "-mod=mod")
    monkeypatch.setenv("GOWORK", str(tmp_path / "go.work"))
    return tmp_path / "log"


def test_go_amends_no_sum_fetches_no_other_go_and_verifies_its_cache(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERIFIED", "0")

    programs = build.build()

    assert all(program.is_file() for program in programs)
    said = log.read_text().splitlines()
    assert [line.split(" GOFLAGS")[0] for line in said] == ["build -trimpath", "mod verify"] * len(programs)
    for line in said:
        assert line.endswith("GOFLAGS=-mod=readonly -p=2 -buildvcs=false GOTOOLCHAIN=local GOWORK=off")


def test_a_program_of_sources_that_were_changed_is_thrown_away(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERIFIED", "1")

    with pytest.raises(KubelabError, match="sources that are not those of"):
        build.build()

    assert [path.name for path in build.folder().iterdir()] == ["lock"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.parent.name)
def test_every_module_has_a_hash(path: Path) -> None:
    text = path.read_text()
    replaced = dict(re.findall(r"^\t?(?:replace )?(\S+)(?: v\S+)? => (\S+ v\S+)$", text, re.MULTILINE))
    wanted = re.findall(r"^(?:require |\t)(\S+) (v[^\s/]+)(?: // indirect)?$", text, re.MULTILINE)
    sums = path.with_name("go.sum").read_text()

    assert wanted
    names = {replaced.get(name, f"{name} {version}") for name, version in wanted}
    assert not [name for name in names if f"{name} h1:" not in sums and f"{name}/go.mod h1:" not in sums]


def test_the_version_that_kubernetes_tells_of_itself_is_the_one_that_it_is_built_of() -> None:
    versions = build.versions()

    assert versions["k8s.io/kubernetes"] == f"v{build.KUBERNETES}"
    assert set(versions) == {"k8s.io/kubernetes", "sigs.k8s.io/kwok", "github.com/coredns/coredns"}


def test_modules_are_kept_beside_the_programs(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIFIED", "0")

    build.build()

    cache = build.folder().parents[1] / "go"
    said = Path(f"{log}.caches").read_text().splitlines()
    assert set(said) == {f"{cache / 'mod'} {cache / 'build'}"}
