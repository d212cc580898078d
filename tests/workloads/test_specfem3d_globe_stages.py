"""The stages of SPECFEM3D_GLOBE, run here over a small tree with the program's rules of dependence.

As in the program's own makefile, the header of the solver's arrays is made from the Par_file beside the
sources, again whenever the Par_file or the program that makes the header is newer. A solver refuses to run
with another Par_file than the one of its header.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from tare.core.attempt import Attempt, State
from tare.core.case import Layout, Run
from tare.core.launch import Invocation, Placement
from tare.core.plan import Plan
from tare.core.site import Platform, Site
from tare.core.values import Scalar
from tare.execution.attempt_runner import AttemptRunner
from tare.execution.compose import Composer
from tare.plugins.backends.hosts.own_storage import OwnStorage
from tare.plugins.backends.ownership.sessions import new_session
from tare.plugins.backends.process.backend import ProcessBackend
from tare.plugins.runtimes.native import Native
from tare.plugins.workloads.specfem3d_globe import WORKLOADS
from workloads.cases import case_of

GLOBE = WORKLOADS[0]

MAKEFILE = """\
xmeshfem3D: bin/xmeshfem3D
xspecfem3D: bin/xspecfem3D

bin/xmeshfem3D bin/xcreate_header_file: bin/%: src/%
	mkdir -p bin; echo $* >> LOG; sh LOG.kill build-$*
	install $< $@

OUTPUT_FILES/values_from_mesher.h: bin/xcreate_header_file DATA/Par_file
	bin/xcreate_header_file

bin/xspecfem3D: src/xspecfem3D OUTPUT_FILES/values_from_mesher.h
	mkdir -p bin; echo xspecfem3D >> LOG; sh LOG.kill build-xspecfem3D
	(cat src/xspecfem3D; sed 's/^/HEADER /' OUTPUT_FILES/values_from_mesher.h) > $@
	chmod 755 $@
"""

HEADER = """\
#!/bin/sh
# The dimensions of the solver's arrays; here, as in the program, they depend on no length in minutes.
mkdir -p OUTPUT_FILES
grep -E '^(NCHUNKS|NEX|NPROC|MODEL)' DATA/Par_file > OUTPUT_FILES/values_from_mesher.h
"""

MESHER = f"""\
{HEADER}
echo mesh >> LOG; sh LOG.kill mesh
cp DATA/STATIONS DATABASES_MPI/
echo ' Elapsed time for mesh generation and buffer creation in seconds = 1.5
 End of mesh generation' > OUTPUT_FILES/output_mesher.txt
"""

SOLVER = """\
#!/bin/sh
sh LOG.kill run
grep -E '^(NCHUNKS|NEX|NPROC|MODEL)' DATA/Par_file > OUTPUT_FILES/now
sed -n 's/^HEADER //p' "$0" | cmp -s - OUTPUT_FILES/now || {
  echo 'Error in compiled parameters, please recompile solver 1'; exit 30; }
echo "
 **** Specfem3D MPI Solver ****

 Mean elapsed time per time step in seconds = 0.25
 Total elapsed time in seconds = $(cat DATABASES_MPI/STATIONS)

 End of the simulation
" > OUTPUT_FILES/output_solver.txt
exit 0
"""

PAR_FILE = """\
NCHUNKS                         = 1
NEX_XI                          = 128
NEX_ETA                         = 128
NPROC_XI                        = 4
NPROC_ETA                       = 4
MODEL                           = s29ea
RECORD_LENGTH_IN_MINUTES        = 15.0d0
"""


class OneRank:
    """Stands for an MPI: starts one rank, on this machine."""

    name = "one-rank"

    def launch(self, program: Invocation, placement: Placement) -> Invocation:
        return program


class Chain(msgspec.Struct):
    """A tree of sources, and what runs attempts of its stages."""

    sources: Path
    log: Path
    run: Callable[..., Attempt]

    def made(self) -> list[str]:
        """Return what was built and run since the last call, but for the header's program."""
        made = self.log.read_text().split() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return [name for name in made if name != "xcreate_header_file"]


@pytest.fixture
def chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chain]:
    """A configured tree whose DATA and OUTPUT_FILES are links to folders that users share."""
    sources, shared, log = tmp_path / "globe", tmp_path / "shared", tmp_path / "log"
    for folder in (sources / "src", shared / "DATA/topo", shared / "OUTPUT_FILES"):
        folder.mkdir(parents=True)
    for name in ("DATA", "OUTPUT_FILES"):
        (sources / name).symlink_to(shared / name)
    (shared / "DATA/Par_file").write_text(PAR_FILE)
    (shared / "DATA/STATIONS").write_text("10.5")
    (shared / "OUTPUT_FILES/values_from_mesher.h").write_text("of another run\n")
    kill = f"mark={tmp_path}/kill-$1; [ ! -e $mark ] || {{ rm $mark; kill -9 0; }}\n"
    (tmp_path / "log.kill").write_text(kill)
    texts = {"xcreate_header_file": HEADER, "xmeshfem3D": MESHER, "xspecfem3D": SOLVER}
    for name, text in texts.items():
        (sources / "src" / name).write_text(text.replace("LOG", str(log)))
        (sources / "src" / name).chmod(0o755)
    (sources / "Makefile").write_text(MAKEFILE.replace("LOG", str(log)))

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    label = str(new_session("specfem"))
    site = Site(name="here", nodes=("n1", "n2", "n3", "n4"), platforms={"bare": Platform()})
    folder = tmp_path / "campaign"
    folder.mkdir()
    numbers = iter(range(1, 100))
    with ProcessBackend(label=label) as backend:

        def run(*, nodes: int = 1, ranks: int = 4, threads: int = 1, **parameters: Scalar) -> Attempt:
            layout = Layout(nodes=nodes, ranks=ranks, ranks_per_node=ranks // nodes, threads=threads)
            case = case_of(GLOBE, layout, sources=str(sources), **parameters)
            assert not list(GLOBE.faults(case))
            return AttemptRunner(
                folder=folder,
                plan=Plan(study="s", site="here", cases=(case,), timeout_s=20),
                composer=Composer(site, {GLOBE.name: GLOBE}, lambda _: OneRank(), lambda _: Native()),
                backend=backend,
                storage=OwnStorage(backend.ask),
                counters=lambda _: {},
                environment=lambda *_: "e",
                label=label,
            ).execute(case, Run(1, case.id), next(numbers))

        yield Chain(sources, log, run)


ALL = ["xmeshfem3D", "xspecfem3D", "mesh"]


def elapsed(attempt: Attempt) -> float:
    assert attempt.state is State.DONE, attempt.reason
    return next(one.values[0] for one in attempt.series if one.fom == "elapsed")


def test_the_header_is_of_the_edited_par_file_and_not_of_the_trees_own(chain: Chain, tmp_path: Path) -> None:
    assert elapsed(chain.run(nex=48)) == 10.5
    assert chain.made() == ALL
    assert (tmp_path / "shared/DATA/Par_file").read_text() == PAR_FILE, "what users share is not written to"
    assert [path.name for path in (tmp_path / "shared/OUTPUT_FILES").iterdir()] == ["values_from_mesher.h"]


def test_a_header_left_in_the_tree_by_another_build_is_not_used(chain: Chain) -> None:
    for name in ("DATA", "OUTPUT_FILES"):
        target = (chain.sources / name).resolve()
        (chain.sources / name).unlink()
        target.rename(chain.sources / name)
    (chain.sources / "bin").mkdir()
    (chain.sources / "bin/xcreate_header_file").write_text(HEADER)
    (chain.sources / "bin/xcreate_header_file").chmod(0o755)
    (chain.sources / "OUTPUT_FILES/values_from_mesher.h").touch()
    assert elapsed(chain.run(nex=48)) == 10.5


@pytest.mark.parametrize("chunks", [1, 6])
def test_one_and_six_chunks(chain: Chain, chunks: int) -> None:
    assert elapsed(chain.run(nex=48, ranks=chunks, chunks=chunks)) == 10.5


def test_the_solver_is_built_again_when_its_header_changes_and_not_else(chain: Chain) -> None:
    chain.run(nex=48)
    assert chain.made() == ALL
    chain.run(nex=48)
    assert chain.made() == []
    chain.run(nex=48, nodes=2)
    assert chain.made() == ["mesh"], "other nodes need the same programs"
    chain.run(nex=48, threads=2)
    assert "xspecfem3D" not in chain.made()
    for changed in ({"nex": 64}, {"nex": 48, "ranks": 1}, {"nex": 48, "model": "s40rts"}):
        elapsed(chain.run(**changed))
        assert chain.made() == ["xspecfem3D", "mesh"]


@pytest.mark.parametrize("name", ["STATIONS", "topo/heights"])
def test_changed_data_behind_a_link_makes_the_mesh_again(chain: Chain, tmp_path: Path, name: str) -> None:
    assert elapsed(chain.run(nex=48)) == 10.5
    chain.made()
    (tmp_path / "shared/DATA" / name).write_text("11")
    chain.run(nex=48)
    assert "mesh" in chain.made()


def test_changed_sources_build_both_programs_again(chain: Chain) -> None:
    chain.run(nex=48)
    chain.made()
    with (chain.sources / "src/xspecfem3D").open("a") as source:
        source.write("# changed\n")
    assert elapsed(chain.run(nex=48)) == 10.5
    assert chain.made() == ALL


@pytest.mark.parametrize(
    "killed", ["build-xmeshfem3D", "build-xcreate_header_file", "build-xspecfem3D", "mesh", "run"]
)
def test_a_stage_that_was_killed_is_done_again_and_those_before_it_are_not(
    chain: Chain, tmp_path: Path, killed: str
) -> None:
    (tmp_path / f"kill-{killed}").touch()
    assert chain.run(nex=48).state is State.FAILED
    before = chain.made()
    assert elapsed(chain.run(nex=48)) == 10.5
    finished = before if killed == "run" else before[:-1]
    if killed == "build-xcreate_header_file":
        finished = before
    assert chain.made() == [name for name in ALL if name not in finished]
