"""Each broken study says where it is broken, what is wrong, and the cure."""

# ruff: noqa: E501 - messages stand whole, as a user reads them

from __future__ import annotations

import re

import pytest

from config.study_doubles import faults_of

HEAD = "study: s\nworkload: hpcg\n"

MEANT_OTHERWISE = (
    "study.yaml:1:1: expected a mapping with keys such as study, question, site, reference; this holds none of "
    "them: name another file"
)

BROKEN: list[tuple[str, str]] = [
    (
        HEAD + "factors:\n  nodes: [2, 4, 0]\n",
        "study.yaml:4:17: factors.nodes[2]: 0 is not a node count; use 1 or more",
    ),
    (
        HEAD + "factors:\n  nodes: [2, 4.5]\n",
        "study.yaml:4:14: factors.nodes[1]: 4.5 is not a node count; use 1 or more",
    ),
    (
        HEAD + "factors:\n  ranks: [yes]\n",
        "study.yaml:4:11: factors.ranks[0]: 'yes' is not a rank count; use 1 or more",
    ),
    (HEAD + "repeat: 3\n", "study.yaml:3:1: repeat: unknown key 'repeat'; did you mean 'repeats'?"),
    (HEAD + "study: t\n", "study.yaml:3:1: study: key 'study' is here twice, first in line 1; keep one"),
    ("workload: hpcg\n", "study.yaml:1:1: 'study' is missing; add 'study: network-tax'"),
    (
        HEAD + "repeats: few\n",
        "study.yaml:3:10: repeats: expected a whole number or a mapping such as 5, not 'few'",
    ),
    (
        HEAD + "repeats: 99999999999999999999\n",
        "study.yaml:3:10: repeats: 99999999999999999999 is out of range; write at most 18 digits",
    ),
    (HEAD + "repeats: 0\n", "study.yaml:3:10: repeats: 0 is out of range; use 1 or more"),
    (
        HEAD + "repeats: {min: 9, max: 3, until: 2 %}\n",
        "study.yaml:3:10: repeats: max 3 is less than min 9; swap them",
    ),
    (
        HEAD + "repeats: {min: 3, max: 9}\n",
        "study.yaml:3:10: repeats: nothing stops this before 9; add 'until: 2 %', or write 'repeats: 9'",
    ),
    (
        HEAD + "repeats: {min: 3, max: 9, until: 2}\n",
        "study.yaml:3:34: repeats.until: 2 is out of range; write 2 %, or a fraction below 1",
    ),
    (
        HEAD + "repeats: {min: 3, max: 9, unti: 2 %}\n",
        "study.yaml:3:27: repeats.unti: unknown key 'unti'; did you mean 'until'?",
    ),
    (
        HEAD + "repeats: {budget: 400}\n",
        "study.yaml:3:19: repeats.budget: '400' is not a budget; write '400 node-hours', '12 h' or '500 runs'",
    ),
    (
        HEAD + "margin: 3 s\n",
        "study.yaml:3:9: margin: '3 s' has no unit of fraction; write for example 2 %",
    ),
    (HEAD + "margin: 5\n", "study.yaml:3:9: margin: 5 is out of range; write 5 %, or a fraction below 1"),
    (HEAD + "margin: 100\n", "study.yaml:3:9: margin: 100 is out of range; use less than 1"),
    (HEAD + "margin: 100 %\n", "study.yaml:3:9: margin: 100 % is out of range; use less than 1"),
    (HEAD + "ranks: 1e0\n", "study.yaml:3:8: ranks: expected a whole number such as 4, not 1e0"),
    (
        HEAD + "factors:\n  mesh:\n    - {name: a, nx: 32}\n    - {name: a, nx: 64}\nreference: {mesh: a}\n",
        "study.yaml:6:7: factors.mesh: two of its levels have the name 'a'; rename one",
    ),
    (
        HEAD + "factors: {wrapper: [none, [nice, -n, 5]]}\n",
        "study.yaml:3:27: factors.wrapper[1]: a list is no level of 'wrapper'; write its words as one text: 'nice -n 5'",
    ),
    (
        HEAD + "executable: $HOME/bin/hpcg\n",
        "study.yaml:3:13: executable: no shell expands '$HOME/bin/hpcg'; write the whole path, or a name that is on PATH",
    ),
    (
        "site: s\nnodes: [n1]\nplatforms: {bare: {}}\n",
        "study.yaml:1:1: this is a site file; name a study file, which names its site by 'site'",
    ),
    (HEAD + "timeout: 0\n", "study.yaml:3:10: timeout: 0 is out of range; use more than 0"),
    (
        HEAD + "warmup: yes\n",
        "study.yaml:3:9: warmup: expected true or false or a whole number such as true, not 'yes'",
    ),
    (HEAD + "bind: cor\n", "study.yaml:3:7: bind: 'cor' is unknown here; did you mean 'core'?"),
    (HEAD + "nodes: [2, 4]\n", "study.yaml:3:8: nodes: expected a whole number such as 4, not a list"),
    (
        HEAD + "platform: bear\n",
        "study.yaml:3:11: platform: site double has no platform 'bear'; did you mean 'bare'?",
    ),
    (
        HEAD + "storage: tape\n",
        "study.yaml:3:10: storage: site double has no storage path 'tape'; use one of direct, gateway",
    ),
    (
        HEAD + "reference: {network: overly}\n",
        "study.yaml:3:22: reference.network: site double has no network 'overly'; did you mean 'overlay'?",
    ),
    (
        HEAD + "reference: {network: macvlan}\nfactors: {network: [host, overlay]}\n",
        "study.yaml:3:22: reference.network: no case has network 'macvlan'; use one of host, overlay",
    ),
    (
        HEAD + "reference: {nx: 32}\nfactors: {nx: [64, 104]}\n",
        "study.yaml:3:17: reference.nx: no case has nx '32'; use one of 64, 104",
    ),
    (
        HEAD + "reference: {netwrk: host}\n",
        "study.yaml:3:13: reference.netwrk: 'netwrk' is neither a setting nor a parameter of this study's workloads; "
        "did you mean 'network'?",
    ),
    (
        HEAD + "reference: {setup: bar}\nfactors:\n  setup:\n    - {name: bare, nx: 32}\n",
        "study.yaml:3:20: reference.setup: factor setup has no level named 'bar'; did you mean 'bare'?",
    ),
    (
        HEAD + "factors: {netwrk: [host]}\n",
        "study.yaml:3:11: factors.netwrk: 'netwrk' is neither a setting nor a parameter of this study's workloads; "
        "did you mean 'network'? Or make each of its levels a mapping of settings",
    ),
    (HEAD + "factors: {nodes: 4}\n", "study.yaml:3:18: factors.nodes: expected a list such as [2, 4], not 4"),
    (
        HEAD + "factors: {nodes: []}\n",
        "study.yaml:3:18: factors.nodes: the list is empty; expected a list such as [2, 4]",
    ),
    (
        HEAD + "factors: {nodes: [2, ~]}\n",
        "study.yaml:3:22: factors.nodes[1]: expected a value, a list or a mapping, not nothing",
    ),
    (
        "study: s\nfactors: {workload: [hpcg: {nxx: 3}]}\n",
        "study.yaml:2:29: factors.workload[0].hpcg.nxx: hpcg has no parameter 'nxx'; did you mean 'nx'?",
    ),
    (
        "study: s\nfactors: {workload: [hpgc]}\n",
        "study.yaml:2:22: factors.workload[0]: there is no workload 'hpgc'; did you mean 'hpcg'?",
    ),
    (
        "study: s\nfactors: {workload: [osu]}\n",
        "study.yaml:2:22: factors.workload[0]: there is no workload 'osu'; use osu.alltoall",
    ),
    (
        "study: s\nfactors:\n  workload:\n    - hpcg:\n      nx: 3\n",
        "study.yaml:4:7: factors.workload[0]: a workload is a name, or one name with its parameters indented "
        "beneath it; found 2 keys",
    ),
    (
        "study: s\nfactors: {workload: [hpcg: 104]}\n",
        "study.yaml:2:28: factors.workload[0].hpcg: expected a mapping of its parameters such as {nx: …}",
    ),
    (
        "study: s\nfactors: {workload: [hpcg: {workload: hpcc}]}\n",
        "study.yaml:2:29: factors.workload[0].hpcg.workload: 'workload' is set by the level itself; remove it",
    ),
    (
        HEAD + "factors: {nx: [64, 1_000]}\n",
        "study.yaml:3:20: factors.nx[1]: '1_000' is not a whole number such as 20 or 20M",
    ),
    (
        HEAD + "factors: {nx: [0]}\n",
        "study.yaml:3:16: factors.nx[0]: 0 is too small for nx; use 1 or more",
    ),
    (
        HEAD + "factors: {nx: [true]}\n",
        "study.yaml:3:16: factors.nx[0]: true is not a whole number such as 20 or 20M",
    ),
    (
        "study: s\nfactors: {workload: [imb.pingpong: {max_bytes: 64KB/s}]}\n",
        "study.yaml:2:48: factors.workload[0].imb.pingpong.max_bytes: '64KB/s' has no unit of bytes; write for "
        "example 64KiB",
    ),
    (
        "study: s\nfactors: {workload: [qperf: {test: rc_bw}]}\n",
        "study.yaml:2:36: factors.workload[0].qperf.test: 'rc_bw' is no choice of test; did you mean 'rc_bi_bw'?",
    ),
    (
        "study: s\nfactors: {workload: [flagged: {fast: yes}]}\n",
        "study.yaml:2:38: factors.workload[0].flagged.fast: 'yes' is not a flag; fast is true or false",
    ),
    (
        "study: s\nfactors: {workload: [imb.pingpong, scaled], max_bytes: [64]}\n",
        "study.yaml:2:57: factors.max_bytes[0]: 64 means different things to the workloads that have 'max_bytes'; "
        "set it under each workload",
    ),
    (
        "study: s\n",
        "study.yaml:1:1: no workload is named; add one, such as 'factors: {workload: [imb.pingpong]}'",
    ),
    (
        HEAD + "cases: [{nx: []}]\n",
        "study.yaml:3:14: cases[0].nx: an empty list makes no case; give at least one value",
    ),
    (
        HEAD + "cases: [{nx: [1, 2], nxx: 3}]\n",
        "study.yaml:3:22: cases[0].nxx: 'nxx' is neither a setting nor a parameter of this study's workloads; "
        "did you mean 'nx'?",
    ),
    (
        HEAD + "where: nx %% 2\n",
        "study.yaml:3:8: where: 'nx %% 2' is not a condition: at its column 5: expected a name, a number or text; "
        "write for example "
        "'nodes >= 2 and size % nodes == 0'",
    ),
    (HEAD + "where: nxx == 3\n", "study.yaml:3:8: where: unknown name 'nxx'; did you mean 'nx'?"),
    (
        HEAD + "where: nx > 64KiB\n",
        "study.yaml:3:8: where: 'nx > 64KiB' is not a condition: at its column 6: write numbers without units: "
        "65536, not 64KiB",
    ),
    (
        HEAD + "factors: {network: [host, overlay]}\nwhere: network == host\n",
        "study.yaml:4:8: where: unknown name 'host'; put text in quotes, as in \"host\"",
    ),
    (
        HEAD + "exclude:\n  - nx == 3\n  - {nodess: 4}\n",
        "study.yaml:5:6: exclude[1].nodess: 'nodess' is neither a setting nor a parameter of this study's workloads; "
        "did you mean 'nodes'?",
    ),
    (
        HEAD + "exclude: {}\n",
        "study.yaml:3:10: exclude: an empty mapping matches every case; name the settings to match",
    ),
    (
        HEAD + "scaling: {strong: node}\n",
        "study.yaml:3:19: scaling.strong: 'node' is neither a setting nor a parameter of this study's workloads; "
        "did you mean 'nodes'?",
    ),
    (
        HEAD + "factors: {network: [host, overlay]}\nscaling: {strong: network}\n",
        "study.yaml:4:19: scaling.strong: 'overlay', a level of network, is no number; scaling goes along numbers; "
        "name a setting such as nodes, or a parameter of a kind that counts",
    ),
    (
        HEAD + "factors: {nodes: [1, 2], network: [host, overlay]}\nscaling: {weak: [nodes, network]}\n",
        "study.yaml:4:17: scaling.weak: 'overlay', a level of network, is no number; scaling goes along numbers; "
        "name a setting such as nodes, or a parameter of a kind that counts",
    ),
    (
        HEAD + "telemetry: {perod: 1 s}\n",
        "study.yaml:3:13: telemetry.perod: unknown key 'perod'; did you mean 'period'?",
    ),
    ("- study: s\n", MEANT_OTHERWISE),
    ("only text\n", MEANT_OTHERWISE),
]


NO_WORKLOAD = "there is no workload 'gromcas.water'; did you mean 'gromacs.water'?"

CONSEQUENCES: list[tuple[str, str]] = [
    (
        "study: s\nworkload: gromcas.water\nfactors: {size: [1, 2]}\nreference: {size: 1}\n",
        f"study.yaml:2:11: workload: {NO_WORKLOAD}",
    ),
    (
        "study: s\nfactors: {workload: [gromcas.water, hpcg], size: [1, 2]}\nwhere: size > 1\nexclude: [{size: 2}]\n"
        "reference: {workload: gromacs.water}\nscaling: {weak: [size, ranks]}\n",
        f"study.yaml:2:22: factors.workload[0]: {NO_WORKLOAD}",
    ),
    (
        "study: s\ncases: [{workload: gromcas.water, size: 1}, {workload: hpcg, nx: 3}]\nreference: {size: 1}\n",
        f"study.yaml:2:20: cases[0].workload: {NO_WORKLOAD}",
    ),
    (
        "study: s\nworkload: espresso\nfactors: {anything: [1, 2]}\nwhere: anything > 1\nargs: -x\n",
        "study.yaml:2:11: workload: there is no workload 'espresso'; use one of imb.pingpong, imb.alltoall, "
        "osu.alltoall, hpcg, hpcc, iperf, qperf, gromacs.water, specfem3d_globe, elbencho.read, wrf.conus-2.5km, "
        "namd.stmv, …",
    ),
    (
        HEAD + "factors: {nodes: [0, 2]}\nreference: {nodes: 1}\n",
        "study.yaml:3:19: factors.nodes[0]: 0 is not a node count; use 1 or more",
    ),
    (
        HEAD + "factors: {net: [{network: hst, name: a}, {network: host, name: b}]}\nreference: {net: a}\n",
        "study.yaml:3:27: factors.net[0].network: site double has no network 'hst'; did you mean 'host'?",
    ),
]


@pytest.mark.parametrize(("text", "message"), CONSEQUENCES)
def test_what_only_follows_from_a_fault_is_no_fault_of_its_own(text: str, message: str) -> None:
    assert faults_of(text) == [message]


def test_beside_a_misspelt_workload_other_slips_are_told() -> None:
    found = faults_of("study: s\nworkload: gromcas.water\nfactors: {size: [1], nodess: [2]}\n")
    assert found == [
        f"study.yaml:2:11: workload: {NO_WORKLOAD}",
        "study.yaml:3:22: factors.nodess: 'nodess' is neither a setting nor a parameter of this study's workloads; "
        "did you mean 'nodes'? Or make each of its levels a mapping of settings",
    ]


@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_a_broken_study_is_reported_with_position_and_cure(text: str, message: str) -> None:
    assert faults_of(text) == [message]


@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_every_message_has_a_file_a_line_and_a_column(text: str, message: str) -> None:
    assert all(re.match(r"study\.yaml:[1-9]\d*:[1-9]\d*: \S", fault) for fault in faults_of(text))


@pytest.mark.parametrize(
    "name",
    [
        "../up",
        "'a\n\n  b'",
        "$(reboot)",
        ".hidden",
        "-rf",
        "a b",
        "'a/b'",
        "''",
        "😀",
        "n" * 101,
        '"a\\0b"',
        "é",
    ],
)
def test_a_study_name_that_is_no_safe_folder_is_refused(name: str) -> None:
    (fault,) = faults_of(f"study: {name}\nworkload: hpcg\n")
    assert fault.startswith("study.yaml:1:8: study: ")
    assert fault.isprintable()


def test_all_faults_of_a_file_come_in_one_go_and_in_order() -> None:
    text = """\
study: ../s
repeat: 3
factors:
  network: [host, ovrlay]
  nodes: [0, 2]
  workload:
    - hpcg: {nxx: 1}
    - hpgc
where: [nx %% 2, twise == 1]
exclude: [{nods: 2}]
reference: {platform: bear}
margin: lots
"""
    lines = [int(fault.split(":")[1]) for fault in faults_of(text)]
    assert lines == [1, 2, 4, 5, 7, 8, 9, 9, 10, 11, 12]


def test_settings_of_programs_are_read_where_all_workloads_are_faulty() -> None:
    """`true` without quotes is no text, and then no workload is left that has an executable."""
    text = "study: s\nworkloads: {w: {command: [true]}}\nworkload: w\nexecutable: ./solver\nargs: a 'b\n"
    faults = faults_of(text)
    assert any("expected text, not true; put it in quotes" in one for one in faults), faults
    assert any(one.startswith("study.yaml:5:7: args: ") for one in faults), faults


def test_a_fault_under_an_alias_is_reported_once() -> None:
    text = (
        HEAD
        + "factors:\n  nodes: &many [0]\n  ranks: [1]\ncases:\n  - {ranks: 1, nodes: *many}\n  - {nodes: *many}\n"
    )
    assert len(faults_of(text)) == 1


def test_more_combinations_than_a_plan_can_hold_are_refused() -> None:
    levels = ", ".join(str(n) for n in range(1, 102))
    text = HEAD + f"factors: {{nodes: [{levels}], ranks: [{levels}], nx: [{levels}]}}\n"
    (fault,) = faults_of(text)
    assert "factors: the factors make 1030301 cases" in fault


def test_lists_inside_a_level_that_multiply_beyond_bounds_are_refused() -> None:
    levels = ", ".join(str(n) for n in range(1, 102))
    (fault,) = faults_of(HEAD + f"cases: [{{nodes: [{levels}], ranks: [{levels}], nx: [{levels}]}}]\n")
    assert "cases[0]: its lists make 1030301 levels" in fault
