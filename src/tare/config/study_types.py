"""The content of a study file, as a user writes it.

What its factors mean depends on workloads and site: see `levels`.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from tare.config.site_types import TelemetryFile
from tare.core.case import Binding
from tare.core.fields import Count, Fraction, Name, Scalar, Seconds, Variables, Word, Words
from tare.core.software import Lines, Modules, Specs
from tare.core.workload import Better, InlineCheck, ParameterKind, QuestionKind

Amount = Annotated[float, Meta(gt=0)]

Values = Scalar | list[Scalar]

LevelFile = Annotated[
    Scalar | list[Scalar] | dict[str, Scalar | list[Scalar] | dict[str, Values] | None],
    Meta(
        description="A value; or a mapping that sets several things at once, "
        "in which a list stands for each of its values. Of modules, spack and setup, a list is one value."
    ),
]

CaseFile = Annotated[
    dict[str, Values],
    Meta(
        description="Settings that belong together; a list stands for each of its values.",
        examples=[{"ranks": 16, "ranks_per_node": 2}],
    ),
]

PartFile = Annotated[
    str | dict[str, Values],
    Meta(
        description="The settings that leave a case out, or a condition such as 'nodes > 2 and size == 768', "
        "which a mapping holds as 'where'; 'because' is the reason. In conditions, 'slots' are the ranks "
        "that have a core each on one node of the case, where the site gives its cores.",
        examples=[{"workload": "imb.pingpong", "nodes": 4, "because": "two ranks use two nodes"}],
    ),
]


Command = Word | list[Word]
"""A program and its arguments: a text that is split as a POSIX shell splits it, or a list of words."""


class InputFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file or folder that is copied into each run's folder."""

    path: Annotated[
        Word,
        Meta(
            description="Where it is on the machine where tare runs; a relative path begins at the folder of "
            "the study. {name} is a setting.",
            examples=["meshes/coarse.dat"],
        ),
    ]
    sha256: Annotated[
        Annotated[
            str,
            Meta(
                pattern=r"^[0-9A-Fa-f]{64}$",
                extra={"cure": "is no SHA-256 checksum; give the 64 digits that sha256sum prints"},
            ),
        ]
        | None,
        Meta(description="The checksum that it must have. With another one, nothing is run."),
    ] = None


Inputs = Annotated[
    dict[str, Word | InputFile],
    Meta(
        description="Files and folders that are copied into each run's folder first, by their names there: "
        "a path, or a path and a checksum.",
        examples=[{"mesh.dat": "meshes/coarse.dat"}],
    ),
]


class BudgetFile(msgspec.Struct, frozen=True, kw_only=True):
    """What a campaign may spend; whichever limit is reached first ends it."""

    runs: Annotated[Count | None, Meta(description="Runs, warm-up not counted.")] = None
    hours: Annotated[
        Amount | None,
        Meta(
            description="Hours by the clock while runs are under way: queued, being started, or running.",
            examples=[12],
        ),
    ] = None
    node_hours: Annotated[
        Amount | None,
        Meta(
            description="Nodes × hours for which runs have them, from before their programs begin.",
            examples=[400],
        ),
    ] = None
    queue: Annotated[
        bool, Meta(description="Whether 'hours' go on while nothing but waiting in a queue is under way.")
    ] = True


class RepeatsFile(msgspec.Struct, frozen=True, kw_only=True):
    """How often each case is run: until its intervals are narrow, within limits."""

    min: Annotated[Count | None, Meta(description="Blocks that are always run. Default: 5.")] = None
    max: Annotated[
        Count | None, Meta(description="Blocks at most. Default: 30 where 'until' is given, else 'min'.")
    ] = None
    until: Annotated[
        Fraction | None, Meta(description="Stop when every 95 % interval is within ± this share.")
    ] = None
    budget: Annotated[
        Word | BudgetFile | None, Meta(description="What it may spend.", examples=["400 node-hours"])
    ] = None


class ScalingFile(msgspec.Struct, frozen=True, kw_only=True):
    """The settings along which the report draws scaling."""

    strong: Annotated[
        Words | None, Meta(description="Grows while the problem stays.", examples=["nodes"])
    ] = None
    weak: Annotated[
        Words | None, Meta(description="Grow together with the problem.", examples=[["nex", "ranks"]])
    ] = None


class ParameterFile(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of a workload that the study declares."""

    kind: Annotated[ParameterKind | None, Meta(description="Default: what the default value is.")] = None
    default: Annotated[Scalar | None, Meta(description="Absent: each case must set it.")] = None
    summary: Annotated[str, Meta(description="What it is, in one line.")] = ""
    choices: Annotated[tuple[Scalar, ...], Meta(description="The only values it may have.")] = ()
    minimum: Annotated[float | None, Meta(description="The least value it may have.")] = None


class FomFile(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of merit of a workload that the study declares."""

    name: Annotated[Name, Meta(description="Its name.", examples=["triad"])]
    unit: Annotated[Word, Meta(description="Its unit.", examples=["MB/s"])]
    better: Annotated[Better, Meta(description="The direction in which it improves.", examples=["higher"])]
    regex: Annotated[
        str | None, Meta(description="Group 1 is its value; the groups named in 'by' its coordinates.")
    ] = None
    json: Annotated[
        str | None, Meta(description="Where its value is in a JSON output.", examples=["result.gflops"])
    ] = None
    csv: Annotated[
        Word | None,
        Meta(description="The column of a CSV table that holds its values.", examples=["seconds"]),
    ] = None
    file: Annotated[
        Word | None,
        Meta(
            description="The file that holds it, by name or glob, stderr included. Default: the output of "
            "the workload.",
            examples=["results/times.csv"],
        ),
    ] = None
    by: Annotated[
        Words, Meta(description="Its coordinates: named groups of the regex, or columns of the table.")
    ] = ()
    summary: Annotated[str, Meta(description="What it is, in one line.")] = ""
    primary: Annotated[bool, Meta(description="Whether a summary shows it. Default: the first one.")] = False
    answers: Annotated[
        tuple[QuestionKind, ...],
        Meta(
            description="Kinds of question that it answers in the sentence on top; for a kind that no figure "
            "names, the primary ones answer.",
            examples=[["storage"]],
        ),
    ] = ()


class WorkloadFile(msgspec.Struct, frozen=True, kw_only=True):
    """A workload that needs no Python: a command, its parameters, and where its numbers are."""

    command: Annotated[
        Word | list[Word],
        Meta(
            description="The program and its arguments; {name} is a setting.",
            examples=["stream --size {size}"],
        ),
    ]
    summary: Annotated[str, Meta(description="What it measures, in one line.")] = ""
    env: Annotated[Variables, Meta(description="Environment variables.")] = {}
    files: Annotated[dict[str, str], Meta(description="Files to write first, by relative name.")] = {}
    inputs: Inputs = {}
    parameters: Annotated[
        dict[Name, Scalar | ParameterFile], Meta(description="Its parameters: a default value, or more.")
    ] = {}
    foms: Annotated[
        list[FomFile],
        Meta(
            description="Its figures of merit.",
            examples=[[{"name": "triad", "unit": "MB/s", "better": "higher", "regex": "Triad: *([0-9.]+)"}]],
        ),
    ]
    checks: Annotated[tuple[InlineCheck, ...], Meta(description="What the output must be like.")] = ()
    output: Annotated[Word, Meta(description="The file to read: stdout, or one that it writes.")] = "stdout"
    mpi: Annotated[bool, Meta(description="Whether the launcher starts it on every rank.")] = False
    needs_transport: Annotated[
        bool | None, Meta(description="Whether its ranks must use the network. Default: as 'mpi'.")
    ] = None
    modules: Modules = ()
    spack: Specs = ()
    setup: Lines = ()
    prologue: Annotated[
        list[Command],
        Meta(description="Commands before its programs, after those of the study.", examples=[["make mesh"]]),
    ] = []
    epilogue: Annotated[
        list[Command],
        Meta(
            description="Commands after its programs, before those of the study.",
            examples=[["cmp result.dat expected.dat"]],
        ),
    ] = []


class StudyTelemetryFile(TelemetryFile, frozen=True, kw_only=True, omit_defaults=True):
    """How nodes are watched while a case runs, where it is not as the site says."""

    unwatched: Annotated[
        tuple[Name, ...] | None,
        Meta(description="Platforms that are not watched, to measure what it costs.", examples=[["bare"]]),
    ] = None


class StudyFile(msgspec.Struct, frozen=True, kw_only=True):
    """A question about platforms, and the factors that answer it."""

    study: Annotated[Name, Meta(description="The study's name.", examples=["network-tax"])]
    question: Annotated[str, Meta(description="What it asks, in one sentence.")] = ""
    site: Annotated[
        Word,
        Meta(description="local, lab, or a site file relative to this one.", examples=["sites/venus.yaml"]),
    ] = "local"
    reference: Annotated[
        dict[str, Scalar],
        Meta(description="The settings that everything is held against.", examples=[{"network": "host"}]),
    ] = {}
    factors: Annotated[
        dict[str, Annotated[list[LevelFile], Meta(min_length=1, examples=[[2, 4]])]],
        Meta(
            description="What is varied: settings, parameters, or mappings that set several.",
            examples=[{"network": ["host", "overlay"]}],
        ),
    ] = {}
    cases: Annotated[list[CaseFile], Meta(description="Settings that are listed instead of multiplied.")] = []
    exclude: Annotated[PartFile | list[PartFile], Meta(description="Cases to leave out.")] = []
    where: Annotated[
        str | list[str],
        Meta(description="Conditions that every case must satisfy.", examples=["size % nodes == 0"]),
    ] = []
    repeats: Annotated[
        Count | RepeatsFile,
        Meta(
            description="How often each case is run.",
            examples=[5, {"min": 5, "max": 30, "until": "2 %"}],
        ),
    ] = 5
    warmup: Annotated[
        bool | Annotated[int, Meta(ge=0)],
        Meta(description="Blocks that are run first and do not count; true is one.", examples=[True]),
    ] = False
    margin: Annotated[
        Fraction, Meta(description="Differences smaller than this are none.", examples=["3 %"])
    ] = 0.02
    workload: Annotated[
        Word | dict[str, dict[str, Scalar] | None] | None,
        Meta(description="The one workload of a study that varies none.", examples=["imb.pingpong"]),
    ] = None
    platform: Annotated[Word | None, Meta(description="The platform of all cases.", examples=["bare"])] = None
    network: Annotated[Word | None, Meta(description="The network of all cases.", examples=["host"])] = None
    storage: Annotated[
        Word | None, Meta(description="The storage path of all cases.", examples=["scratch"])
    ] = None
    io: Annotated[Word | None, Meta(description="How much all cases write.", examples=["none"])] = None
    nodes: Annotated[Count | None, Meta(description="Nodes of all cases.")] = None
    ranks: Annotated[Count | None, Meta(description="Ranks of all cases.")] = None
    ranks_per_node: Annotated[Count | None, Meta(description="Ranks on each node.")] = None
    threads: Annotated[Count | None, Meta(description="OpenMP threads of each rank.")] = None
    bind: Annotated[
        Binding | None,
        Meta(
            description="What a rank is bound to. Default: core where ranks × threads fit the cores that the "
            "site gives, else none.",
            examples=["core"],
        ),
    ] = None
    executable: Annotated[
        Word | None,
        Meta(
            description="The program of all cases, instead of their workloads' own.",
            examples=["/opt/solver/bin/solver"],
        ),
    ] = None
    args: Annotated[
        Word | list[Word] | None,
        Meta(description="Further arguments of the program of all cases.", examples=[["--verbose"]]),
    ] = None
    wrapper: Annotated[
        Word | list[Word] | None,
        Meta(
            description="The command that starts the program of all cases, on each rank.",
            examples=["numactl --localalloc"],
        ),
    ] = None
    modules: Modules = ()
    spack: Specs = ()
    setup: Lines = ()
    inputs: Inputs = {}
    prologue: Annotated[
        list[Command],
        Meta(
            description="Commands before each run's programs, on its first node; their time does not count.",
            examples=[["cp /data/mesh.dat ."]],
        ),
    ] = []
    epilogue: Annotated[
        list[Command],
        Meta(
            description="Commands after each run's programs, where these succeeded.",
            examples=[["cmp result.dat /data/expected.dat"]],
        ),
    ] = []
    timeout: Annotated[Seconds, Meta(description="When a run is given up.", examples=["10 min"])] = 600.0
    retries: Annotated[
        int, Meta(ge=0, description="Further attempts after an infrastructure fault.", examples=[2])
    ] = 2
    seed: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="Seed of the order of runs. Default: from the name.", examples=[1]),
    ] = None
    scaling: Annotated[
        ScalingFile | None, Meta(description="The scaling to draw.", examples=[{"strong": "nodes"}])
    ] = None
    twins: Annotated[
        bool,
        Meta(description="Whether to run the reference alone, against itself, as 'tare calibrate' does."),
    ] = False
    profile: Annotated[
        bool,
        Meta(
            description="Whether each case runs once more in each block with a library that profiles its "
            "communication. These runs are not compared.",
            examples=[True],
        ),
    ] = False
    telemetry: Annotated[
        StudyTelemetryFile, Meta(description="How nodes are watched.", examples=[{"period": "1 s"}])
    ] = StudyTelemetryFile()
    workloads: Annotated[
        dict[Name, WorkloadFile], Meta(description="Workloads that this study declares.")
    ] = {}
