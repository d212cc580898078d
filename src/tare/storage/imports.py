"""Import existing output as a campaign: files become cases, blocks and attempts, and stay as evidence."""

from __future__ import annotations

import errno
import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from tare.core.attempt import Attempt, Source, State
from tare.core.campaign import Campaign
from tare.core.case import LAYOUT, Binding, Case
from tare.core.errors import CampaignError
from tare.core.plan import Plan
from tare.core.redaction import redact_text
from tare.core.safe_folder import SafeFolder
from tare.core.study import DESIGN_SETTINGS, Repeats
from tare.core.units import format_bytes
from tare.core.user_files import open_given
from tare.core.values import EARLIEST_S, LATEST_S, Scalar, Settings
from tare.core.workload import Fom
from tare.plan import identified, lay_out, varied_settings
from tare.storage.campaign import freeze, open_journal
from tare.storage.candidates import Candidate
from tare.storage.import_files import ReadFile, ReadFiles, joined, undivided, without_value
from tare.storage.import_summary import Understood, understand
from tare.storage.journal import AttemptEnded, BlockBegan
from tare.storage.journal_state import JournalState
from tare.storage.links import linked
from tare.storage.sessions import with_passes
from tare.storage.trees import PACKED, Refused, is_packed, natural, printable

NO_PLATFORM = "unknown"
"""The platform of imported runs for which no platform is given."""


class Imported(msgspec.Struct, frozen=True):
    """A file as an attempt.

    `evidence` is the file's name in the attempt's folder. `argv` is the command that imports it. `is_linked`
    allows the evidence to be a hard link to the file.
    """

    path: Path
    case: Case
    attempt: Attempt
    evidence: str
    argv: tuple[str, ...]
    is_linked: bool = True
    understood: Understood = Understood({}, {})


class Import(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an import. `n_known` files were imported before; `remarks` are for people to judge."""

    runs: tuple[Imported, ...]
    refused: tuple[Refused, ...]
    remarks: tuple[str, ...]
    n_known: int


class _Record(msgspec.Struct, frozen=True):
    """The content of command.json of an imported attempt: the same keys as for a run one, and its source."""

    stage: str
    host: str | None
    argv: tuple[str, ...]
    env: dict[str, str]
    source: Source | None


class _Placed(NamedTuple):
    file: ReadFiles
    source: Source
    block: int


class Importer(msgspec.Struct, frozen=True, kw_only=True):
    """Turns files into attempts of one workload, in addition to those that a campaign has already.

    `judge` reads one file and compares it with the given settings; it raises OSError where the file cannot be
    read. `digest` and `output` are the workload's. `keeps_equal` counts files of equal content as repeats.
    """

    workload: str
    digest: str | None
    output: str
    judge: Callable[[Path, Case], ReadFile]
    existing: tuple[Attempt, ...] = ()
    keeps_equal: bool = False

    def gather(self, candidates: Iterable[Candidate]) -> Import:
        """Return the result for `candidates`: each is an attempt, known already, or refused.

        Writes nothing.
        """
        refused: list[Refused] = []
        remarks: list[str] = []
        new, n_known = self._new_files(candidates, refused, remarks)
        runs = [self._imported(placed) for placed in self._numbered(new, refused)]
        return Import(runs=tuple(runs), refused=tuple(refused), remarks=tuple(remarks), n_known=n_known)

    def _new_files(
        self, candidates: Iterable[Candidate], refused: list[Refused], remarks: list[str]
    ) -> tuple[list[ReadFiles], int]:
        """Return the new files, and the number of known ones; contradictory files go to `refused`."""
        by_path = {one.source.path: one for one in self.existing if one.source}
        by_content: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for one in by_path.values():
            if one.source:
                by_content[one.source.sha256].append((one.case, one.source.path))
        new, n_known = [], 0
        for read in joined(self._readable(candidates, refused)):
            case, source, name = read.case, read.source, read.source.path
            known = by_path.get(name)
            if (
                known is not None
                and known.source
                and known.source.sha256 == source.sha256
                and known.case == case.id
            ):
                n_known += 1
                continue
            why = _contradiction(known, source) if known else self._copy_of(case, source, by_content)
            if why:
                refused.append(Refused(name, why))
                continue
            elsewhere = next((path for _, path in by_content[source.sha256]), None)
            if elsewhere:
                remarks.append(f"{name} has the same content as {elsewhere}; is one a copy?")
            by_content[source.sha256].append((case.id, name))
            new.append(read)
        remarks += [*undivided(new), *without_value(new)]
        return new, n_known

    def _readable(self, candidates: Iterable[Candidate], refused: list[Refused]) -> list[ReadFiles]:
        """Return what was read from the files; those that cannot be read go to `refused`."""
        found = []
        for candidate in candidates:
            name = printable(candidate.path)
            read = self._read(candidate, name)
            if isinstance(read, str):
                refused.append(Refused(name, read))
            else:
                found.append(read)
        return found

    def _read(self, candidate: Candidate, name: str) -> ReadFiles | str:
        """Return what was read from a file, with its case, or why it makes none."""
        given = make_case(self.workload, self.digest, candidate.settings)
        if isinstance(given, str):
            return given
        try:
            if is_packed(candidate.path):
                return PACKED
            source = Source(name, _sha256(candidate.path))
            judged = self.judge(candidate.path, given)
        except OSError as error:
            return f"cannot be read: {error.strerror}"
        understood = understand(candidate.settings, candidate.origins, judged.printed)
        case = make_case(self.workload, self.digest, understood.settings)
        if isinstance(case, str) and judged.state is State.INVALID:  # its reason names both values already
            understood = understand(candidate.settings, candidate.origins, {})
            case = make_case(self.workload, self.digest, understood.settings)
        if isinstance(case, str):
            return f"{case} (the program printed {_facts(judged.printed)})"
        return ReadFiles(case, candidate, source, judged, understood)

    def _copy_of(
        self, case: Case, source: Source, by_content: Mapping[str, Sequence[tuple[str, str]]]
    ) -> str:
        """Return why a file would count one run twice; empty if it would not."""
        if self.keeps_equal:
            return ""
        known = (path for other, path in by_content.get(source.sha256, ()) if other == case.id)
        return next((f"the same content and settings as {path}: one run is not two" for path in known), "")

    def _numbered(self, new: Iterable[ReadFiles], refused: list[Refused]) -> list[_Placed]:
        """Return the files with their blocks, sorted by block."""
        by_case: dict[str, list[ReadFiles]] = defaultdict(list)
        for one in new:
            by_case[one.case.id].append(one)
        taken: dict[str, dict[int, str]] = defaultdict(dict)
        for attempt in self.existing:
            taken[attempt.case][attempt.block] = attempt.source.path if attempt.source else attempt.folder
        placed = []
        for case_id, files in by_case.items():
            blocks = taken[case_id]
            files.sort(key=lambda one: _order(one.candidate))
            has_numbers = all(_block_number(one.candidate) for one in files)
            for one in files:
                source = one.source
                block = _block_number(one.candidate) if has_numbers else max(blocks, default=0) + 1
                if block in blocks:
                    why = f"block {block} of these settings is {blocks[block]} already"
                    refused.append(Refused(source.path, why))
                    continue
                blocks[block] = source.path
                has_time = _moment(one.candidate.started) is not None
                located = msgspec.structs.replace(source, gives_block=has_numbers, gives_time=has_time)
                placed.append(_Placed(one, located, block))
        return sorted(placed, key=lambda one: one.block)

    def _imported(self, placed: _Placed) -> Imported:
        file, judged = placed.file, placed.file.judged
        path = file.candidate.path
        attempt = Attempt(
            case=file.case.id,
            block=placed.block,
            attempt=1,
            state=judged.state,
            reason=redact_text(judged.reason),
            check=judged.check,
            started_at=started_at(file.candidate.started, path.stat().st_mtime),
            series=list(judged.series),
            source=placed.source,
            printed={name: list(values) for name, values in judged.printed.items()},
            left_out=list(judged.left_out),
        )
        argv = ("tare", "import", self.workload, placed.source.path)
        evidence = _evidence_name(self.output, path)
        return Imported(path, file.case, attempt, evidence, argv, understood=file.understood)


def make_case(workload: str, digest: str | None, settings: Settings) -> Case | str:
    """Return the case of `settings`, or why they make none.

    Only given settings are set: unlike a planned case, it has no defaults for other parameters. A setting
    that is not a design setting becomes a parameter. Layout settings that are not known are listed in
    `unknown`.
    """
    layout = lay_out(
        settings.get("nodes"),
        settings.get("ranks"),
        settings.get("ranks_per_node"),
        settings.get("threads"),
        Binding(str(settings["bind"])) if "bind" in settings else None,
    )
    if isinstance(layout, str):
        return layout
    return identified(
        Case(
            id="",
            workload=workload,
            platform=str(settings.get("platform", NO_PLATFORM)),
            network=_text(settings.get("network")),
            storage=_text(settings.get("storage")),
            io=_text(settings.get("io")),
            layout=layout,
            parameters={name: settings[name] for name in sorted(settings) if name not in DESIGN_SETTINGS},
            unknown=tuple(name for name in LAYOUT if name not in settings),
        ),
        digest,
    )


def extended_plan(
    plan: Plan, cases: Iterable[Case], foms: Mapping[str, tuple[Fom, ...]], reference: Settings, n_blocks: int
) -> Plan:
    """Return `plan` with more cases. It plans no run beyond the existing ones, so none is ever pending."""
    known = {case.id: case for case in (*plan.cases, *cases)}
    return msgspec.structs.replace(
        plan,
        cases=tuple(known.values()),
        varied=varied_settings(known.values()),
        foms={**plan.foms, **foms},
        reference=reference or plan.reference,
        repeats=Repeats(min=0, max=n_blocks),
    )


def write_import(folder: Path, plan: Plan, runs: Sequence[Imported], existing: Campaign | None) -> None:
    """Write the campaign in `folder`, or add `runs` to the `existing` one: evidence, plan, then journal.

    After a crash, the same import completes what is missing. Raises CampaignError.
    """
    with open_journal(folder) as journal:
        recorded = JournalState(journal.events).current_attempts(is_running=False)
        if with_passes(recorded) != (existing.attempts if existing else ()):
            raise CampaignError(f"{folder}: another tare has changed it meanwhile; import again")
        orders = {block: list(order) for block, order in existing.orders.items()} if existing else {}
        with CampaignError.for_files(folder):
            for run in runs:
                _keep_evidence(folder, run)
        freeze(folder, plan, {})
        for run in runs:
            orders.setdefault(run.attempt.block, []).append(run.attempt.case)
        for block in sorted({run.attempt.block for run in runs}):
            journal.append(BlockBegan(block, orders[block]), is_synced=False)
        for index, run in enumerate(runs, 1):
            journal.append(AttemptEnded(run.attempt), is_synced=index == len(runs))


def _keep_evidence(folder: Path, run: Imported) -> None:
    """Add the raw file to the evidence, as a hard link where the file system allows it, else as a copy."""
    folder_of_run = SafeFolder(folder, run.attempt.folder)
    target = folder_of_run / run.evidence
    if not (run.is_linked and linked(run.path.resolve(), target)):
        target.replace(run.path.read_bytes(), is_synced=False)
    record = _Record("import", None, run.argv, {}, run.attempt.source)
    (folder_of_run / "command.json").replace(msgspec.json.encode([record]), is_synced=False)


def _contradiction(known: Attempt, source: Source) -> str:
    if known.source and known.source.sha256 != source.sha256:
        return f"its content is not what was imported as {known.folder}; import into another folder"
    return f"imported with other settings as {known.folder}; import into another folder"


def _facts(printed: Mapping[str, tuple[Scalar, ...]]) -> str:
    layout = {name: values[0] for name, values in printed.items() if name in LAYOUT and len(values) == 1}
    return ", ".join(f"{name}={value}" for name, value in layout.items())


def _order(candidate: Candidate) -> tuple[object, ...]:
    order = candidate.block if candidate.block is not None else candidate.started
    return natural(order or ""), natural(os.fspath(candidate.path))


def _block_number(candidate: Candidate) -> int:
    """Return the number of the block that is given for a file; 0 if it is missing or not a whole number."""
    text = candidate.block or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def started_at(given: str | None, modified_s: float) -> float | None:
    """Return when a run started: the `given` time, or else when its file was modified; None beyond calendars.

    File systems have times that no calendar has, such as those of a forged archive.
    """
    moment = _moment(given)
    seconds = modified_s if moment is None else moment
    return seconds if EARLIEST_S <= seconds <= LATEST_S else None


def _moment(text: str | None) -> float | None:
    """Return a time, in ISO 8601 or in seconds since the epoch, as seconds; without a zone it is UTC."""
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) == 10:
        return float(text)
    if text.isascii() and text.isdigit() and len(text) in (12, 14):  # 202010261851, as in names of files
        text = f"{text[:8]}T{text[8:]}"
    for candidate in (text, text.replace("_", "T", 1), text[:11] + text[11:].replace("-", ":")):
        try:
            moment = datetime.fromisoformat(candidate)
        except ValueError:
            continue
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return None


def _evidence_name(output: str, path: Path) -> str:
    """Return the name of the output file that a run of the workload would have written."""
    if "*" not in output:
        return output
    return path.name if path.match(output) and path.name.isprintable() else output.replace("*", "-imported")


_MOST_BYTES = 1024 * 1024 * 1024
"""The most bytes of a log; a sparse file from an archive may have terabytes, which take minutes to hash."""


def _sha256(path: Path) -> str:
    """Return the checksum of a log. Raises OSError (EFBIG) above _MOST_BYTES."""
    with open_given(path) as file:
        if os.fstat(file.fileno()).st_size > _MOST_BYTES:
            raise OSError(errno.EFBIG, f"it has more than {format_bytes(_MOST_BYTES)}, which is no log")
        return hashlib.file_digest(file, "sha256").hexdigest()


def _text(value: Scalar | None) -> str | None:
    return None if value is None else str(value)
