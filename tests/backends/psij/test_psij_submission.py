"""What PSI/J hands to batch systems that are not here, whose commands are doubles."""

from __future__ import annotations

from pathlib import Path

import psij
import pytest

from backends.psij.doubles import BatchSystemDouble
from tare.core.errors import BackendError
from tare.core.site import Platform
from tare.plugins.backends.batch.commands import Reach
from tare.plugins.backends.batch.queue import Request
from tare.plugins.backends.psij.job_spec import job_of
from tare.plugins.backends.psij.options import PsijOptions
from tare.plugins.backends.psij.queue import PsijQueue
from tare.plugins.backends.psij.register import Register
from tare.plugins.backends.psij.systems import SYSTEMS, Executor

NAME = "tare-0123456789ab-c0ffee-1.1"
BSUB = "Job <4711> is submitted to queue <normal>.\n"  # IBM Spectrum LSF 10.1, bsub(1)


def request(folder: Path, options: PsijOptions) -> Request:
    return Request(
        name=NAME,
        nodes=2,
        ranks_per_node=4,
        threads=2,
        minutes=90,
        output=folder / "job.out",
        platform=Platform(backend="psij", options=options),
    )


def queue_of(folder: Path, executor: Executor) -> PsijQueue:
    register = Register(folder / "psij", executor, folder / "state")
    return PsijQueue(executor, register, Reach(), poll_s=1.0)


def submit(folder: Path, options: PsijOptions) -> str:
    queue = queue_of(folder, options.executor)
    try:
        return queue.submit(folder / "job.sh", request(folder, options))
    finally:
        queue.close()


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BatchSystemDouble:
    double = BatchSystemDouble(tmp_path, monkeypatch, "qsub", "qstat", "qdel", "bsub", "bjobs", "bkill")
    double.says("qsub", "123.pbs-server.example.org\n")
    double.says("bsub", BSUB)
    return double


ASKED = {
    Executor.PBS: [
        "#PBS -V",
        "#PBS -l select=2:ncpus=8:mpiprocs=8",
        "#PBS -l place=scatter:exclhost",
        "#PBS -l walltime=1:30:0",
        "#PBS -A physics",
        "#PBS -q short",
        f'#PBS -N "psij-{NAME}"',
        '#PBS -r "n"',
        "#PBS -e /dev/null",
        "#PBS -o /dev/null",
        "#PBS -V",
    ],
    Executor.PBS_CLASSIC: [
        "#PBS -V",
        "#PBS -l nodes=2:ppn=8",
        "#PBS -n",
        "#PBS -l walltime=1:30:0",
        "#PBS -A physics",
        "#PBS -q short",
        f'#PBS -N "psij-{NAME}"',
        '#PBS -r "n"',
        "#PBS -e /dev/null",
        "#PBS -o /dev/null",
        "#PBS -V",
    ],
    Executor.LSF: [
        "#BSUB -env all",
        "#BSUB -n 16",
        "#BSUB -W 1:30",
        '#BSUB -q "short"',
        '#BSUB -G "physics"',
        '#BSUB -P "physics"',
        f'#BSUB -J "psij-{NAME}"',
        "#BSUB -e /dev/null",
        "#BSUB -o /dev/null",
    ],
    Executor.COBALT: [
        "#COBALT --nodecount=2",
        "#COBALT --proccount=8",
        "#COBALT --time=1:30:0",
        "#COBALT --queue=short",
        "#COBALT --project=physics",
        f'#COBALT --jobname="psij-{NAME}"',
        "#COBALT -e /dev/null",
        "#COBALT -o /dev/null",
    ],
}


@pytest.mark.parametrize("executor", ASKED)
def test_a_job_asks_for_its_nodes_time_queue_and_account_by_its_name(
    executor: Executor, system: BatchSystemDouble, tmp_path: Path
) -> None:
    options = PsijOptions(executor=executor, queue="short", account="physics", exclusive=True)
    if executor is Executor.COBALT:
        system.says("qsub", "1234567\n")
    submit(tmp_path, options)
    assert system.directives == ASKED[executor]


def test_the_id_is_the_batch_systems_own(system: BatchSystemDouble, tmp_path: Path) -> None:
    assert submit(tmp_path, PsijOptions(executor=Executor.PBS)) == "123.pbs-server.example.org"
    assert submit(tmp_path, PsijOptions(executor=Executor.LSF)) == "4711"


def test_lsf_reads_the_script_as_input_and_gets_how_many_slots_a_node_gives(
    system: BatchSystemDouble, tmp_path: Path
) -> None:
    submit(tmp_path, PsijOptions(executor=Executor.LSF, exclusive=True))
    assert system.calls == ["bsub -R span[ptile=8] -x"]


def test_attributes_become_options_of_the_batch_system(system: BatchSystemDouble, tmp_path: Path) -> None:
    options = PsijOptions(executor=Executor.PBS, minutes=5, attributes={"pbs.W": "group_list=physics"})
    submit(tmp_path, options)
    assert '#PBS -W "group_list=physics"' in system.directives
    assert "#PBS -l walltime=0:5:0" in system.directives


def test_the_log_has_what_is_submitted(
    system: BatchSystemDouble, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="tare"):
        submit(tmp_path, PsijOptions(executor=Executor.LSF))
    assert [(one.name, one.message) for one in caplog.records] == [("tare.psij", "command")]
    assert "bsub" in vars(caplog.records[0])["fields"]["argv"]


def test_the_words_of_a_refusal_arrive(system: BatchSystemDouble, tmp_path: Path) -> None:
    system.says("qsub", "", complains="qsub: Unknown queue\n", code=170)
    with pytest.raises(BackendError, match=r"^PSI/J: qsub: Unknown queue$"):
        submit(tmp_path, PsijOptions(executor=Executor.PBS))


def test_a_batch_system_without_its_commands_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="bsub"):
        submit(tmp_path, PsijOptions(executor=Executor.LSF))


def test_the_local_executor_has_one_node(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"one node, and tare-\S+ asks for 2"):
        submit(tmp_path, PsijOptions(executor=Executor.LOCAL))


def test_flux_starts_the_script_under_an_instance_with_a_broker_on_each_node(tmp_path: Path) -> None:
    options = PsijOptions(executor=Executor.FLUX)
    job = job_of(tmp_path / "job.sh", request(tmp_path, options), options)
    assert job.spec is not None
    assert [job.spec.executable, *(job.spec.arguments or [])] == [
        "flux",
        "start",
        "/bin/bash",
        str(tmp_path / "job.sh"),
    ]
    resources = job.spec.resources
    assert isinstance(resources, psij.ResourceSpecV1)
    assert (resources.node_count, resources.process_count, resources.cpu_cores_per_process) == (2, 2, 8)
    assert resources.processes_per_node is None  # which PSI/J's executor for Flux refuses


def test_flux_without_its_bindings_is_reported_in_the_words_of_psij(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="Unable to load executor flux: No module named 'flux'"):
        queue_of(tmp_path, Executor.FLUX)


def test_every_executor_that_psij_brings_is_known_or_left_out_on_purpose() -> None:
    assert set(SYSTEMS) == set(Executor)
    assert psij.JobExecutor.get_executor_names() == {*Executor, "rp"}  # RADICAL-Pilot runs under the others
