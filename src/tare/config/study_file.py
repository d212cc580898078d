"""Load a study file: decode it, then interpret it with the names of its site and its workloads."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tare.config.around import read_commands, read_inputs
from tare.config.conditions import ConditionReader, levels_of
from tare.config.decode import decode
from tare.config.document import (
    ListNode,
    MapNode,
    Node,
    ScalarNode,
    child,
    decode_text,
    find,
    read_document,
)
from tare.config.faults import START, Faults, shown
from tare.config.inline import define_workloads
from tare.config.levels import LevelReader, named_workloads
from tare.config.reference import ReferenceReader
from tare.config.scaled_settings import read_scaling
from tare.config.settings import COUNTS, Vocabulary
from tare.config.site_file import SiteSource, read_site
from tare.config.study_types import BudgetFile, RepeatsFile, ScalingFile, StudyFile, StudyTelemetryFile
from tare.config.watching import watching
from tare.config.workload_slips import has_misplaced_keys
from tare.core.case import Binding
from tare.core.errors import Fault, FileFaults, KeyPath, UsageError
from tare.core.program import PROGRAM_SETTINGS
from tare.core.site import Site
from tare.core.software import SOFTWARE_SETTINGS
from tare.core.study import DESIGN_SETTINGS, Budget, Level, Origin, Repeats, Study
from tare.core.telemetry_options import TelemetryOptions
from tare.core.units import Dimension, parse_quantity
from tare.core.user_files import read_given
from tare.core.values import Scalar
from tare.core.workload import InlineDefinition, Workload

Catalogue = Callable[[Sequence[InlineDefinition]], Mapping[str, Workload]]
"""Takes the workloads that a study declares, and returns every workload by name, including those."""

_DEFAULT_MIN = 5
_DEFAULT_MAX = 30
_RUNS = re.compile(r"([0-9]{1,9})\s*runs?")
_COMMON = tuple(name for name in (*DESIGN_SETTINGS, *PROGRAM_SETTINGS) if name != "workload")


class StudySource(NamedTuple):
    """The text of a study, the name of its file, and the folder in which it looks for its site.

    `has_lines` is False if the text is that of a mapping of Python, whose lines nobody wrote.
    """

    raw: bytes
    file_name: str
    near: Path
    has_lines: bool = True

    @classmethod
    def of(cls, path: Path) -> StudySource:
        """Return the study in the file at `path`. Raises UsageError when the file cannot be read."""
        try:
            return cls(read_given(path), str(path), path.parent)
        except OSError as error:
            raise UsageError(f"study {path} cannot be read: {error.strerror}; name a study file") from error


def load_study(
    path: Path | StudySource, catalogue: Catalogue, site: Path | SiteSource | None = None
) -> tuple[Study, SiteSource]:
    """Return the study of a file, and its site: `site`, or else the one that the study names.

    Raises FileFaults with every fault of both files, UsageError when the file cannot be read.
    """
    given = StudySource.of(path) if isinstance(path, Path) else path
    faults = Faults(given.file_name, has_lines=given.has_lines)
    text = decode_text(given.raw, faults)
    root = read_document(text, faults) if text is not None else None
    source, foreign = _read_site(root, given.near, site, faults)
    study = _StudyReader(faults, catalogue, source.site if source else None).read(root)
    faults.raise_any(foreign)
    if study is None or source is None:
        raise UsageError(f"study {given.file_name} cannot be read")  # unreachable: what is missing is a fault
    return study, source


def study_from_text(text: str, file_name: str, catalogue: Catalogue, site: Site) -> Study:
    """Return the study in `text`, such as the copy that a campaign stores.

    Raises FileFaults with every fault, located in `file_name`.
    """
    faults = Faults(file_name)
    study = _StudyReader(faults, catalogue, site).read(read_document(text, faults))
    faults.raise_any()
    if study is None:
        raise UsageError(f"study {file_name} cannot be read")  # unreachable: what is missing is a fault
    return study


def _read_site(
    root: Node | None, near: Path, site: Path | SiteSource | None, faults: Faults
) -> tuple[SiteSource | None, Sequence[Fault]]:
    """Return `site`, or the one that the study names; None with its file's faults."""
    if isinstance(site, SiteSource):
        return site, ()
    node = child(root, "site")
    try:
        if site is not None:
            return read_site(str(site)), ()
        return read_site(node.text if isinstance(node, ScalarNode) and node.text else "local", near), ()
    except FileFaults as error:
        return None, error.faults
    except UsageError as error:
        if site is not None:
            raise
        faults.add(node or START, ("site",), str(error))
        return None, ()


class _StudyReader:
    """Reads one study."""

    def __init__(self, faults: Faults, catalogue: Catalogue, site: Site | None) -> None:
        self.faults = faults
        self.catalogue = catalogue
        self.site = site

    def read(self, root: Node | None) -> Study | None:
        """Return the study, or None; check the faults in either case."""
        if root is None:
            return None
        if child(root, "platforms") is not None and child(root, "study") is None:
            message = "this is a site file; name a study file, which names its site by 'site'"
            self.faults.add(START, (), message)
            return None
        if has_misplaced_keys(root, self.faults):
            return None  # all that follows from it would only be noise
        file = decode(root, StudyFile, self.faults)
        if not isinstance(root, MapNode):
            return None
        declared = define_workloads(file.workloads if file else {}, child(root, "workloads"), self.faults)
        workloads = self._all_workloads(declared)
        named = _keys(child(root, "workloads"))
        faulty = [name for name in named if name not in workloads]
        declared_at = child(root, "workloads")
        loose = [key for name in faulty for key in _keys(child(child(declared_at, name), "parameters"))]
        vocabulary = Vocabulary(self.site, workloads, named_workloads(root), faulty, loose)
        return self._translate(root, file, declared, vocabulary)

    def _all_workloads(self, declared: Sequence[InlineDefinition]) -> Mapping[str, Workload]:
        """Return every workload, without the study's own if the catalogue refuses these because of faults."""
        try:
            return self.catalogue(declared)
        except (UsageError, ValueError):
            if not self.faults.found:
                raise
            return self.catalogue(())

    def _translate(
        self,
        root: MapNode,
        file: StudyFile | None,
        declared: tuple[InlineDefinition, ...],
        vocabulary: Vocabulary,
    ) -> Study | None:
        n_faults = len(self.faults.found)
        reader = LevelReader(vocabulary, self.faults)
        factors = reader.factors(child(root, "factors"), ("factors",))
        cases = reader.cases(child(root, "cases"), ("cases",))
        own = self._workload(root, reader)
        own_software = {name: own.pop(name) for name in tuple(own) if vocabulary.is_software(name)}
        common = {**own, **self._common(root, reader)}
        levels = [*levels_of(factors, cases), Level(settings=common)]
        is_whole = len(self.faults.found) == n_faults
        conditions = ConditionReader(vocabulary, self.faults, levels)
        exclude = conditions.exclusions(child(root, "exclude"), ("exclude",))
        where = conditions.read(child(root, "where"), ("where",))
        references = ReferenceReader(vocabulary, self.faults, factors, levels, is_whole=is_whole)
        reference = references.read(child(root, "reference"))
        if not any(True for _ in named_workloads(root)):
            message = "no workload is named; add one, such as 'factors: {workload: [imb.pingpong]}'"
            self.faults.add(root, (), message)
        if file is None:
            return None
        return Study(
            name=file.study,
            question=" ".join(file.question.split()),
            site=file.site,
            workloads=declared,
            factors=factors,
            cases=cases,
            common=common,
            exclude=exclude,
            where=where,
            reference=reference,
            own_software=own_software,
            named_levels=references.named_levels,
            repeats=self._repeats(root, file.repeats),
            warmup=int(file.warmup),
            margin=file.margin,
            timeout_s=file.timeout,
            retries=file.retries,
            seed=_seed(file.study) if file.seed is None else file.seed,
            scaling=read_scaling(root, file.scaling or ScalingFile(), conditions, levels),
            telemetry=self._telemetry(root, file.telemetry),
            is_profiled=file.profile,
            is_aa=file.twins,
            prologue=read_commands("prologue", child(root, "prologue"), self._reporter(root)),
            epilogue=read_commands("epilogue", child(root, "epilogue"), self._reporter(root)),
            inputs=read_inputs(file.inputs, self._reporter(root)),
            origins=self._origins(root, file),
        )

    def _reporter(self, root: MapNode) -> Callable[[KeyPath, str], None]:
        """Return the function that records a fault at a path of the file."""
        return lambda path, message: self.faults.add(find(root, path), path, message)

    def _origins(self, root: MapNode, file: StudyFile) -> dict[str, Origin]:
        """Return where the top entries of the file are, and the inputs, by their paths in it."""
        paths: list[KeyPath] = [(name,) for name in root.entries]
        paths += [("inputs", name) for name in file.inputs]
        paths += [
            ("workloads", own, "inputs", name) for own, one in file.workloads.items() for name in one.inputs
        ]
        origins = (self.faults.origin(find(root, path), path) for path in paths)
        return {origin.path: origin for origin in origins}

    def _workload(self, root: MapNode, reader: LevelReader) -> dict[str, Scalar]:
        """Return the settings of the workload that the study names at its top."""
        node = child(root, "workload")
        levels = reader.workload(node, ("workload",)) if node is not None else []
        if len(levels) > 1:
            self.faults.add(
                node or root, ("workload",), "a list is not allowed here; use 'factors: {workload: [...]}'"
            )
        return dict(levels[0].settings) if levels else {}

    def _common(self, root: MapNode, reader: LevelReader) -> dict[str, Scalar]:
        """Return the settings that all cases share: the design settings at the top of the file."""
        common: dict[str, Scalar] = {}
        for name in _COMMON:
            node = _joined(child(root, name)) if name in PROGRAM_SETTINGS else child(root, name)
            # Counts and bindings are checked by the decoder, whose type is complete for them.
            if isinstance(node, ScalarNode) and not _is_refused(name, node):
                value = reader.vocabulary.read(name, node, (name,), self.faults)
                if value is not None:
                    common[name] = value
        for name in SOFTWARE_SETTINGS:
            node = child(root, name)
            value = reader.vocabulary.read(name, node, (name,), self.faults) if node is not None else None
            if value is not None:
                common[name] = value
        return common

    def _repeats(self, root: MapNode, file: int | RepeatsFile) -> Repeats:
        if isinstance(file, int):
            return Repeats(min=file, max=file)
        node = child(root, "repeats") or root
        least = file.min or min(_DEFAULT_MIN, file.max or _DEFAULT_MIN)
        most = file.max or (least if file.until is None else max(least, _DEFAULT_MAX))
        if most < least:
            self.faults.add(node, ("repeats",), f"max {most} is less than min {least}; swap them")
        if file.until == 0:
            self.faults.add(node, ("repeats", "until"), "no interval is that narrow; use for example 2 %")
        if most > least and file.until is None and file.budget is None and not _has_slip(node):
            message = f"nothing stops this before {most}; add 'until: 2 %', or write 'repeats: {most}'"
            self.faults.add(node, ("repeats",), message)
        return Repeats(min=least, max=most, until=file.until, budget=self._budget(node, file.budget))

    def _telemetry(self, root: MapNode, file: StudyTelemetryFile) -> TelemetryOptions:
        """Return the site's telemetry options with the study's changes."""
        for number, name in enumerate(file.unwatched or ()):
            if self.site is not None and name not in self.site.platforms:
                node = child(child(root, "telemetry"), "unwatched") or root
                message = (
                    f"the site has no platform {shown(name)}; use one of {', '.join(self.site.platforms)}"
                )
                self.faults.add(node, ("telemetry", "unwatched", number), message)
        if file.packets and self.site is not None and not self.site.networks:
            node = child(child(root, "telemetry"), "packets") or root
            message = "the site names no network whose packets could be counted; add 'networks' to it"
            self.faults.add(node, ("telemetry", "packets"), message)
        found = watching(file, self.site.telemetry if self.site else TelemetryOptions(), root, self.faults)
        return msgspec.structs.replace(found, unwatched=file.unwatched or ())

    def _budget(self, repeats: Node, file: str | BudgetFile | None) -> Budget:
        if file is None:
            return Budget()
        if isinstance(file, BudgetFile):
            return Budget(
                runs=file.runs, hours=file.hours, node_hours=file.node_hours, counts_queue=file.queue
            )
        budget = _parse_budget(file)
        if budget is None:
            node = child(repeats, "budget") or repeats
            message = f"{shown(file)} is not a budget; write '400 node-hours', '12 h' or '500 runs'"
            self.faults.add(node, ("repeats", "budget"), message)
        return budget or Budget()


def _parse_budget(text: str) -> Budget | None:
    if match := _RUNS.fullmatch(text.strip()):
        return Budget(runs=int(match[1])) if int(match[1]) else None
    if not text.strip()[-1:].isalpha():
        return None  # a number without a unit
    for dimension in (Dimension.NODE_HOURS, Dimension.SECONDS):
        try:
            value = parse_quantity(text, dimension)
        except ValueError:
            continue
        if not 0 < value < float("inf"):
            return None
        return Budget(node_hours=value) if dimension is Dimension.NODE_HOURS else Budget(hours=value / 3600)
    return None


def _joined(node: Node | None) -> Node | None:
    """Return a list of words as the text that is split into them again; any other node as it is."""
    if not isinstance(node, ListNode):
        return node
    text = shlex.join(item.text for item in node.items if isinstance(item, ScalarNode))
    return ScalarNode(node.line, node.column, text, text)


def _is_refused(name: str, node: ScalarNode) -> bool:
    """Return whether the decoder has refused `node` as the value of setting `name`."""
    if name == "bind":
        return node.text not in list(Binding)
    is_count = type(node.value) is int and node.value >= 1
    return name in COUNTS and not is_count


def _keys(node: Node | None) -> tuple[str, ...]:
    return tuple(node.entries) if isinstance(node, MapNode) else ()


def _seed(name: str) -> int:
    """Return a seed that depends on the study's name alone, so that it is the same everywhere."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=4).digest(), "big")


def _has_slip(node: Node) -> bool:
    """Return whether `repeats` has an 'until' or another key that has a fault of its own."""
    return isinstance(node, MapNode) and not node.entries.keys() <= {"min", "max"}
