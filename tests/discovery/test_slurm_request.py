"""What platforms of a site with limits ask Slurm for, and what the file says about it."""

from __future__ import annotations

import msgspec

from discovery.test_written_files import facts, options, read, slurm_found
from tare.app.init.draft import Choice, make_draft
from tare.app.init.files import site_text, study_text
from tare.app.init.job_limits import limits_of
from tare.app.init.slurm_request import probe_memory
from tare.app.init.trial import announcement, how_tried
from tare.core.checks import Finding
from tare.discovery.facts import Found, NodeClass, Partition

THREADS = NodeClass(nodes=("n1", "n2"), sockets=2, cores_per_socket=8, threads_per_core=2, memory_mib=64_000)


def found_with(*, allots_memory: bool = False, memory_gib: int = 64) -> Found:
    found = slurm_found()
    assert found.slurm is not None
    nodes = tuple(msgspec.structs.replace(facts(i), memory_kib=memory_gib << 20) for i in (1, 2))
    slurm = msgspec.structs.replace(found.slurm, allots_memory=allots_memory)
    return msgspec.structs.replace(found, slurm=slurm, nodes=nodes)


def choice_of(found: Found, kind: NodeClass, **limits: str) -> Choice:
    assert found.slurm is not None
    partition = Partition(name="lab", classes=(kind,), limits=limits)
    return Choice(partition=partition, limits=limits_of(found.slurm, partition, kind))


def flat(found: Found, choice: Choice) -> str:
    return " ".join(site_text(make_draft(found, choice), "login1", "").replace("\n#", " ").split())


def test_slots_are_cores_and_ranks_get_one_thread_of_each() -> None:
    found = found_with()
    choice = choice_of(found, THREADS)
    site = read(found, choice)
    assert (site.slots_per_node, options(site, "openmpi-4.1.4-srun").threads_per_core) == (16, 1)
    assert "threads_per_core 1: cores have 2 hardware threads (sinfo)" in flat(found, choice)
    one = msgspec.structs.replace(THREADS, threads_per_core=1)
    assert options(read(found, choice_of(found, one)), "bare").threads_per_core is None


def test_jobs_ask_for_the_memory_of_their_nodes_where_slurm_allots_it() -> None:
    found = found_with(allots_memory=True)
    assert options(read(found, choice_of(found, THREADS)), "bare").lines == ("--mem=0",)
    limited = choice_of(found, THREADS, MaxMemPerNode="32000")
    site = read(found, limited)
    assert options(site, "bare").lines == ("--mem=32000M",)
    assert site.memory_bytes == (32000 >> 10) << 30
    assert "MaxMemPerNode or MaxMemPerCPU allows 32000 MiB of a node" in flat(found, limited)
    per_cpu = choice_of(found, THREADS, MaxMemPerCPU="1000")
    assert options(read(found, per_cpu), "bare").lines == ("--mem=16000M",)
    assert options(read(found_with(), limited), "bare").lines == (), "this Slurm does not allot memory"


def test_the_limits_of_memory_of_the_cluster_hold_where_a_partition_has_none() -> None:
    """With --mem=0, all of a node, jobs wait for ever there (Slurm 22.05.8)."""
    found = found_with(allots_memory=True)
    assert found.slurm is not None
    slurm = msgspec.structs.replace(found.slurm, memory_limits={"MaxMemPerNode": "4000"})
    limited = msgspec.structs.replace(found, slurm=slurm)
    assert options(read(limited, choice_of(limited, THREADS)), "bare").lines == ("--mem=4000M",)
    own = choice_of(limited, THREADS, MaxMemPerCPU="1000")
    assert options(read(limited, own), "bare").lines == ("--mem=16000M",)


def test_the_job_that_asks_nodes_gets_memory_for_module_systems_but_no_more_than_a_node_has() -> None:
    allots = found_with(allots_memory=True).slurm
    free = found_with().slurm
    small = msgspec.structs.replace(THREADS, memory_mib=500)
    unknown = msgspec.structs.replace(THREADS, memory_mib=0)
    assert allots is not None
    assert free is not None
    assert probe_memory(allots, Partition(name="a", classes=(THREADS,))) == "1024M"
    assert probe_memory(allots, Partition(name="a", classes=(THREADS, small))) == "500M"
    assert probe_memory(allots, Partition(name="a", classes=(unknown,))) is None
    assert probe_memory(free, Partition(name="a", classes=(THREADS,))) is None


def test_a_partition_of_single_nodes_is_tried_and_measured_on_one() -> None:
    found = found_with()
    choice = choice_of(found, THREADS, MaxNodes="1", MaxTime="00:02:00")
    draft = make_draft(found, choice)
    assert "each on 1 node, for 2 minutes at most" in announcement(draft, 300)
    good = Finding(name="openmpi-4.1.4", is_met=True, found="2 ranks on n1")
    assert how_tried(draft, [good]) == "These started two ranks of one program on one node: openmpi-4.1.4."
    own = options(read(found, choice), "bare")
    assert (own.max_nodes, own.max_minutes) == (1, 2)
    assert "max_nodes 1: MaxNodes=1 of partition lab, scontrol show partition." in flat(found, choice)
    study = study_text(draft)
    assert "nodes: 1\n" in study
    assert "ranks_per_node: 2\n" in study
    assert "timeout: 1 min\n" in study


def test_jobs_of_a_partition_for_large_ones_have_more_nodes_than_their_ranks_need() -> None:
    found = found_with()
    kind = msgspec.structs.replace(THREADS, nodes=("n1", "n2", "n3", "n4"))
    choice = choice_of(found, kind, MinNodes="4")
    assert "each on 4 nodes, for 3 minutes at most" in announcement(make_draft(found, choice), 300)
    assert options(read(found, choice), "bare").min_nodes == 4
    assert "nodes: 2\n" in study_text(make_draft(found, choice))


def test_node_counts_that_bind_nothing_are_no_keys_and_a_time_limit_always_is_one() -> None:
    found = found_with()
    own = options(
        read(found, choice_of(found, THREADS, MaxNodes="64", MinNodes="1", MaxTime="04:00:00")), "bare"
    )
    assert (own.min_nodes, own.max_nodes, own.max_minutes) == (None, None, 240)


WHOLE = "# whole nodes, since other jobs disturb; one run at a time, since runs share switches"


def test_whole_nodes_are_neither_asked_for_nor_promised_where_jobs_share_them() -> None:
    """Slurm 22.05.8 runs several jobs with --exclusive on one node of such a partition."""
    found = found_with()
    forced = choice_of(found, THREADS, OverSubscribe="FORCE:4")
    assert not options(read(found, forced), "bare").exclusive
    assert "whole nodes" not in flat(found, forced)
    assert "# one run at a time, since runs share switches" in flat(found, forced)
    assert "no exclusive: OverSubscribe=FORCE:4 of partition lab lets other jobs run on" in flat(
        found, forced
    )
    for value in ("FORCE:1", "YES:4", "EXCLUSIVE"):
        granted = choice_of(found, THREADS, OverSubscribe=value)
        assert options(read(found, granted), "bare").exclusive
        assert WHOLE in flat(found, granted)


def test_slots_are_the_cpus_that_jobs_of_a_partition_get_of_a_node() -> None:
    """Slurm 22.05.8 refuses jobs with --exclusive: "Requested node configuration is not available".

    Of jobs with --threads-per-core=1, it counts a CPU for each core (tests/cli/init/test_slurm_limits.py).
    """
    found = found_with()
    choice = choice_of(found, THREADS, MaxCPUsPerNode="12")
    site = read(found, choice)
    assert (site.slots_per_node, options(site, "bare").exclusive) == (12, False)
    assert "2 sockets × 8 cores, of which jobs get fewer: MaxCPUsPerNode=12 of partition lab" in flat(
        found, choice
    )
    assert "no exclusive: MaxCPUsPerNode=12 of partition lab refuses jobs that ask for whole" in flat(
        found, choice
    )
    all_cpus = choice_of(found, THREADS, MaxCPUsPerNode="32")
    assert (read(found, all_cpus).slots_per_node, options(read(found, all_cpus), "bare").exclusive) == (
        16,
        True,
    )
