"""MPIs and programs of Spack: what `spack find --json` prints, and what a node with a Spack reports."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from discovery.test_written_files import facts
from support.spack import spack_double
from tare.app.init.draft import Choice, make_draft
from tare.app.init.files import site_text
from tare.config.site_file import site_from_text
from tare.core.software import Software
from tare.discovery.facts import Found, Mpi, NodeFacts, SpackFacts
from tare.discovery.node_probe import probe_script, read_node
from tare.discovery.spack import MOST, read_spack

INSTALLED = (
    "openmpi@4.1.6/aaaaaaa",
    "openmpi@5.0.3/bbbbbbb",
    "mpich@4.2.1/ccccccc",
    "gromacs@2024.4/ddddddd",
)


def ask(**env: str) -> NodeFacts:
    own = {"HOME": "/nonexistent", "SPACK_ROOT": "", "MODULEPATH": "", **env}
    done = subprocess.run(
        ["sh", "-c", probe_script(node="n1")],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | own,
    )
    found = read_node(done.stdout, {})
    assert found is not None, done.stdout
    return found


def of_spack(found: NodeFacts) -> list[Mpi]:
    return [one for one in found.mpis if one.spack]


def read(text: str) -> tuple[tuple[Mpi, ...], SpackFacts]:
    mpis, facts_of_spack = read_spack({"spack root": "/opt/spack\n", "spack found": text})
    assert facts_of_spack is not None
    return mpis, facts_of_spack


def test_a_node_reports_the_mpis_and_programs_of_spack_the_newest_first(tmp_path: Path) -> None:
    root = spack_double(tmp_path / "spack root", dict.fromkeys(INSTALLED))
    found = ask(SPACK_ROOT=str(root))
    assert [(one.family, one.version, one.launcher) for one in of_spack(found)] == [
        ("Open MPI", "5.0.3", "openmpi5"),
        ("Open MPI", "4.1.6", "openmpi4"),
        ("MPICH", "4.2.1", "mpich"),
    ]
    first = of_spack(found)[0]
    assert first.spack == ("openmpi@5.0.3/bbbbbbb",)
    assert first.setup == f". '{root}/share/spack/setup-env.sh'"
    assert first.origin == f"`spack find --json` of {root} has openmpi@5.0.3/bbbbbbb %gcc@12.2.0"
    assert found.spack is not None
    assert found.spack.programs == ("gromacs@2024.4/ddddddd %gcc@12.2.0",)


def test_spack_is_found_on_the_path_behind_links_and_in_the_home_folder(tmp_path: Path) -> None:
    root = spack_double(tmp_path / "home/spack", dict.fromkeys(INSTALLED))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/spack").symlink_to(root / "bin/spack")
    for env in ({"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}, {"HOME": str(tmp_path / "home")}):
        found = ask(**env).spack
        assert found is not None
        assert found.root == str(root)


def test_each_mpi_of_spack_is_a_platform_that_loads_it() -> None:
    records = [{"name": "openmpi", "version": "5.0.3", "hash": "b" * 32}]
    mpis, of_node = read(json.dumps(records))
    nodes = tuple(msgspec.structs.replace(facts(i), mpis=mpis, spack=of_node) for i in (1, 2))
    text = site_text(make_draft(Found(host="h", hosts=("n1", "n2"), nodes=nodes), Choice()), "h", "")
    site = site_from_text(text, "site.yaml")
    assert list(site.platforms) == ["spack-openmpi-5.0.3-bbbbbbb", "bare"]
    assert site.platforms["spack-openmpi-5.0.3-bbbbbbb"].software == Software(
        setup=". /opt/spack/share/spack/setup-env.sh", spack=("openmpi@5.0.3/bbbbbbb",)
    )
    assert "# Open MPI 5.0.3: `spack find --json` of /opt/spack has openmpi@5.0.3/bbbbbbb" in text


@pytest.mark.parametrize(
    "hostile",
    [
        {"name": "openmpi", "version": "$(touch harm)", "hash": "b" * 32},
        {"name": "openmpi", "version": "5.0", "hash": "b" * 32 + "\nsite: forged"},
        {"name": "openmpi", "version": "-5", "hash": "b" * 32},
        {"name": "../openmpi", "version": "5.0", "hash": "b" * 32},
        {"name": "openmpi", "version": 5, "hash": None},
        "openmpi",
    ],
)
def test_records_of_another_form_are_left_out(hostile: object) -> None:
    good = {
        "name": "mpich",
        "version": "4.2.1",
        "hash": "c" * 32,
        "compiler": {"name": "gcc", "version": "12"},
    }
    mpis, _ = read(json.dumps([hostile, good]))
    assert [one.spack for one in mpis] == [("mpich@4.2.1/ccccccc",)]


def test_an_answer_that_is_none_is_quoted_and_one_without_packages_is_not() -> None:
    assert read("") == ((), SpackFacts(root="/opt/spack", setup=". /opt/spack/share/spack/setup-env.sh"))
    assert read("==> No package matches the query: openmpi\n")[1].notes == ()
    (note,) = read("==> Error: the database is locked\x1b[31m\nby another\n")[1].notes
    assert note.startswith("`spack find --json` says ==> Error: the database is locked")
    assert note.isprintable()
    torn = json.dumps([{"name": "openmpi", "version": "5", "hash": "b" * 32}])[:-9]
    assert read(torn)[0] == ()


def test_only_so_many_become_platforms_and_the_others_are_named() -> None:
    records = [{"name": "openmpi", "version": f"5.0.{i}", "hash": f"{i:032}"} for i in range(MOST + 1)]
    mpis, of_node = read(json.dumps(records))
    assert len(mpis) == MOST
    assert "openmpi@5.0.0/" in of_node.notes[0]


def test_a_root_that_a_site_file_would_read_otherwise_is_none() -> None:
    for root in ("${HOME}/spack", "relative", "/opt/a\x1bb"):
        assert read_spack({"spack root": root, "spack found": "[]"}) == ((), None)
