"""Every piece of YAML in the documentation is one that Tare takes: files, fragments, keys in sentences.

A block with the key `study`, or `site` and `platforms`, or `rules` is a whole file. Any other is a fragment,
each of whose entries must be one of a study or a site, unless OTHERS has it: then it is a file of another
tool. Code in a sentence that begins with a key, such as `bind: core`, must be an entry of some
mapping of these files.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import msgspec
import pytest
import yaml
from markdown_it import MarkdownIt

from tare.config import json_schema, site_from_text
from tare.config.rules_file import _RulesFile, load_rules
from tare.core.software import SOFTWARE_SETTINGS

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "studies").rglob("*.md")])
OTHERS = {
    "docs/check.md": {"jobs", "measure"},  # pipelines
    "docs/coming-from.md": {"name", "ramble", "solvers"},  # JUBE, Ramble, Pavilion
    "docs/howto/pull-request.md": {"on"},
    "docs/prometheus.md": {"scrape_configs"},
}
"""The first keys of blocks for other tools, by page."""
PRINTED = {"queued"}
"""What Tare prints with a colon, and what is no key."""
_MARKDOWN = MarkdownIt("commonmark").enable("table")
Entries = list[tuple[str, object]]


class Block(NamedTuple):
    """A block of YAML: its page, the line where it begins, and its text."""

    page: str
    line: int
    text: str

    @property
    def entries(self) -> Entries:
        return entries(self.text)

    @property
    def keys(self) -> list[str]:
        return [key for key, _ in self.entries]


def entries(text: str) -> Entries:
    """Return the entries of a mapping; a key may be there several times, as alternatives."""
    loader = yaml.SafeLoader(text)
    node = loader.get_single_node()
    assert isinstance(node, yaml.MappingNode), text
    return [(key.value, loader.construct_object(value, deep=True)) for key, value in node.value]


def blocks() -> Iterator[Block]:
    for page in PAGES:
        for token in _MARKDOWN.parse(page.read_text()):
            if token.type == "fence" and token.info.split()[:1] in (["yaml"], ["yml"]):
                yield Block(str(page.relative_to(ROOT)), (token.map or [0])[0] + 1, token.content)


def spans() -> Iterator[tuple[str, str]]:
    """Yield each piece of code in a sentence that begins with a key: its page, and the code."""
    for page in PAGES:
        if page.name in {"CHANGELOG.md", "reference.md"}:  # what was once; what is generated
            continue
        for token in _MARKDOWN.parse(page.read_text()):
            for one in token.children or ():
                key, colon, _ = one.content.partition(": ")
                if one.type == "code_inline" and colon and key.isidentifier() and key.islower():
                    yield str(page.relative_to(ROOT)), one.content


BLOCKS = [one for one in blocks() if one.keys[0] not in OTHERS.get(one.page, ())]
SPANS = sorted({one for one in spans() if one[1].partition(":")[0] not in PRINTED})


@functools.cache
def schemas() -> dict[str, dict[str, Any]]:
    return {
        "study": json_schema("study"),
        "site": json_schema("site"),
        "rules": msgspec.json.schema(_RulesFile),
    }


def errors(schema: dict[str, Any], document: object) -> list[str]:
    validator = jsonschema.Draft202012Validator(schema)
    return [f"{one.json_path}: {one.message}" for one in validator.iter_errors(document)]


def file_errors(document: dict[str, object]) -> list[str]:
    """Return what is wrong with a whole file."""
    return errors(schemas()["study" if "study" in document else "site"], document)


def fragment_errors(key: str, value: object) -> list[str]:
    """Return what is wrong with an entry of a study or a site, each for the file that it fits best."""
    found = [f"{key} is no key of a study or a site"]
    for kind in ("study", "site"):
        schema = copy.deepcopy(schemas()[kind])
        top = schema["$defs"][schema["$ref"].rpartition("/")[2]]
        top.pop("required", None)
        if key in top["properties"]:
            wrong = errors(schema, {key: value})
            if not wrong:
                return []
            found = wrong
    return found


def span_errors(text: str) -> list[str]:
    """Return what is wrong with entries in a sentence: of any mapping, or levels of a factor."""
    try:
        given = entries(f"{{{text}}}")
    except yaml.YAMLError as error:
        return [f"is no YAML: {error}"]
    return [wrong for key, value in given for wrong in _entry_errors(key, value, is_cut="…" in text)]


def _entry_errors(key: str, value: object, *, is_cut: bool) -> list[str]:
    found = [f"{key} is no key"]
    for schema in schemas().values():
        defs = {
            name: {key: one for key, one in body.items() if key != "required"}
            for name, body in schema["$defs"].items()
        }
        holders = [name for name, one in defs.items() if key in one.get("properties", ())]
        places = [f"{name}/properties/{key}" for name in holders]
        if places and "StudyFile" in defs:
            levels = "StudyFile/properties/factors/additionalProperties"
            places += [levels, *([f"{levels}/items"] if key in SOFTWARE_SETTINGS else [])]
        for place in places:
            wrong = [] if is_cut else errors({"$ref": f"#/$defs/{place}", "$defs": defs}, value)
            if not wrong:
                return []
            found = wrong
    return found


@pytest.mark.parametrize("block", BLOCKS, ids=lambda one: f"{one.page}:{one.line}")
def test_every_block_is_a_file_of_tare_or_a_part_of_one(block: Block, tmp_path: Path) -> None:
    if "rules" in block.keys:
        (tmp_path / "rules.yaml").write_text(block.text)
        assert load_rules(tmp_path / "rules.yaml").sources
    elif "study" in block.keys or {"site", "platforms"} <= {*block.keys}:
        assert file_errors(dict(block.entries)) == []
        if "study" not in block.keys:
            assert site_from_text(block.text, block.page).platforms
    else:
        assert [wrong for entry in block.entries for wrong in fragment_errors(*entry)] == []


@pytest.mark.parametrize(("page", "text"), SPANS)
def test_every_key_in_a_sentence_is_one(page: str, text: str) -> None:
    assert span_errors(text) == [], page


def test_there_are_blocks_and_keys_to_look_at() -> None:
    assert len(BLOCKS) > 30
    assert len(SPANS) > 40
    assert {one.page for one in blocks()} >= OTHERS.keys(), "a page of OTHERS has no blocks any more"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("study: s\nrepeat: 3\n", "'repeat' was unexpected"),
        ("study: s\nworkloads: {w: {command: x, foms: [], input: {a: b}}}\n", "'input' was unexpected"),
        ("site: s\nplatforms: {p: {launch: openmpi5}}\n", "'launch' was unexpected"),
        ("telemetry: {periods: 1 s}\n", "'periods' was unexpected"),
        ("inputs: {a: {sha256: abc}}\n", "inputs.a"),
        ("launcher: srun\n", "launcher is no key of a study or a site"),
    ],
)
def test_a_wrong_key_or_value_is_found(text: str, fault: str) -> None:
    given = entries(text)
    is_whole = {"study", "site"} & dict(given).keys()
    wrong = [one for entry in given for one in fragment_errors(*entry)]
    if is_whole:
        wrong = file_errors(dict(given))
    assert fault in " ".join(wrong)


@pytest.mark.parametrize("text", ["bnd: core", "bind: [core", "bind: kore", "shape: {nod: 1}"])
def test_a_wrong_key_in_a_sentence_is_found(text: str) -> None:
    assert span_errors(text)
