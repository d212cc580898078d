"""The schema of `slurm:` in a platform: how the platform asks Slurm for nodes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from tare.core.backend_options import BackendOptions
from tare.core.backend_plugin import OptionsReader
from tare.core.counting import count
from tare.core.errors import shown
from tare.core.fields import Count, Word
from tare.plugins.backends.batch.options import JobOptions
from tare.plugins.backends.slurm.variables import is_one_cluster

_OF_CLUSTERS = re.compile(r"--clusters?\b|-M")
_VALUES = ("cluster", "partition", "account", "qos", "constraint", "reservation", "licenses", "gres")


class SlurmOptions(JobOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a platform asks Slurm for nodes: the options of sbatch of the same names."""

    mpi: Annotated[Word | None, Meta(description="The type for srun --mpi.", examples=["pmix", "pmi2"])] = (
        None
    )
    cluster: Annotated[
        Word | None, Meta(description="Cluster, where Slurm has several (sbatch -M).", examples=["venus"])
    ] = None
    partition: Annotated[Word | None, Meta(description="Partition.", examples=["compute"])] = None
    account: Annotated[Word | None, Meta(description="Account to charge.", examples=["proj42"])] = None
    qos: Annotated[Word | None, Meta(description="Quality of service.", examples=["benchmark"])] = None
    constraint: Annotated[
        Word | None, Meta(description="Features that the nodes have.", examples=["skylake&ib"])
    ] = None
    reservation: Annotated[Word | None, Meta(description="Reservation.", examples=["maintenance"])] = None
    licenses: Annotated[Word | None, Meta(description="Licences.", examples=["fluent:4"])] = None
    gres: Annotated[Word | None, Meta(description="Generic resources.", examples=["gpu:2"])] = None
    threads_per_core: Annotated[
        Count | None, Meta(description="Hardware threads of a core that ranks may use.", examples=[1])
    ] = None
    min_nodes: Annotated[
        Count | None,
        Meta(description="The fewest nodes of a job, as MinNodes; runs use the first.", examples=[4]),
    ] = None
    max_nodes: Annotated[
        Count | None, Meta(description="The most nodes of a job, as MaxNodes.", examples=[1])
    ] = None
    max_minutes: Annotated[
        Count | None, Meta(description="The longest job, as MaxTime, in minutes.", examples=[30])
    ] = None
    exclusive: Annotated[bool, Meta(description="Whole nodes only.")] = False
    lines: Annotated[
        tuple[Word, ...], Meta(description="Further options of sbatch.", examples=[["--switches=1"]])
    ] = ()

    def asks_like(self, other: BackendOptions) -> bool:
        """Return whether jobs ask sbatch for the same (see BackendOptions); ranks may start differently."""
        return isinstance(other, SlurmOptions) and self == msgspec.structs.replace(other, mpi=self.mpi)

    def job_minutes(self, timeouts_s: Sequence[float]) -> int | None:
        """Return the time limit of a job (see BackendOptions); None where a line of the site sets it."""
        is_set = any(re.match(r"--time\b(?!-)|-t", line) for line in self.lines)
        return None if is_set else super().job_minutes(timeouts_s)

    @property
    def allocator(self) -> str:
        """Return the name that MPIs use for Slurm (see BackendOptions)."""
        return "slurm"

    @property
    def pmi(self) -> str | None:
        """Return the type for ``srun --mpi`` (see BackendOptions)."""
        return self.mpi


def check_options(options: SlurmOptions, reader: OptionsReader) -> SlurmOptions:
    """Return `options`. Report every fault that would make sbatch fail."""
    for number, line in enumerate(options.lines):
        if not line.startswith("-") or not line.isprintable():
            wrong = f"{shown(line)} is not an option of sbatch"
            reader.fault(f"{wrong}; write it as after #SBATCH: '--switches=1'", "lines", number)
        elif _OF_CLUSTERS.match(line):  # other commands than sbatch would ask another cluster
            reader.fault(f"{shown(line)} is for sbatch alone; write 'cluster: NAME' instead", "lines", number)
    for name in _VALUES:
        value = getattr(options, name)
        if value is not None and not value.isprintable():  # a newline would end sbatch's comment line
            reader.fault(f"{shown(value)} is no value of sbatch; use one line", name)
    if options.cluster and not is_one_cluster(options.cluster):
        reader.fault(f"{shown(options.cluster)} is not one cluster; name one, as sacctmgr does", "cluster")
    fewest, most = options.min_nodes, options.max_nodes
    if fewest and most and fewest > most:
        reader.fault(
            f"jobs of {count(fewest, 'node')} or more, and of {most} or fewer; correct one", "min_nodes"
        )
    return options
