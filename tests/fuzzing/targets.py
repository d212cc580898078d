"""Everything that reads what somebody else may have written, each as a function of bytes, with true examples.

A target may refuse its input in a sentence, as one of its `refusals`. Any other exception is a fault, and so
is an answer that takes longer than `fuzzing.trying.MOST_S`, or a figure that the text does not hold.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import io
import math
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import click
import msgspec
from click.testing import CliRunner

from fuzzing.invented import invented
from fuzzing.nodes import of_batch_systems, of_nodes, of_programs
from fuzzing.others import of_others
from fuzzing.target import CORPUS, PROJECT, TESTS, Target, as_text, files_of
from support.synthetic import make_campaign, write_campaign
from tare.analysis.checking.rule_parser import parse_rule
from tare.analysis.checking.rules import Kind, RuleSource
from tare.cli.main import make_group
from tare.config.site_file import site_from_text
from tare.config.study_file import study_from_text
from tare.core.campaign import Campaign
from tare.core.errors import TareError
from tare.core.safe_folder import SafeFolder
from tare.core.units import Dimension, parse_quantity
from tare.core.workload import Better, Fom, InlineCheck, InlineDefinition, InlineFom, Workload
from tare.plan import make_plan
from tare.plugins import registry
from tare.plugins.collectors import sampler
from tare.plugins.collectors.prometheus import RefusedQuery, read_range
from tare.plugins.collectors.sysstat import UnreadableSysstat, read_sysstat
from tare.report.evidence import read_evidence
from tare.storage.campaign import ENVIRONMENTS, JOURNAL, PLAN, read_campaign, read_environment
from tare.storage.factors import read_factors
from tare.storage.manifest import check_manifest
from tare.storage.pattern import read_pattern
from tare.storage.telemetry import imported_timeline, read_means
from tare.storage.verifying import verify

_RULE = "overhead(network=overlay) > 5 %"
_SITE = (PROJECT / "src/tare/sites/lab.yaml").read_bytes()


def targets() -> dict[str, Target]:
    """Return all targets by name; examples for workloads are in the collection of real output."""
    workloads = map(_of_workload, registry.workloads().values())
    found = [
        *_of_campaigns(),
        *_of_files(),
        *_of_telemetry(),
        *of_nodes(),
        *of_batch_systems(),
        *of_programs(),
        *of_others(),
    ]
    found += [*workloads, _of_inline()]
    return {one.name: one for one in found}


def _of_campaigns() -> Iterator[Target]:
    holder = tempfile.TemporaryDirectory(prefix="tare-fuzz-")  # until the process ends
    atexit.register(holder.cleanup)
    folder = Path(holder.name)
    write_campaign(make_campaign(), folder)
    examples = {name: (folder / name).read_bytes() for name in (JOURNAL, PLAN)}
    unsummed = examples[JOURNAL].replace(b',"crc32"', b',"x"')
    for name, seeds in ((JOURNAL, (examples[JOURNAL], unsummed)), (PLAN, (examples[PLAN],))):
        yield Target(name, partial(_campaign, folder, examples, name), seeds)
        if name == JOURNAL:
            yield Target("answers", partial(_answers, folder, examples), (unsummed,))
    facts = b'{"n1": {"cpu.cores": "8", "kernel.release": "6.1"}, "n2": {}}'
    yield Target("environment", _environment, (facts,))
    listed = b"".join(
        hashlib.sha256(one).hexdigest().encode() + b"  out/" + one + b"\n" for one in (b"a", b"b")
    )
    yield Target("manifest", _manifest, (listed,), ())
    command = b'[{"argv":["mpirun","--token=x","a"],"env":{"A":"b"},"host":"n1"}]'
    yield Target("commands", _commands, (command,), ())


def _campaign(folder: Path, examples: dict[str, bytes], name: str, data: bytes) -> None:
    place = SafeFolder(folder)
    for one, text in (examples | {name: data}).items():
        (place / one).replace(text, is_synced=False)
    verify(folder)
    _account(read_campaign(folder))


def _answers(folder: Path, examples: dict[str, bytes], data: bytes) -> None:
    """Ask a campaign: what is read must also be answered, or refused in a sentence."""
    for one, text in (examples | {JOURNAL: data}).items():
        (SafeFolder(folder) / one).replace(text, is_synced=False)
    read_campaign(folder)
    for words in (["status"], ["compare", "--json"], ["compare"], ["check", "--fail-if", _RULE]):
        told = CliRunner().invoke(make_group(), [words[0], str(folder), *words[1:]], standalone_mode=False)
        if isinstance(told.exception, Exception) and not isinstance(
            told.exception, (TareError, click.ClickException)
        ):
            raise told.exception


def _environment(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name, ENVIRONMENTS).mkdir()
        Path(name, ENVIRONMENTS, "x.json").write_bytes(data)
        read_environment(Path(name), "x")


def _manifest(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name, "SHA256SUMS").write_bytes(data)
        Path(name, "out").mkdir()
        Path(name, "out/a").write_bytes(b"a")
        list(check_manifest(SafeFolder(Path(name)), hashlib.sha256(data).hexdigest()))


def _commands(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name, "command.json").write_bytes(data)
        Path(name, "stdout").write_bytes(data)
        read_evidence(SafeFolder(Path(name)))


def _account(campaign: Campaign) -> None:
    campaign.measured()
    campaign.latest()
    msgspec.json.encode(campaign.attempts)


def _contents(*patterns: str) -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for pattern in patterns for path in sorted(PROJECT.glob(pattern)))


def _of_files() -> Iterator[Target]:
    studies = _contents("studies/*.yaml", "studies/articles/*/*.yaml")
    sites = _contents("src/tare/sites/*.yaml")
    yield Target("study", _study, studies)
    yield Target("site", lambda data: site_from_text(data, "site.yaml", {}), sites)
    yield Target("rule", _rule, (b"overhead(network=overlay) > 5 %", b"cv(nodes=2) <= 0.05"))
    yield Target("factors", _factors, (b"file,nodes,network\na.log,2,host\n", b"file,nodes\na,1\n"))
    yield Target(
        "pattern", lambda data: read_pattern(as_text(data)), (b"{platform}/run_{block}.log", b"*[a]?")
    )
    yield Target("quantity", _quantity, (b"64KiB", b"1.5 h", b"25 Gbit/s", b"-3e5 MB"))


def _study(data: bytes) -> None:
    known: dict[str, Workload] = {}

    def catalogue(inline: Sequence[InlineDefinition]) -> dict[str, Workload]:
        known.update(registry.workloads(inline))
        return known

    site = site_from_text(_SITE, "site.yaml", {})
    plan = make_plan(study_from_text(as_text(data), "study.yaml", catalogue, site), site, known)
    msgspec.json.encode(plan)


def _rule(data: bytes) -> None:
    parse_rule(RuleSource(text=as_text(data), kind=Kind.FAIL_IF, where="--fail-if"))


def _factors(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "factors.csv")
        path.write_bytes(data)
        read_factors(path)


def _quantity(data: bytes) -> None:
    for dimension in Dimension:
        with contextlib.suppress(ValueError):
            parse_quantity(as_text(data), dimension)


def _of_telemetry() -> Iterator[Target]:
    sysstat = files_of(CORPUS / "sysstat")
    yield Target(
        "sysstat", lambda data: read_sysstat(as_text(data)), sysstat or (b"{}",), (UnreadableSysstat,)
    )
    answer = (
        b'{"status":"success","data":{"resultType":"matrix","result":'
        b'[{"metric":{"instance":"n1:9100"},"values":[[1700000000,"0.5"],[1700000015,"NaN"]]}]}}'
    )
    asked = partial(read_range, figure="cpu_busy", host_label="instance", step_s=15.0)
    yield Target("prometheus", asked, (answer,), (RefusedQuery,))
    yield Target("imported means", _means, (b'{"a/1-1":{"cpu_system":5.0}}',))
    recording = (
        b'{"sampler":1,"node":"n1","period_s":1.0}\n'
        b'{"t":1.0,"w":1700000001.0,"s":{"cpu":["cpu0 1 2 3 4 5 6 7 0 0 0"]}}\n'
        b'{"t":2.0,"w":1700000002.0,"s":{"cpu":{"0":"cpu0 2 3 4 5 6 7 8 0 0 0"}}}\n'
    )
    yield Target("recording", partial(_beneath, sampler.raw_name("n1")), (recording,))
    track = b'{"host":"n1","since":[0.0],"at":[1.0],"values":{"cpu_idle":[5.0],"cpu_iowait":[1.0]}}'
    timeline = b'{"tracks":[' + track + b'],"epochs":[]}'
    yield Target("imported telemetry", partial(_beneath, "telemetry.imported.json"), (timeline,))


def _means(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "telemetry.imported.json").write_bytes(data)
        read_means(Path(folder))


def _beneath(name: str, data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = SafeFolder(Path(folder))
        (place / name).replace(data, is_synced=False)
        sampler.read_timeline(place)
        imported_timeline(place)


def _of_workload(workload: Workload) -> Target:
    """Return the target of a parser; examples of the family are in the corpus, or among its tests."""
    family = workload.name.partition(".")[0]
    seeds = files_of(CORPUS / family) or (
        files_of(TESTS / "workloads/microbench") if family == "tare" else ()
    )
    return Target(workload.name, partial(_parse, workload), seeds or (b"",), ())


def _of_inline() -> Target:
    """Return the target of a workload that a study declares, with figures by regex and in JSON."""
    latency = Fom(name="latency", unit="us", better=Better.LOWER, by=("bytes",))
    rate = Fom(name="rate", unit="op/s", better=Better.HIGHER)
    foms = (
        InlineFom(fom=latency, regex=r"^(?P<bytes>\d+)\s+([-+.\w]+)$"),
        InlineFom(fom=rate, json="jobs[0].rate"),
    )
    checks = (InlineCheck(matches="^done"), InlineCheck(lacks="FAILED"))
    definition = InlineDefinition(name="inline.test", command=("x",), foms=foms, checks=checks)
    seed = b'8 1.25\n1024 2.50\n{"jobs": [{"rate": 1200.5}]}\ndone\n'
    return Target("inline", partial(_parse, registry.workloads([definition])["inline.test"]), (seed,), ())


def _parse(workload: Workload, data: bytes) -> None:
    text = as_text(data)
    parsed = workload.parse(io.StringIO(text, newline=None))
    for one in parsed.measurements:
        if not math.isfinite(one.value):
            raise ArithmeticError(f"{one.fom} is {one.value}")
    if found := invented(workload.name.partition(".")[0], parsed, text):
        raise ArithmeticError(f"made up: {found}")
    msgspec.json.encode(parsed)  # as it is kept
