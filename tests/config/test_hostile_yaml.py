"""Files that are broken on purpose: each ends in a fault with a place, never in a crash."""

# ruff: noqa: E501 - messages stand whole, as a user reads them

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from config.study_doubles import double_catalogue, faults_of, read_study
from tare.config import load_study, site_from_text
from tare.config.document import MapNode, ScalarNode, decode_text, read_document, resolve
from tare.config.faults import Faults
from tare.core.errors import FileFaults
from tare.core.values import Scalar


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "study.yaml:1:1: the file is empty; write a study or a site into it"),
        (
            "# nothing\n\n",
            "study.yaml:1:1: the file is empty; write a study or a site into it",
        ),
        ("study:\n\tx: 1", "study.yaml:2:1: a tab cannot indent YAML; use spaces"),
        ("study: 'x\nsite: y\n", "study.yaml:1:8: the quotes that open here are not closed; close them"),
        (
            'study: s\nregex: "time (\\S+)"\n',
            "study.yaml:2:8: a backslash in double quotes is an escape of YAML; use single quotes, which keep it as it is",
        ),
        (
            "study: a: b",
            "study.yaml:1:9: a ': ' is not expected here; check the indentation, or put text that holds ': ' "
            "in quotes",
        ),
        ("study: @x", "study.yaml:1:8: text cannot start with '@'; put it in quotes"),
        (
            "nodes: [n[1-4]]",
            "study.yaml:1:10: did not find expected ',' or ']'; close the bracket, and put text that holds brackets "
            "or commas in quotes",
        ),
        ("study: \0", "study.yaml:1:8: character U+0000 cannot be in a YAML file; remove it"),
        ("a: 1\nb: \x1b[31m", "study.yaml:2:4: character U+001B cannot be in a YAML file; remove it"),
        ("a: \ud800", "study.yaml:1:4: character U+D800 cannot be in a YAML file; remove it"),
        ("- 1\n---\n- 2\n", "study.yaml:2:1: a second document starts here; keep one document in a file"),
        ("study: *x", "study.yaml:1:8: study: '*x' has no '&x' before it; define it or quote it"),
        ("a: &x [1, *x]", "study.yaml:1:11: a[1]: '*x' would contain itself; write it out"),
        ("[" * 5000, "study.yaml:1:51: [0][0]: nested more than 50 deep; flatten it"),
        ("a: {" * 5000, "study.yaml:1:200: a.a: nested more than 50 deep; flatten it"),
    ],
)
def test_text_that_is_no_usable_yaml_is_one_fault(text: str, message: str) -> None:
    assert faults_of(text) == [message]


def test_an_object_tag_builds_no_object() -> None:
    faults = faults_of("study: !!python/object/apply:os.system ['touch /tmp/x']\n")
    assert "tag 'tag:yaml.org,2002:python/object/apply:os.system' is not supported; remove it" in "\n".join(
        faults
    )


def test_an_alias_bomb_is_refused_quickly() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 40)]
    (fault,) = faults_of("\n".join(lines))
    assert "the aliases stand for more than 1000000 values; write fewer" in fault


def test_a_merge_key_is_filled_in_and_its_owner_goes_first() -> None:
    faults = Faults("f")
    root = read_document("base: &b {x: 1, y: 2}\nuse: {<<: *b, y: 3}\n", faults)
    assert isinstance(root, MapNode)
    use = root.entries["use"].value
    assert isinstance(use, MapNode)
    values = {name: entry.value for name, entry in use.entries.items()}
    assert {name: node.value for name, node in values.items() if isinstance(node, ScalarNode)} == {
        "x": 1,
        "y": 3,
    }


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("no", "no"),
        ("On", "On"),
        ("yes", "yes"),
        ("true", True),
        ("FALSE", False),
        ("", None),
        ("~", None),
        ("none", "none"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("0x10", 16),
        ("0o17", 15),
        ("010", 10),
        ("-3", -3),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1.", 1.0),
        (".inf", ".inf"),
        (".NaN", ".NaN"),
        ("1e999", "1e999"),
        ("9" * 5000, "9" * 5000),
        ("2026-11-21", "2026-11-21"),
        ("=", "="),
        ("²", "²"),
    ],
)
def test_plain_scalars_follow_the_core_schema_of_yaml_1_2(text: str, meaning: Scalar | None) -> None:
    found = resolve(text)
    assert found == meaning
    assert type(found) is type(meaning)


def test_a_platform_may_be_called_no_or_look_like_a_number() -> None:
    study = read_study("study: s\nworkload: hpcg\nfactors: {platform: [no, 4.10]}\n")
    assert [level.settings["platform"] for level in study.factors[0].levels] == ["no", "4.10"]


@pytest.mark.parametrize(
    "raw",
    [
        b"\xef\xbb\xbfstudy: s\r\nworkload: hpcg\r\n",
        b"study: s\nworkload: hpcg",
        b"{study: s, workload: hpcg}",
    ],
)
def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "study.yaml"
    path.write_bytes(raw)
    study, source = load_study(path, double_catalogue)
    assert (study.name, source.site.name) == ("s", "local")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("study: s".encode("utf-16"), "f:1:1: the file is in UTF-16; save it as UTF-8"),
        ("a: 1\nb: é".encode("latin-1"), "f:2:4: byte 0xe9 is not UTF-8; save the file as UTF-8"),
        (b"\xef\xbb\xbfb: \xe9", "f:1:4: byte 0xe9 is not UTF-8; save the file as UTF-8"),
        (b"\xef\xbb\xbfb: \xc2\xa0\xe9", "f:1:5: byte 0xe9 is not UTF-8; save the file as UTF-8"),
    ],
)
def test_another_encoding_is_named(raw: bytes, message: str) -> None:
    faults = Faults("f")
    assert decode_text(raw, faults) is None
    assert [str(fault) for fault in faults.found.values()] == [message]


def test_hostile_values_are_shown_on_one_printable_line() -> None:
    text = 'study: "a\\nb\\e[31m$(reboot)"\n"k\\ney": 1\nworkload: "' + "x" * 5000 + '"\n'
    faults = faults_of(text)
    assert len(faults) == 3
    assert all(fault.isprintable() and len(fault) < 400 for fault in faults)


def test_a_list_of_20000_cases_loads_in_one_piece() -> None:
    rows = "".join(f"  - {{nx: {n + 1}, ranks: [4, 8], ranks_per_node: 2}}\n" for n in range(20_000))
    study = read_study(f"study: s\nworkload: hpcg\ncases:\n{rows}")
    assert len(study.cases) == 40_000
    assert study.cases[-1].origin is not None
    assert study.cases[-1].origin.line == 20_003


_PLACED = re.compile(r"study\.yaml:[1-9]\d*:[1-9]\d*: \S")

FRAGMENTS = st.sampled_from(
    [
        "study:",
        "workload:",
        "factors:",
        "cases:",
        "where:",
        "exclude:",
        "repeats:",
        "reference:",
        "workloads:",
        "site:",
        "nodes:",
        "scaling:",
        "[",
        "]",
        "{",
        "}",
        ",",
        "-",
        "?",
        ":",
        "&",
        "*",
        "!",
        "|",
        ">",
        "'",
        '"',
        "%",
        "@",
        "#",
        "~",
        "\n",
        "\n",
        "",
        "",
        "hpcg",
        "4",
        "2%",
        "&a",
        "*a",
        "<<",
        "!!str",
        "nodes",
        "network",
        "host",
        "command",
        "foms",
        "setup",
        "name",
        "regex",
        "unit",
        "64KiB",
        "1e9",
        "-1",
        "true",
        "no",
        ".inf",
        "é",
        "😀",
        "\t",
    ]
)


def _check_outcome(text: str) -> None:
    """Read `text` as a study and as a site: it is one, or every line of what is raised has a place."""
    try:
        read_study(text)
    except FileFaults as error:
        unplaced = [line for line in str(error).splitlines() if not _PLACED.match(line)]
        assert unplaced == []
    try:
        site_from_text(text, "study.yaml", {})
    except FileFaults as error:
        unplaced = [line for line in str(error).splitlines() if not _PLACED.match(line)]
        assert unplaced == []


@given(st.text(max_size=200))
def test_no_text_crashes_the_study_reader(text: str) -> None:
    _check_outcome(text)


@given(st.lists(FRAGMENTS, max_size=60).map(" ".join))
def test_no_yaml_like_text_crashes_the_study_reader(text: str) -> None:
    _check_outcome("study: s\nworkload: hpcg\n" + text)
    _check_outcome(text)


_LEAVES = st.sampled_from(
    [None, True, 0, 1, -1, 2.5, "", "hpcg", "host", "nodes > 1", "2 %", "x{y}", "~", "[", "a\nb"]
)
_TREES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_LEAVES.map(str), inner, max_size=3),
    max_leaves=8,
)
_KEYS = st.sampled_from(
    [
        "study",
        "question",
        "site",
        "reference",
        "factors",
        "cases",
        "exclude",
        "where",
        "repeats",
        "warmup",
        "margin",
        "workload",
        "platform",
        "network",
        "storage",
        "io",
        "nodes",
        "ranks",
        "threads",
        "bind",
        "timeout",
        "retries",
        "seed",
        "scaling",
        "telemetry",
        "workloads",
        "platforms",
        "networks",
        "lab",
        "agent",
    ]
)


@given(st.dictionaries(_KEYS, _TREES | st.dictionaries(_KEYS, _TREES, max_size=3), max_size=6))
def test_no_tree_of_values_under_known_keys_crashes_a_reader(tree: dict[str, object]) -> None:
    text = yaml.safe_dump(tree, sort_keys=False)
    _check_outcome(text)
