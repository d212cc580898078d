"""What is read from Slurm's commands. Outputs are of Slurm 22.05.8 (Debian 12), where no other is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tare.discovery.commands import Output
from tare.discovery.nodes import split_labelled, srun_command
from tare.discovery.slurm import find_slurm, read_mpi_types, read_partitions

PARTITION = (
    "PartitionName={name} AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default={default} "
    "QoS=N/A DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO MaxNodes=UNLIMITED "
    "MaxTime={time} MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED Nodes=n[1-2] PriorityJobFactor=1 "
    "PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO OverTimeLimit=NONE PreemptMode=CANCEL "
    "State={state} TotalCPUs=4 TotalNodes=2 SelectTypeParameters=NONE "
    "JobDefaults=(null) DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED "
    "TRES=cpu=4,mem=2000M,node=2,billing=4\n"
)
PARTITIONS = PARTITION.format(name="urgent", default="NO", time="02:00:00", state="UP") + PARTITION.format(
    name="lab", default="YES", time="UNLIMITED", state="UP"
)
NODES = """\
n1|lab|2|1|1|1000|(null)|(null)
n1|urgent|2|1|1|1000|(null)|(null)
n2|lab|2|1|1|1000|(null)|(null)
g1|lab|2|64|2|512000|a100,ib|gpu:a100:4(S:0-1)
"""
TYPES = """\
MPI plugin types are...
\tpmix
\tnone
\tcray_shasta
\tpmi2
specific pmix plugin versions available: pmix_v4
"""
CONFIGURATION = """\
Configuration data as of 2026-11-24T04:02:00
ClusterName             = tare
TaskPlugin              = task/none
"""


class RecordedCommands:
    """Stands for the programs of a machine: it has those whose beginnings are recorded."""

    def __init__(self, outputs: Mapping[str, Output | str]) -> None:
        self._outputs = outputs

    def run(self, argv: Sequence[str], timeout_s: float = 20) -> Output | None:
        command = " ".join(argv)
        found = next((out for begin, out in self._outputs.items() if command.startswith(begin)), None)
        return Output(0, found) if isinstance(found, str) else found


SLURM = {
    "sinfo --version": "slurm-wlm 22.05.8\n",
    "sinfo --all --Node": NODES,
    "scontrol --all show partition": PARTITIONS,
    "scontrol show config": CONFIGURATION,
    "sacctmgr": "root||normal\nproj42|lab|normal,bench\n",
    "srun --mpi=list": TYPES,
}


def test_limits_of_memory_of_the_whole_cluster_are_known() -> None:
    text = f"{CONFIGURATION}MaxMemPerNode           = 400\nMaxMemPerCPU            = UNLIMITED\n"
    found = find_slurm(RecordedCommands({**SLURM, "scontrol show config": text}), "me", print)
    assert found is not None
    assert found.memory_limits == {"MaxMemPerNode": "400"}


def test_partitions_have_their_classes_of_nodes_and_limits_the_default_first() -> None:
    lab, urgent = read_partitions(PARTITIONS, NODES)
    assert (lab.name, lab.is_default, lab.nodes) == ("lab", True, ("n1", "n2", "g1"))
    assert [one.cores for one in lab.classes] == [2, 128]
    assert lab.classes[1].features == ("a100", "ib")
    assert lab.classes[1].gres == "gpu:a100:4(S:0-1)"
    assert (lab.limits, urgent.limits) == ({}, {"MaxTime": "02:00:00"})


def test_a_slurm_that_answers_is_found_with_accounts_and_types_of_mpi() -> None:
    notes: list[str] = []
    found = find_slurm(RecordedCommands(SLURM), "root", notes.append)
    assert found is not None
    assert (found.version, found.cluster, found.binds_ranks) == ("22.05.8", "tare", False)
    assert [(one.name, one.partition, one.qos) for one in found.accounts] == [
        ("root", "", ("normal",)),
        ("proj42", "lab", ("normal", "bench")),
    ]
    assert notes == []


def test_a_site_without_accounting_is_found_and_the_reason_is_kept() -> None:
    notes: list[str] = []
    refused = Output(1, "", "sacctmgr: error: slurm_persist_conn_open: Connection refused\n")
    found = find_slurm(RecordedCommands({**SLURM, "sacctmgr": refused}), "root", notes.append)
    assert found is not None
    assert found.accounts == ()
    assert "Connection refused" in notes[0]


def test_commands_without_a_controller_are_no_slurm() -> None:
    notes: list[str] = []
    down = Output(1, "", "slurm_load_node: Unable to contact slurm controller (connect failure)\n")
    assert find_slurm(RecordedCommands({**SLURM, "sinfo --all --Node": down}), "root", notes.append) is None
    assert "Unable to contact slurm controller" in notes[0]
    assert find_slurm(RecordedCommands({}), "root", notes.append) is None


def test_types_of_mpi_are_read_in_the_old_form_too() -> None:
    assert read_mpi_types(TYPES) == ("pmix", "none", "cray_shasta", "pmi2", "pmix_v4")
    old = "srun: MPI types are...\nsrun: none\nsrun: pmi2\nsrun: pmix_v3\nsrun: pmix\n"  # Slurm 20.11
    assert read_mpi_types(old) == ("none", "pmi2", "pmix_v3", "pmix")


def test_broken_output_of_any_length_is_no_partition() -> None:
    for end in range(0, len(NODES), 7):
        read_partitions(PARTITIONS[: end * 9], NODES[:end])


def test_the_output_of_each_task_is_told_apart() -> None:
    assert split_labelled("0: a\n1: b\n0: c\n 1: d\nnoise\n") == ["a\nc\n", "b\nd\n"]


def test_hostile_names_stay_one_word_of_the_command() -> None:
    command = srun_command(2, {"partition": "a; $(touch harm)", "account": None}, 60)
    assert "--partition=a; $(touch harm)" in command
    assert not any(word.startswith("--account") for word in command)


def test_the_default_account_and_qos_are_those_that_the_accounting_states() -> None:
    outputs = {
        **SLURM,
        "sacctmgr --noheader --parsable2 show user": "proj42\n",
        "sacctmgr --noheader --parsable2 show associations": "root||normal|\nproj42||normal,bench|bench\n",
    }
    ordered = dict(sorted(outputs.items(), key=lambda one: -len(one[0])))
    found = find_slurm(RecordedCommands(ordered), "root", lambda note: None)
    assert found is not None
    assert found.default_account == "proj42"
    assert [(one.name, one.default_qos) for one in found.accounts] == [("root", ""), ("proj42", "bench")]
