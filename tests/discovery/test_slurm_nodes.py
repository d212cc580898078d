"""Nodes that keep cores for the system, or take no jobs now, as `scontrol show node --oneliner` states them.

Lines have the form of Slurm 23.11: a node of a Cray EX that keeps a core of each of 8 chiplets, and others.
"""

from __future__ import annotations

import msgspec
import pytest

from discovery.test_slurm import PARTITION
from discovery.test_written_files import slurm_found
from tare.app.init.draft import Choice, make_draft
from tare.app.init.files import site_text
from tare.config.site_file import site_from_text
from tare.core.site import Site
from tare.discovery.facts import Partition
from tare.discovery.slurm import read_partitions
from tare.discovery.slurm_nodes import NodeState, read_states
from tare.plugins.backends.slurm.options import SlurmOptions

CRAY = (
    "NodeName={name} Arch=x86_64 CoresPerSocket=64 CPUAlloc=0 CPUEfctv=112 CPUTot=128 CPULoad=0.01 "
    "AvailableFeatures=nic0 ActiveFeatures=nic0 Gres=gpu:8 NodeAddr={name} NodeHostName={name} "
    "Version=23.11.6 OS=Linux 5.14.21-150400.24.46_12.0.83-cray_shasta_c #1 SMP RealMemory=512000 "
    "AllocMem=0 FreeMem=491000 Sockets=1 Boards=1 CoreSpecCount=8 CPUSpecList=0-1,16-17 MemSpecLimit=12000 "
    "State={state} ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=lab "
    "BootTime=2026-11-01T00:00:00 CfgTRES=cpu=112,mem=500G,billing=112 AllocTRES= CapWatts=n/a{reason}\n"
)
PARTITION_LINE = PARTITION.format(name="lab", default="YES", time="UNLIMITED", state="UP")

OUT_OF_SERVICE = """
IDLE+DRAIN MIXED+DRAIN DOWN DOWN*+DRAIN DOWN+CLOUD+POWERED_DOWN FUTURE IDLE* IDLE+NOT_RESPONDING
IDLE+MAINTENANCE+RESERVED IDLE+RESERVED IDLE+INVALID_REG
"""
IN_SERVICE = """
IDLE ALLOCATED MIXED+PLANNED IDLE+COMPLETING ALLOCATED+REBOOT_REQUESTED
IDLE+CLOUD+POWERED_DOWN IDLE*+CLOUD+POWER IDLE+CLOUD+POWERING_UP+NOT_RESPONDING
"""


def one(state: str, *, line: str = CRAY, reason: str = "") -> NodeState:
    (found,) = read_states(line.format(name="n1", state=state, reason=reason)).values()
    return found


def cluster(**states: str) -> Partition:
    """Return a partition of alike nodes in these states."""
    text = "".join(CRAY.format(name=name, state=state, reason="") for name, state in states.items())
    shapes = "".join(f"{name}|lab|1|64|2|512000|nic0|gpu:8\n" for name in states)
    (found,) = read_partitions(PARTITION_LINE, shapes, text)
    return found


def written(partition: Partition) -> tuple[Site, str]:
    text = site_text(make_draft(slurm_found(), Choice(partition=partition)), "login1", "")
    return site_from_text(text, "site.yaml"), " ".join(text.replace("\n#", " ").split())


def test_cores_and_memory_that_the_system_keeps_are_not_offered() -> None:
    (kind,) = cluster(n1="IDLE", n2="IDLE").classes
    assert (kind.cores, kind.memory_mib) == (56, 500_000)
    site, text = written(cluster(n1="IDLE", n2="IDLE"))
    assert site.slots_per_node == 56
    assert "1 socket × 64 cores; the system keeps 8 (scontrol show node: CPUEfctv, CoreSpecCount)" in text


def test_usable_cores_are_known_whether_cpus_are_cores_or_threads_and_in_old_versions() -> None:
    cpus_are_cores = CRAY.replace("CPUEfctv=112 CPUTot=128", "CPUEfctv=56 CPUTot=64")
    before_22_05 = CRAY.replace("CPUEfctv=112 ", "")
    by_effective_cpus_alone = CRAY.replace("CoreSpecCount=8 ", "")
    for line in (CRAY, cpus_are_cores, before_22_05, by_effective_cpus_alone):
        assert one("IDLE", line=line).cores == 56
    keeps_none = CRAY.replace("CPUEfctv=112", "CPUEfctv=128").replace("CoreSpecCount=8 ", "")
    assert one("IDLE", line=keeps_none).cores is None


def test_memory_is_what_slurm_gives_jobs_where_nodes_have_more() -> None:
    large = tuple(msgspec.structs.replace(node, memory_kib=600 << 20) for node in slurm_found().nodes)
    found = msgspec.structs.replace(slurm_found(), nodes=large)
    text = site_text(make_draft(found, Choice(partition=cluster(n1="IDLE", n2="IDLE"))), "login1", "")
    assert site_from_text(text, "site.yaml").memory_bytes == (500_000 >> 10) << 30
    unset = read_partitions(PARTITION_LINE, "n1|lab|1|64|2|1|(null)|(null)\n")
    assert unset[0].classes[0].memory_mib == 0, "RealMemory=1 is what Slurm has where nothing is configured"


@pytest.mark.parametrize("state", OUT_OF_SERVICE.split())
def test_a_node_that_is_out_of_service_or_reserved_takes_no_jobs(state: str) -> None:
    assert one(state).fault == state


@pytest.mark.parametrize("state", IN_SERVICE.split())
def test_a_node_that_is_busy_or_saves_power_takes_jobs_later(state: str) -> None:
    assert one(state, reason=" Reason=was State=DOWN [root@2026-11-01T00:00:00]").fault == ""


def test_nodes_that_take_no_jobs_are_left_out_and_named_with_their_state() -> None:
    site, text = written(cluster(n1="IDLE", n2="IDLE+DRAIN", n3="ALLOCATED", n4="DOWN*"))
    assert site.nodes == ("n1", "n3")
    assert "take no jobs now, not in 'nodes': n2 (IDLE+DRAIN)." in text
    assert "take no jobs now, not in 'nodes': n4 (DOWN*)." in text


def test_a_class_that_is_down_is_not_chosen_although_it_is_the_largest() -> None:
    states = "".join(CRAY.format(name=f"n{i}", state="IDLE+DRAIN", reason="") for i in range(1, 5))
    shapes = "".join(f"n{i}|lab|1|64|2|512000|nic0|gpu:8\n" for i in range(1, 5))
    shapes += "o1|lab|2|8|1|64000|old|(null)\no2|lab|2|8|1|64000|old|(null)\n"
    (found,) = read_partitions(PARTITION_LINE, shapes, states)
    site, text = written(found)
    assert (site.nodes, site.slots_per_node) == (("o1", "o2"), 16)
    assert "not in 'nodes': n[1-4] (IDLE+DRAIN)." in text


def test_a_class_that_is_down_does_not_limit_the_ranks_of_others() -> None:
    shapes = "n1|lab|1|4|1|64000|(null)|(null)\no1|lab|2|8|1|64000|(null)|(null)\n"
    (found,) = read_partitions(PARTITION_LINE, shapes, "NodeName=n1 State=DOWN\n")
    assert written(found)[0].slots_per_node == 16


def test_where_no_node_takes_jobs_the_file_has_them_and_says_so() -> None:
    site, text = written(cluster(n1="IDLE+DRAIN", n2="DOWN"))
    assert site.nodes == ("n1", "n2")
    assert "take no jobs now, in 'nodes', since it has no others: n1 (IDLE+DRAIN)." in text


FEATURES = (
    "NodeName={name} Sockets=1 CoresPerSocket=64 AvailableFeatures={available} ActiveFeatures={active} "
    "State=IDLE\n"
)


def test_nodes_are_asked_for_by_a_feature_that_they_have_and_no_others_can_have() -> None:
    """Slurm 22.05.8 refuses --constraint=hbm here: "Requested node configuration is not available"."""
    kinds = {"n1": ("hbm,knl,quad", "quad,knl"), "n2": ("hbm,knl,quad", "quad,knl"), "o1": ("quad", "(null)")}
    states = "".join(
        FEATURES.format(name=name, available=available, active=active)
        for name, (available, active) in kinds.items()
    )
    shapes = "".join(
        f"{name}|lab|1|64|2|512000|{available}|(null)\n" for name, (available, _) in kinds.items()
    )
    (found,) = read_partitions(PARTITION_LINE, shapes, states)
    assert [one.features for one in found.classes] == [("quad", "knl"), ()]
    site, text = written(found)
    options = site.platforms["bare"].options
    assert isinstance(options, SlurmOptions)
    assert (options.constraint, site.nodes) == ("knl", ("n1", "n2"))
    assert "Features that n[1-2] can have, and have not now: hbm." in text
    assert "Features that o1 can have, and have not now: quad." in text


def test_nodes_whose_active_features_differ_are_not_alike() -> None:
    states = "".join(
        FEATURES.format(name=name, available="quad,flat", active=active)
        for name, active in (("n1", "quad"), ("n2", "quad"), ("n3", "flat"))
    )
    shapes = "".join(f"{name}|lab|1|64|2|512000|quad,flat|(null)\n" for name in ("n1", "n2", "n3"))
    (found,) = read_partitions(PARTITION_LINE, shapes, states)
    assert [one.nodes for one in found.classes] == [("n1", "n2"), ("n3",)]
    site, _ = written(found)
    options = site.platforms["bare"].options
    assert isinstance(options, SlurmOptions)
    assert options.constraint is None, "a job that asks for quad may have n3 rebooted"


@pytest.mark.parametrize("feature", ["a&b", "gpu*2", "(fast)", "[rack1]", "x|y"])
def test_a_feature_whose_name_is_an_operator_of_slurm_is_not_asked_for(feature: str) -> None:
    """sbatch(1), --constraint: & | * ( ) and [ ] join features, so such a name asks for others."""
    shapes = f"n1|lab|1|64|2|512000|{feature}|(null)\nn2|lab|1|64|2|512000|{feature}|(null)\n"
    (found,) = read_partitions(PARTITION_LINE, f"{shapes}o1|lab|2|8|1|64000|old|(null)\n")
    site, _ = written(found)
    options = site.platforms["bare"].options
    assert isinstance(options, SlurmOptions)
    assert options.constraint is None
    assert site.nodes == ("n1", "n2", "o1")
