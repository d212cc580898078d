"""What PSI/J gets wrong of batch systems: shown on PSI/J as it is, and put right.

The texts are squeue's of Slurm 22.05; qstat's of PBS Professional 19.0 to 2021.1 (users' posts); bjobs' as in
IBM's manual of Spectrum LSF 10.1.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import psij
import pytest
from psij.executors.batch.batch_scheduler_executor import BatchSchedulerExecutor

from backends.psij.doubles import BatchSystemDouble
from tare.core.errors import BackendError
from tare.plugins.backends.psij import corrections, library
from tare.plugins.backends.psij.systems import Executor

SQUEUE = """\
JOBID               ST                  REASON              
3                   CA                  None                
4                   PD                  ReqNodeNotAvail, Una
5                   NF                  None                
6                   F                   RaisedSignal:53(Rea
7                   TO                  TimeLimit           
8                   ZZ                  None                
9                   R                   None                
"""  # noqa: W291

QSTAT = """\
{
    "timestamp":1664911414,
    "pbs_version":"19.0.0",
    "pbs_server":"meta-pbs.metacentrum.cz",
    "Jobs":{
        "12860476.meta-pbs.metacentrum.cz":{
            "Job_Name":"swrap_01",
            "job_state":"R",
            "queue":"charon_2h",
            "exec_host":"charon24/0*2+charon21/0*2",
            "comment":"Job run at Tue Oct 04 at 21:23 on (charon24:ncpus=2)+(charon21:ncpus=2)"
        }
    }
}
"""
NO_JOBS = """\
{
    "timestamp":1682496699,
    "pbs_version":"2021.1.3.20220217134230",
    "pbs_server":"hn1"
}
"""
UNKNOWN = "qstat: Unknown Job Id 12860475.meta-pbs.metacentrum.cz\n"

BJOBS = json.dumps(
    {
        "COMMAND": "bjobs",
        "JOBS": 2,
        "RECORDS": [
            {
                "JOBID": "4711",
                "STAT": "EXIT",
                "EXIT_REASON": "TERM_RUNLIMIT: job killed after reaching LSF run time limit",
                "KILL_REASON": "",
                "SUSPEND_REASON": "",
            },
            {"JOBID": "4712", "STAT": "RUN", "EXIT_REASON": "", "KILL_REASON": "", "SUSPEND_REASON": ""},
        ],
    }
)


def as_it_is(name: Executor, folder: Path) -> BatchSchedulerExecutor:
    found = psij.JobExecutor.get_instance(name.value, config=psij.JobExecutorConfig(work_directory=folder))
    assert isinstance(found, BatchSchedulerExecutor)
    return found


def corrected(name: Executor, folder: Path) -> BatchSchedulerExecutor:
    found = library.executor(name, folder)
    assert isinstance(found, BatchSchedulerExecutor)
    return found


def states(found: dict[str, psij.JobStatus]) -> dict[str, str]:
    return {number: status.state.name for number, status in found.items()}


def test_one_job_with_an_odd_reason_costs_no_other_its_state(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        as_it_is(Executor.SLURM, tmp_path).parse_status_output(0, SQUEUE)
    found = corrected(Executor.SLURM, tmp_path).parse_status_output(0, SQUEUE)
    assert states(found) == {
        "3": "CANCELED",
        "4": "QUEUED",
        "5": "FAILED",
        "6": "FAILED",
        "7": "FAILED",
        "8": "ACTIVE",  # a state that PSI/J does not know: not over, as far as it can be told
        "9": "ACTIVE",
    }
    assert found["7"].message == "The job exhausted its time limit."
    assert found["6"].message is None


def test_a_server_that_forgot_a_job_still_reports_the_others(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        as_it_is(Executor.PBS, tmp_path).parse_status_output(153, QSTAT + UNKNOWN)
    pbs = corrected(Executor.PBS, tmp_path)
    assert states(pbs.parse_status_output(153, QSTAT + UNKNOWN)) == {
        "12860476.meta-pbs.metacentrum.cz": "ACTIVE"
    }
    assert pbs.parse_status_output(153, NO_JOBS + UNKNOWN) == {}
    assert pbs.parse_status_output(153, UNKNOWN) == {}
    assert pbs.parse_status_output(0, NO_JOBS) == {}


def test_a_server_that_does_not_answer_is_no_server_without_jobs(tmp_path: Path) -> None:
    said = "Connection refused\nqstat: cannot connect to server hn1 (errno=15010)\n"
    with pytest.raises(RuntimeError, match="cannot connect"):
        corrected(Executor.PBS, tmp_path).parse_status_output(1, said)
    with pytest.raises(RuntimeError, match="slurm_load_jobs"):
        corrected(Executor.SLURM, tmp_path).parse_status_output(1, "slurm_load_jobs error: Unable to contact")


def test_a_job_of_pbs_that_is_over_counts_as_cancelled(tmp_path: Path) -> None:
    with pytest.raises(psij.SubmitException):
        as_it_is(Executor.PBS, tmp_path).process_cancel_command_output(35, "qdel: Job has finished 1.hn1")
    pbs = corrected(Executor.PBS, tmp_path)
    pbs.process_cancel_command_output(35, "qdel: Job has finished 1.hn1")
    with pytest.raises(psij.SubmitException, match="Unauthorized"):
        pbs.process_cancel_command_output(159, "qdel: Unauthorized Request 1.hn1")


def test_a_job_of_lsf_that_ended_for_a_reason_costs_no_other_its_state(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        as_it_is(Executor.LSF, tmp_path).parse_status_output(0, BJOBS)
    found = corrected(Executor.LSF, tmp_path).parse_status_output(0, BJOBS)
    assert states(found) == {"4711": "FAILED", "4712": "ACTIVE"}


def test_a_command_that_hangs_holds_nobody_up_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tare.plugins.backends.batch.commands._TIMEOUT_S", 0.2)
    with pytest.raises(subprocess.CalledProcessError) as caught:
        corrected(Executor.SLURM, tmp_path)._run_command(["sleep", "30"])
    assert caught.value.output == "sleep did not answer within 0.2 s"


def test_jobs_are_listed_without_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    double = BatchSystemDouble(tmp_path, monkeypatch, "qstat")
    monkeypatch.setenv("LOGNAME", "somebody")
    corrected(Executor.PBS, tmp_path / "work").list()
    assert double.calls == ["qstat -u somebody"]


def test_loading_psij_leaves_the_signals_of_this_process_alone() -> None:
    script = (
        "import signal, tare.plugins.backends.psij.library as library\n"
        "library.load()\n"
        "assert signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    taken_over = "import signal, psij; assert signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL"
    assert (
        subprocess.run([sys.executable, "-c", taken_over], check=False, capture_output=True).returncode == 1
    )


def test_where_psij_is_not_installed_the_error_names_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "psij", None)
    with pytest.raises(BackendError, match=r"pip install 'tare-hpc\[psij\]'"):
        library.load()


def test_a_method_that_psij_no_longer_has_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AttributeError, match="see whether Tare's correction may go"):
        corrections._replace(as_it_is(Executor.SLURM, tmp_path), "no_such_method", print)
