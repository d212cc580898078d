"""The cause of a difference is found where it is known: real programs, profiled in the lab, in C and Fortran.

At least 90 % of a difference goes to the right cause, and at most 5 % to any other one.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import TARE
from tare.analysis.causes.attribution import attributions
from tare.core.attribution import Attribution, Cause, CauseKind
from tare.core.campaign import Campaign
from tare.lab import storage
from tare.report.variants import lay_out
from tare.report.words.causes import cause_sentence
from tare.storage.campaign import read_campaign
from why.studies import NETWORKS, PATHS, PLATFORMS, site, study

pytestmark = [pytest.mark.lab, pytest.mark.slow]

PROGRAMS = Path(__file__).with_name("programs")
RIGHT, WRONG = 0.9, 0.05


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the compiled programs."""
    if not all(shutil.which(name) for name in ("mpicc.openmpi", "mpif90.openmpi", "gfortran")):
        pytest.skip("no mpicc.openmpi, mpif90.openmpi and gfortran; apt install libopenmpi-dev gfortran")
    folder = tmp_path_factory.mktemp("programs")
    c = ["mpicc.openmpi", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"]
    fortran = ["mpif90.openmpi", "-O2", f"-J{folder}"]
    for words, source, program in ((c, "truths.c", "truths-c"), (fortran, "truths.f90", "truths-fortran")):
        subprocess.run([*words, "-o", folder / program, PROGRAMS / source], check=True, timeout=120)
    return folder


def measured(folder: Path, programs: Path, parts: tuple[str, str], *, has_storage: bool = False) -> Campaign:
    """Run a study in the lab with profiles; return its campaign."""
    (folder / "site.yaml").write_text(site(has_storage=has_storage))
    (folder / "study.yaml").write_text(study("truths", "site.yaml", str(programs), parts))
    words = [TARE, "run", "study.yaml", "--no-boost", "--out", "campaign"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return read_campaign(folder / "campaign")


@pytest.fixture(scope="module")
def networks(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return measured(tmp_path_factory.mktemp("networks"), programs, NETWORKS)


@pytest.fixture(scope="module")
def platforms(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return measured(tmp_path_factory.mktemp("platforms"), programs, PLATFORMS)


@pytest.fixture(scope="module")
def paths(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    if lacking := storage.missing():
        pytest.skip(f"no {', '.join(lacking)} here; {storage.CURE}")
    return measured(tmp_path_factory.mktemp("paths"), programs, PATHS, has_storage=True)


def found(campaign: Campaign, workload: str, what: str = "") -> Attribution:
    """Return the attribution of one program."""
    cases = campaign.cases
    (one,) = [
        each
        for each in attributions(campaign)
        if each.workload == workload and cases[each.contender_case].parameters.get("what", "") == what
    ]
    return one


def told(campaign: Campaign, one: Attribution) -> str:
    """Return what is said of an attribution."""
    return cause_sentence(one, lay_out(campaign, ()))


def shares(one: Attribution, is_right: Callable[[Cause], bool]) -> tuple[float, float]:
    """Return the share of what is right, and the largest of what is not."""
    right = sum(cause.share.value for cause in one.causes if is_right(cause))
    return right, max(abs(cause.share.value) for cause in one.causes if not is_right(cause))


def holds(campaign: Campaign, one: Attribution, is_right: Callable[[Cause], bool], words: str) -> None:
    """Assert that a difference goes to what is right, and to nothing else, and that this is said."""
    right, wrong = shares(one, is_right)
    assert right >= RIGHT, one.causes
    assert wrong <= WRONG, one.causes
    assert words in told(campaign, one)


@pytest.mark.parametrize("language", ["c", "fortran"])
def test_small_allreduces_on_a_long_link_are_the_cause(networks: Campaign, language: str) -> None:
    one = found(networks, language, "allreduces")
    holds(networks, one, lambda cause: cause.name == "MPI_Allreduce", "MPI_Allreduce of up to 8")


@pytest.mark.parametrize("language", ["c", "fortran"])
def test_large_messages_on_a_slow_link_are_the_cause(networks: Campaign, language: str) -> None:
    one = found(networks, language, "sends")
    holds(networks, one, lambda cause: "MPI_Send" in cause.name, "MPI_Send of up to 1")


def test_messages_that_are_waited_for_are_the_cause_and_hidden_ones_are_not(networks: Campaign) -> None:
    exposed, hidden = (found(networks, "c", what) for what in ("exposed", "hidden"))
    holds(networks, exposed, lambda cause: "MPI_Irecv" in cause.name, "MPI_Irecv")
    assert exposed.difference_s is not None
    assert hidden.difference_s is not None
    assert abs(messages_s(hidden)) < 0.05 * messages_s(exposed), "they arrive while ranks do something else"
    assert abs(hidden.difference_s.value) < 0.2 * exposed.difference_s.value, "a barrier is not hidden"


def messages_s(one: Attribution) -> float:
    """Return how much longer non-blocking messages take, in seconds."""
    return sum(cause.difference_s.value for cause in one.causes if "MPI_Irecv" in cause.name)


def test_a_slow_rank_is_the_cause_and_not_the_collective_in_which_others_wait(platforms: Campaign) -> None:
    one = found(platforms, "c", "steps")
    holds(platforms, one, lambda cause: cause.rank == 1, "slower computation of rank 1, and waiting for it")


def test_computation_beside_packets_is_the_cause(platforms: Campaign) -> None:
    one = found(platforms, "c", "work")
    holds(platforms, one, lambda cause: cause.kind is CauseKind.COMPUTATION, "computation")


def test_writing_to_a_slow_path_is_the_cause(paths: Campaign) -> None:
    one = found(paths, "files")
    holds(paths, one, lambda cause: cause.kind is CauseKind.FILES, "file I/O")
