"""Everything that reads what somebody else may have written, each as a function of bytes, with true examples.

A target may refuse its input in a sentence, as one of its `refusals`. Any other exception is a fault, and so
is an answer that takes longer than `fuzzing.trying.MOST_S`.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from support.synthetic import make_campaign, write_campaign
from tare import plugins
from tare.answers.rule_parser import parse_rule
from tare.answers.rules import Kind, RuleSource
from tare.beneath import Beneath
from tare.collectors import sampler
from tare.collectors.prometheus import RefusedQuery, read_range
from tare.collectors.sysstat import UnreadableSysstat, read_sysstat
from tare.config.site_file import site_from_text
from tare.config.study_file import study_from_text
from tare.errors import TareError
from tare.model.campaign import Campaign
from tare.model.workload import InlineDefinition, Workload
from tare.plan import make_plan
from tare.store.campaign import JOURNAL, PLAN, read_campaign
from tare.store.factors import read_factors
from tare.store.pattern import read_pattern
from tare.store.telemetry import imported_timeline
from tare.store.verifying import verify
from tare.units import Dimension, parse_quantity

PROJECT = Path(__file__).parents[2]
CORPUS = PROJECT.parent / "shared" / "corpus"
_SITE = (PROJECT / "src/tare/sites/lab.yaml").read_bytes()
_MOST_SEEDS, _MOST_SEED_BYTES = 40, 60_000


class Target(NamedTuple):
    """What reads, what it may be given, and how it may refuse it."""

    name: str
    read: Callable[[bytes], object]
    seeds: tuple[bytes, ...]
    refusals: tuple[type[Exception], ...] = (TareError,)


def targets() -> dict[str, Target]:
    """Return all targets by name; examples for workloads are in the collection of real output."""
    workloads = map(_of_workload, plugins.workloads().values())
    found = [*_of_campaigns(), *_of_files(), *_of_telemetry(), *workloads]
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


def _campaign(folder: Path, examples: dict[str, bytes], name: str, data: bytes) -> None:
    place = Beneath(folder)
    for one, text in (examples | {name: data}).items():
        (place / one).replace(text, is_synced=False)
    verify(folder)
    _account(read_campaign(folder))


def _account(campaign: Campaign) -> None:
    campaign.measured()
    campaign.latest()
    msgspec.json.encode(campaign.attempts)


def _of_files() -> Iterator[Target]:
    studies = tuple(path.read_bytes() for path in sorted((PROJECT / "studies").glob("*.yaml")))
    sites = tuple(path.read_bytes() for path in sorted((PROJECT / "src/tare/sites").glob("*.yaml")))
    yield Target("study", _study, studies)
    yield Target("site", lambda data: site_from_text(data, "site.yaml", {}), sites)
    yield Target("rule", _rule, (b"overhead(network=overlay) > 5 %", b"cv(nodes=2) <= 0.05"))
    yield Target("factors", _factors, (b"file,nodes,network\na.log,2,host\n", b"file,nodes\na,1\n"))
    yield Target("pattern", lambda data: read_pattern(_text(data)), (b"{platform}/run_{block}.log", b"*[a]?"))
    yield Target("quantity", _quantity, (b"64KiB", b"1.5 h", b"25 Gbit/s", b"-3e5 MB"))


def _study(data: bytes) -> None:
    known: dict[str, Workload] = {}

    def catalogue(inline: Sequence[InlineDefinition]) -> dict[str, Workload]:
        known.update(plugins.workloads(inline))
        return known

    site = site_from_text(_SITE, "site.yaml", {})
    plan = make_plan(study_from_text(_text(data), "study.yaml", catalogue, site), site, known)
    msgspec.json.encode(plan)


def _rule(data: bytes) -> None:
    parse_rule(RuleSource(text=_text(data), kind=Kind.FAIL_IF, where="--fail-if"))


def _factors(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "factors.csv")
        path.write_bytes(data)
        read_factors(path)


def _quantity(data: bytes) -> None:
    for dimension in Dimension:
        with contextlib.suppress(ValueError):
            parse_quantity(_text(data), dimension)


def _of_telemetry() -> Iterator[Target]:
    sysstat = tuple(path.read_bytes() for path in sorted((CORPUS / "sysstat").glob("*")))
    yield Target("sysstat", lambda data: read_sysstat(_text(data)), sysstat or (b"{}",), (UnreadableSysstat,))
    answer = (
        b'{"status":"success","data":{"resultType":"matrix","result":'
        b'[{"metric":{"instance":"n1:9100"},"values":[[1700000000,"0.5"],[1700000015,"NaN"]]}]}}'
    )
    asked = partial(read_range, figure="cpu_busy", host_label="instance", step_s=15.0)
    yield Target("prometheus", asked, (answer,), (RefusedQuery,))
    recording = (
        b'{"sampler":1,"node":"n1","period_s":1.0}\n'
        b'{"t":1.0,"w":1700000001.0,"s":{"cpu":["cpu0 1 2 3 4 5 6 7 0 0 0"]}}\n'
        b'{"t":2.0,"w":1700000002.0,"s":{"cpu":{"0":"cpu0 2 3 4 5 6 7 8 0 0 0"}}}\n'
    )
    yield Target("recording", partial(_beneath, sampler.raw_name("n1")), (recording,))
    timeline = b'{"tracks":[{"host":"n1","since":[0.0],"at":[1.0],"values":{"cpu_idle":[5.0]}}],"epochs":[]}'
    yield Target("imported telemetry", partial(_beneath, "telemetry.imported.json"), (timeline,))


def _beneath(name: str, data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Beneath(Path(folder))
        (place / name).replace(data, is_synced=False)
        sampler.read_timeline(place)
        imported_timeline(place)


def _of_workload(workload: Workload) -> Target:
    family = workload.name.partition(".")[0]
    files = sorted(path for path in (CORPUS / family).rglob("*") if path.is_file()) if CORPUS.is_dir() else []
    seeds = tuple(path.read_bytes()[:_MOST_SEED_BYTES] for path in files[:_MOST_SEEDS])
    return Target(workload.name, partial(_parse, workload), seeds or (b"",), ())


def _parse(workload: Workload, data: bytes) -> None:
    parsed = workload.parse(io.StringIO(_text(data), newline=None))
    for one in parsed.measurements:
        if not math.isfinite(one.value):
            raise ArithmeticError(f"{one.fom} is {one.value}")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
