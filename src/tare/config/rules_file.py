"""Read a file of rules, as `tare check --rules` takes it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from tare.analysis.checking.rules import Kind, RuleSource
from tare.config.decode import decode
from tare.config.document import MapNode, Node, decode_text, find, read_document
from tare.config.faults import Faults, format_path, shown
from tare.core.errors import UsageError
from tare.core.fields import Word
from tare.core.user_files import read_given


class _RuleFile(msgspec.Struct, frozen=True, kw_only=True):
    """One rule: a name for reports, and the condition on which it fails or passes."""

    name: str = ""
    fail_if: Annotated[Word | None, Meta(examples=["overhead(network=overlay) > 5 %"])] = None
    pass_if: Annotated[Word | None, Meta(examples=["value(latency, network=host) < 3 us"])] = None


class _RulesFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of rules. What it leaves out is left to the command line."""

    rules: Annotated[
        tuple[_RuleFile, ...],
        Meta(min_length=1, examples=["[{fail_if: overhead(network=overlay) > 5 %}]"]),
    ]
    undecided: Literal["pass", "warn", "fail"] | None = None
    family: Literal["check", "rule"] | None = None
    require_complete: bool = False


class RulesFile(NamedTuple):
    """The rules of a file as written, and how they are to be judged; None where the file leaves it open."""

    sources: tuple[RuleSource, ...]
    undecided: str | None
    family: str | None
    requires_complete: bool


def load_rules(path: Path) -> RulesFile:
    """Return the rules of the file at `path`. Raises FileFaults with every fault of it, or UsageError."""
    try:
        raw = read_given(path)
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"--rules {path}: cannot be read: {problem}") from error
    faults = Faults(str(path))
    text = decode_text(raw, faults)
    root = None if text is None else read_document(text, faults)
    file = None if root is None else decode(root, _RulesFile, faults)
    sources = [] if file is None or root is None else _sources(file, root, faults)
    faults.raise_any()
    if file is None:
        raise UsageError(f"--rules {path}: cannot be read")  # unreachable: what is missing is a fault
    return RulesFile(tuple(sources), file.undecided, file.family, file.require_complete)


def _sources(file: _RulesFile, root: Node, faults: Faults) -> list[RuleSource]:
    sources: list[RuleSource] = []
    lines: dict[str, int] = {}  # of rules, by their names
    for index, rule in enumerate(file.rules):
        node = find(root, ("rules", index))
        written = {Kind.FAIL_IF: rule.fail_if, Kind.PASS_IF: rule.pass_if}
        texts = {kind: text for kind, text in written.items() if text is not None}
        if len(texts) != 1:
            faults.add(node, ("rules", index), "a rule has one of fail_if and pass_if; write one of them")
            continue
        ((kind, text),) = texts.items()
        name = rule.name or " ".join(text.split())  # as reports name it
        if name in lines:
            key = "name" if rule.name else str(kind)
            faults.add(
                find(root, ("rules", index, key)),
                ("rules", index, key),
                f"the rule of line {lines[name]} is {shown(name)}, too; give each a name of its own",
            )
        lines.setdefault(name, node.line)
        path = ("rules", index, str(kind))
        position = node.entries[str(kind)].value if isinstance(node, MapNode) else node
        where = f"{faults.file}:{position.line}:{position.column}: {format_path(path)}"
        sources.append(
            RuleSource(
                text=text, kind=kind, where=where, name=rule.name, file=faults.file, line=position.line
            )
        )
    return sources
