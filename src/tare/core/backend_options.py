"""The options of a platform for its backend, and what the rest of Tare needs to know about them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class PodPlacement(msgspec.Struct, frozen=True, kw_only=True):
    """How ranks start where each node of a run is a pod, which is made for the run.

    `work` is the working folder in each pod. One pod starts the ranks on the pods that the file `hostfile`
    lists. It uses the command `agent`, called as ssh is, and the network `interface` unless the site gives
    another. If it `shares_work`, all pods of all runs see the same working folders, and so does Tare.
    """

    work: str
    hostfile: str
    agent: tuple[str, ...]
    interface: str
    shares_work: bool = False


class BackendOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a platform's backend. Each backend has its own subtype, which may override what is here.

    These properties are all that the rest of Tare asks about a backend: it knows no backend by name.
    """

    @property
    def is_queued(self) -> bool:
        """Return whether a batch system chooses the nodes of runs, and when they run."""
        return False

    @property
    def in_flight(self) -> int:
        """Return how many runs may be queued or running at a time."""
        return 1

    @property
    def max_nodes(self) -> int | None:
        """Return how many nodes a run may have; None where nothing but the site's nodes limits it."""
        return None

    @property
    def max_minutes(self) -> int | None:
        """Return after how many minutes the batch system ends a job; None where it sets no limit."""
        return None

    def job_minutes(self, timeouts_s: Sequence[float]) -> int | None:
        """Return the time limit of a job of runs with these time-outs, in minutes; None where it has none."""
        return None

    @property
    def threads_per_core(self) -> int | None:
        """Return how many hardware threads of a core ranks may use; None leaves it to the batch system."""
        return None

    @property
    def is_packed(self) -> bool:
        """Return whether runs that follow each other share one allocation."""
        return False

    def asks_like(self, other: BackendOptions) -> bool:
        """Return whether runs with these options and with `other` may share an allocation."""
        return self == other

    @property
    def allocator(self) -> str:
        """Return the name by which MPIs know the batch system, if they find the nodes of a job by themselves.

        It is the name for Hydra's -bootstrap and Open MPI's component: slurm, sge, lsf, pbs. Where it is
        empty, a job has a file `hostfile` in its working folder, and ranks start on the hosts in it over
        `agent`.
        """
        return ""

    @property
    def agent(self) -> tuple[str, ...]:
        """Return the command, called as ssh is, that starts another on a node of a job; empty: the site's."""
        return ()

    @property
    def pmi(self) -> str | None:
        """Return the type for ``srun --mpi``, None for its default."""
        return None

    @property
    def pods(self) -> PodPlacement | None:
        """Return how ranks start in pods; None where they start directly on the nodes."""
        return None


class QueueOptions(BackendOptions, frozen=True, kw_only=True):
    """Options of a batch system."""

    @property
    def is_queued(self) -> bool:
        """Return that the batch system chooses the nodes (see BackendOptions)."""
        return True
