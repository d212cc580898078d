from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest

from config.study_doubles import DOUBLE_SITE, DOUBLES, NamedDouble, double_catalogue, read_study
from tare.config import load_study, study_from_text
from tare.core.errors import FileFaults, UsageError
from tare.core.site import Site
from tare.core.study import Budget, Factor, Repeats, Scaling, Study
from tare.core.values import Scalar

HEAD = "study: s\nworkload: hpcg\n"

SITES = {
    "alaska": ("[native]", "[ib-100g, roce-25g, tcp-25g, tcp-10g, ipoib]", "[]"),
    "venus": ("[bare, docker, native, centos7, centos6, ubuntu12]", "[ethernet, ipoib, infiniband]", "[]"),
    "openshift-38": ("[bare, openshift]", "[host, multus, sdn]", "[]"),
    "panfs": ("[native]", "[ethernet]", "[direct, gateway]"),
}


def _settings(factor: Factor) -> list[dict[str, Scalar]]:
    return [dict(level.settings) for level in factor.levels]


def _write_sites(folder: Path) -> None:
    (folder / "sites").mkdir()
    for name, (platforms, networks, storage) in SITES.items():
        offers = {
            "platforms": (platforms, "{}"),
            "networks": (networks, "{interface: eth0}"),
            "storage": (storage, "/x"),
        }
        lines = [f"site: {name}", "nodes: node[01-38]"]
        for key, (names, value) in offers.items():
            lines.append(f"{key}:" if names != "[]" else f"{key}: {{}}")
            lines += [f"  {one}: {value}" for one in names.strip("[]").split(", ") if one]
        (folder / "sites" / f"{name}.yaml").write_text("\n".join(lines))


@pytest.mark.parametrize(
    ("name", "n_combinations"),
    [
        ("fabrics", 20),
        ("hpc-in-a-box", 8),
        ("mpi-distributions", 16),
        ("openshift-networks", 56),
        ("specfem-scaling", 48),
        ("storage-path", 78),
    ],
)
def test_each_published_study_loads(
    published_studies: Path, tmp_path: Path, name: str, n_combinations: int
) -> None:
    _write_sites(tmp_path)
    path = tmp_path / f"{name}.yaml"
    path.write_bytes((published_studies / f"{name}.yaml").read_bytes())
    study, _ = load_study(path, double_catalogue)
    assert study.name == name
    assert all(level.origin for factor in study.factors for level in factor.levels)
    n_levels = [len(factor.levels) for factor in study.factors]
    assert math.prod([*n_levels, len(study.cases) or 1]) == n_combinations


def test_the_first_study_of_the_documentation_is_read_as_explained() -> None:
    study = read_study("""\
study: network-tax
question: What does the overlay network cost,
  next to the host network?
reference: {network: host}
factors:
  network: [host, overlay, macvlan]
  workload:
    - imb.pingpong
    - imb.alltoall: {max_bytes: 64KiB}
    - gromacs.water: {size: 768}
  nodes: [2, 4]
ranks_per_node: 1
exclude:
  - {workload: imb.pingpong, nodes: 4}
repeats: {min: 5, max: 30, until: 2 %}
""")
    assert study.question == "What does the overlay network cost, next to the host network?"
    assert study.reference == {"network": "host"}
    assert study.common == {"workload": "imb.pingpong"} | {"ranks_per_node": 1} or study.common == {
        "ranks_per_node": 1
    }
    assert _settings(study.factors[1]) == [
        {"workload": "imb.pingpong"},
        {"workload": "imb.alltoall", "max_bytes": 65536},
        {"workload": "gromacs.water", "size": 768},
    ]
    assert study.repeats == Repeats(min=5, max=30, until=0.02)
    (exclude,) = study.exclude
    assert exclude.holds({"workload": "imb.pingpong", "nodes": 4}) is True
    assert exclude.holds({"workload": "imb.pingpong", "nodes": 2}) is False
    assert exclude.holds({"workload": "imb.pingpong"}) is None


def test_lists_in_a_level_stand_for_each_of_their_values() -> None:
    study = read_study(
        "study: s\nfactors:\n  setup:\n    - {platform: bare, network: [host, overlay], name: b}\n"
        "    - {platform: docker, network: host}\n  workload: [hpcg: {nx: [64, 104], ranks: [1, 2]}]\n"
    )
    setup, workload = study.factors
    assert _settings(setup) == [
        {"platform": "bare", "network": "host"},
        {"platform": "bare", "network": "overlay"},
        {"platform": "docker", "network": "host"},
    ]
    assert [level.name for level in setup.levels] == ["b host", "b overlay", None]
    assert _settings(workload) == [
        {"workload": "hpcg", "nx": nx, "ranks": ranks} for nx, ranks in itertools.product((64, 104), (1, 2))
    ]


def test_cases_are_listed_and_expanded() -> None:
    study = read_study(HEAD + "cases:\n  - {nx: 64, ranks: [4, 8]}\n  - {nx: 104, ranks: 2}\n")
    assert [dict(level.settings) for level in study.cases] == [
        {"nx": 64, "ranks": 4},
        {"nx": 64, "ranks": 8},
        {"nx": 104, "ranks": 2},
    ]
    assert [level.origin.line for level in study.cases if level.origin] == [4, 4, 5]


def test_a_level_knows_where_it_was_written() -> None:
    study = read_study(HEAD + "factors:\n  nodes: [2, 4]\n")
    origin = study.factors[0].levels[1].origin
    assert origin is not None
    assert (origin.file, origin.line, origin.column, origin.path) == ("study.yaml", 4, 14, "factors.nodes[1]")


@pytest.mark.parametrize(
    ("workload", "written", "kept"),
    [
        ("imb.pingpong", "max_bytes: 1MB", {"max_bytes": 1_000_000}),
        ("imb.pingpong", "max_bytes: 64", {"max_bytes": 64}),
        ("hpcc", "memory: 80 %", {"memory": 0.8}),
        ("iperf", "duration: 2 min", {"duration": 120.0}),
        ("openfoam.motorbike", "cells: 20M", {"cells": 20_000_000}),
        ("openfoam.motorbike", "cells: 1e6", {"cells": 1_000_000}),
        ("scaled", "max_bytes: 3", {"max_bytes": 3.0}),
        ("flagged", "fast: true", {"fast": True}),
        ("osu.alltoall", "mpi: 4.10", {"mpi": "4.10"}),
        ("qperf", "test: rc_bi_bw", {"test": "rc_bi_bw"}),
    ],
)
def test_a_parameter_is_kept_in_the_unit_of_its_kind(
    workload: str, written: str, kept: dict[str, Scalar]
) -> None:
    study = read_study(f"study: s\nfactors: {{workload: [{workload}: {{{written}}}]}}\n")
    (settings,) = _settings(study.factors[0])
    assert settings == {"workload": workload} | kept
    assert all(type(settings[name]) is type(value) for name, value in kept.items())


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("5", Repeats(min=5, max=5)),
        ("{min: 3}", Repeats(min=3, max=3)),
        ("{max: 3, until: 1 %}", Repeats(min=3, max=3, until=0.01)),
        ("{until: 3 %}", Repeats(min=5, max=30, until=0.03)),
        (
            "{min: 3, until: 3 %, budget: 400 node-hours}",
            Repeats(min=3, max=30, until=0.03, budget=Budget(node_hours=400.0)),
        ),
        ("{budget: 90 min}", Repeats(min=5, max=5, budget=Budget(hours=1.5))),
        ("{budget: 500 runs}", Repeats(min=5, max=5, budget=Budget(runs=500))),
        (
            "{budget: {runs: 9, hours: 2, node_hours: 3}}",
            Repeats(min=5, max=5, budget=Budget(runs=9, hours=2.0, node_hours=3.0)),
        ),
    ],
)
def test_repeats_are_a_number_or_a_stopping_rule(written: str, meant: Repeats) -> None:
    assert read_study(HEAD + f"repeats: {written}\n").repeats == meant


def test_the_other_keys_are_kept_in_their_units() -> None:
    study = read_study(
        HEAD
        + "platform: docker\nstorage: gateway\nio: heavy\nnodes: 2\nthreads: 4\nbind: core\ntimeout: 10 min\n"
        "retries: 0\nseed: 7\nmargin: 3 %\nwarmup: true\nscaling: {strong: nodes, weak: [nx, ranks]}\n"
        "telemetry: {period: 1 s, packets: true}\n"
    )
    assert study.common == {
        "workload": "hpcg",
        "platform": "docker",
        "storage": "gateway",
        "io": "heavy",
        "nodes": 2,
        "threads": 4,
        "bind": "core",
    }
    assert (study.timeout_s, study.retries, study.seed) == (600.0, 0, 7)
    assert (study.margin, study.warmup) == (0.03, 1)
    assert study.scaling == Scaling(strong=("nodes",), weak=("nx", "ranks"))


def test_the_seed_comes_from_the_name_and_is_the_same_everywhere() -> None:
    assert read_study(HEAD).seed == read_study(HEAD + "question: another\n").seed == 2725614318
    assert read_study(HEAD.replace("study: s", "study: t")).seed != read_study(HEAD).seed


def test_a_reference_may_be_a_named_level() -> None:
    study = read_study(
        HEAD + "reference: {setup: plain}\nfactors:\n  setup:\n"
        "    - {name: plain, platform: bare, network: host}\n    - {platform: docker, network: overlay}\n"
    )
    assert study.reference == {"platform": "bare", "network": "host"}


def test_a_reference_may_be_what_the_site_gives_to_who_names_nothing() -> None:
    assert read_study(HEAD + "reference: {platform: bare, nx: 104}\n").reference == {
        "platform": "bare",
        "nx": 104,
    }


def test_a_workload_gives_the_names_that_it_derives_to_conditions() -> None:
    study = read_study("study: s\nworkload: {specfem3d_globe: {nex: 64}}\nwhere: nex % (8 * nproc_xi) == 0\n")
    assert study.where[0].holds({"nex": 64, "nproc_xi": 4}) is True


def test_a_workload_that_cannot_derive_leaves_no_name_unknown() -> None:
    broken = NamedDouble(name="broken", is_broken=True)
    study = study_from_text(
        "study: s\nworkload: broken\nwhere: x > 1\n", "f", lambda _: {"broken": broken}, DOUBLE_SITE
    )
    assert study.where[0].holds({"x": 2}) is True


def test_values_of_an_exclusion_are_converted_like_those_of_a_level() -> None:
    study = read_study("study: s\nworkload: imb.pingpong\nexclude: {max_bytes: [64KiB, 1MiB], nodes: 2}\n")
    assert study.exclude[0].holds({"max_bytes": 1048576, "nodes": 2}) is True
    assert study.exclude[0].text == "max_bytes: [65536, 1048576], nodes: 2"


def test_a_study_without_its_file_or_site_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing\.yaml cannot be read: No such file"):
        load_study(tmp_path / "nothing.yaml", double_catalogue)
    path = tmp_path / "study.yaml"
    path.write_text("study: s\nsite: sites/none.yaml\nworkload: hpgc\n")
    with pytest.raises(FileFaults) as raised:
        load_study(path, double_catalogue)
    places = [(fault.line, fault.path) for fault in raised.value.faults]
    assert places == [(2, "site"), (3, "workload")]


def test_the_faults_of_a_study_and_its_site_come_together(tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text("site: s\nnodes: [n1]\nplatforms: {bare: {launch: mpich}}\n")
    path = tmp_path / "study.yaml"
    path.write_text("study: s\nsite: site.yaml\nworkload: hpgc\nplatform: unknowable\n")
    with pytest.raises(FileFaults) as raised:
        load_study(path, double_catalogue)
    found = [(Path(fault.file).name, fault.path) for fault in raised.value.faults]
    assert found == [("site.yaml", "platforms.bare.launch"), ("study.yaml", "workload")]


def test_a_site_file_may_take_the_place_of_the_one_that_the_study_names(tmp_path: Path) -> None:
    frozen = tmp_path / "frozen.yaml"
    frozen.write_text("site: kept\nnodes: [n1]\nplatforms: {bare: {}}\n")
    (tmp_path / "study.yaml").write_text("study: s\nsite: gone.yaml\nworkload: hpcg\n")
    study, source = load_study(tmp_path / "study.yaml", double_catalogue, frozen)
    assert (study.site, source.site.name, source.text) == ("gone.yaml", "kept", frozen.read_text())


def test_doubles_have_the_shape_of_what_they_stand_for() -> None:
    assert isinstance(DOUBLE_SITE, Site)
    assert len({double.name for double in DOUBLES}) == len(DOUBLES)
    assert isinstance(read_study(HEAD), Study)


def test_a_site_file_that_is_named_without_its_end_is_found_for_the_cure(tmp_path: Path) -> None:
    (tmp_path / "venus.yaml").write_text("nodes: [localhost]\n")
    path = tmp_path / "study.yaml"
    path.write_text("study: s\nsite: venus\nworkload: imb.pingpong\n")
    with pytest.raises(FileFaults, match=r"study\.yaml:2:7: site: .*; did you mean 'venus\.yaml'\?$"):
        load_study(path, double_catalogue)
    path.write_text(f"study: s\nsite: {'v' * 253}\nworkload: imb.pingpong\n")
    with pytest.raises(FileFaults, match=r"use local, lab or the path of a site file$"):
        load_study(path, double_catalogue)
