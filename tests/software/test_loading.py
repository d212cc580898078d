"""What is loaded before a program, by real module systems."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.modules import environment_modules, lmod, write_module
from support.spack import spack_double
from tare.core.launch import Invocation
from tare.core.software import Layers, Software
from tare.core.workload import Stage
from tare.plugins.collectors.facts import collect_facts, facts_script
from tare.plugins.collectors.source import Subject
from tare.probes.records import read_records
from tare.probes.software import asking, faults_in, loaded, read_fault, with_script

SYSTEMS = pytest.mark.parametrize("system", [lmod, environment_modules])
System = Callable[[], Path]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return tmp_path / "attempts/case/1.1"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree as hierarchies have it: MPIs are seen only when a compiler is loaded."""
    tree = tmp_path / "modules"
    write_module(tree / "core", "gcc/13", f"setenv COMPILER gcc-13\nprepend-path MODULEPATH {tree}/gcc13")
    write_module(tree / "core", "gcc/12", f"setenv COMPILER gcc-12\nprepend-path MODULEPATH {tree}/gcc12")
    write_module(tree / "gcc13", "openmpi/5.0", "prepend-path PATH /opt/mpi/bin\nsetenv OMP_NUM_THREADS 1")
    write_module(tree / "core", "loud/1", 'puts stderr "Welcome to loud"')
    write_module(tree / "core", "licence/1", 'puts stderr "no licence here"\nexit 1')
    write_module(tree / "core", "app/1", "module unload gcc/13\nmodule load gcc/12")
    write_module(tree / "core", "compiler/latest", "module load gcc/13")
    return tree


def using(system: System, tree: Path, *modules: str) -> Layers:
    setup = f". {system()}\nmodule use {tree}/core"
    return (Software(setup=setup), Software(modules=modules))


def run(
    work: Path, layers: Layers, *argv: str, role: str = "run", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    stage = with_script(Stage(argv=argv), layers)
    for name, text in stage.files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    command = loaded(Invocation(argv=argv, env=env or {}), role, str(work))
    variables = {**os.environ, **command.env}
    return subprocess.run(command.argv, capture_output=True, text=True, check=False, env=variables)


SHOW = ("sh", "-c", "echo $COMPILER $OMP_NUM_THREADS $PATH; cat")


@SYSTEMS
def test_a_hierarchy_is_loaded_in_its_order(system: System, work: Path, tree: Path) -> None:
    done = run(work, using(system, tree, "gcc/13", "openmpi/5.0"), *SHOW)
    assert done.stderr == ""
    assert done.stdout.startswith("gcc-13 1 ")
    assert "/opt/mpi/bin" in done.stdout.split()[2].split(":")


@SYSTEMS
def test_a_module_does_not_change_what_a_case_asks_for(system: System, work: Path, tree: Path) -> None:
    layers = using(system, tree, "gcc/13", "openmpi/5.0")
    assert run(work, layers, *SHOW, env={"OMP_NUM_THREADS": "4"}).stdout.startswith("gcc-13 4 ")


@SYSTEMS
@pytest.mark.parametrize(
    ("modules", "fault", "words"),
    [
        (("gcc/13", "openmpi/9"), "module load openmpi/9 failed on ", "openmpi/9"),
        (("openmpi/5.0",), "module load openmpi/5.0 failed on ", "openmpi/5.0"),
        (("$(touch pwned)", "x'y"), "module load '$(touch pwned)' failed on ", "touch"),
    ],
)
def test_a_module_that_fails_is_a_fault_with_its_own_words(
    system: System, work: Path, tree: Path, modules: tuple[str, ...], fault: str, words: str
) -> None:
    done = run(work, using(system, tree, *modules), "echo", "never")
    assert (done.stdout, done.returncode) == ("", 1)
    (found,) = faults_in(work)
    assert found.describe().startswith(fault.replace("'", "")), found.describe()
    said = found.describe().partition(": ")[2]
    own = "Unable to locate a modulefile" if system is environment_modules else "module(s) are unknown"
    assert own in said or "cannot be loaded as requested" in said
    assert words in said
    assert not list(work.parents[2].rglob("pwned"))
    assert not Path("pwned").exists()


def test_a_module_that_makes_another_inactive_is_a_fault(work: Path, tree: Path) -> None:
    """The level loads another compiler, for which there is no such MPI: another one would run."""
    done = run(work, using(lmod, tree, "gcc/13", "openmpi/5.0", "gcc/12"), "echo", "never")
    assert (done.stdout, done.returncode) == ("", 1)
    (found,) = faults_in(work)
    assert "module load gcc/12" in found.describe()
    assert "Inactive Modules" in found.describe()
    assert "openmpi/5.0" in found.describe()


@SYSTEMS
def test_a_module_file_that_exits_is_a_fault(system: System, work: Path, tree: Path) -> None:
    """Lmod returns 0 then, without a word, and has loaded nothing."""
    done = run(work, using(system, tree, "licence/1"), "echo", "never")
    assert (done.stdout, done.returncode) == ("", 1)
    (found,) = faults_in(work)
    assert found.describe().startswith("module load licence/1 failed on ")
    if system is lmod:
        words = "it reported no error, but licence/1 is not loaded; it had printed: no licence here"
        assert found.sentence == f"module load licence/1 failed: {words}"


@SYSTEMS
def test_a_module_that_unloads_another_one_is_a_fault(system: System, work: Path, tree: Path) -> None:
    """The level is a compiler, and the application's module replaces it by another one."""
    done = run(work, using(system, tree, "gcc/13", "app/1"), "echo", "never")
    assert (done.stdout, done.returncode) == ("", 1)
    (found,) = faults_in(work)
    assert found.sentence == (
        "module load app/1 failed: it unloaded gcc/13, which was asked for before it; leave one of them out"
    )


@SYSTEMS
@pytest.mark.parametrize(
    "modules", [("gcc/12", "gcc/13"), ("gcc",), ("gcc/",), ("compiler/latest", "gcc/13"), ("gcc/13", "gcc")]
)
def test_a_module_may_be_named_again(
    system: System, work: Path, tree: Path, modules: tuple[str, ...]
) -> None:
    done = run(work, using(system, tree, *modules), *SHOW)
    assert done.stdout.startswith("gcc-13"), [one.describe() for one in faults_in(work)]


def test_a_warning_of_lmod_is_no_fault(work: Path, tree: Path) -> None:
    """`module load` returns 1 with it, and loads the module."""
    (tree / "core/old").mkdir()
    (tree / "core/old/1.lua").write_text('LmodWarning("deprecated")\nsetenv("COMPILER", "old")\n')
    done = run(work, using(lmod, tree, "old/1"), *SHOW)
    assert done.stdout.startswith("old"), [one.describe() for one in faults_in(work)]
    assert "deprecated" in (work / "software/run.log").read_text()


def test_what_lmod_says_of_its_files_is_left_out_of_a_fault(work: Path, tree: Path) -> None:
    write_module(tree / "core", "wrong/1", 'error "not on this host"')
    run(work, using(lmod, tree, "wrong/1"), "true")
    (found,) = faults_in(work)
    assert found.describe().endswith("not on this host")


@SYSTEMS
def test_what_is_printed_meanwhile_is_kept_apart(system: System, work: Path, tree: Path) -> None:
    layers = (*using(system, tree, "loud/1"), Software(setup="echo banner; echo warning >&2"))
    done = run(work, layers, "echo", "42")
    assert (done.stdout, done.stderr) == ("42\n", "")
    log = (work / "software/run.log").read_text()
    assert all(one in log for one in ("Welcome to loud", "banner", "warning"))


@SYSTEMS
def test_what_was_loaded_is_recorded(system: System, tree: Path) -> None:
    script = asking(facts_script(Subject()), using(system, tree, "gcc/13", "openmpi/5.0"))
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert collect_facts(read_records(done.stdout))["software.modules"] == "gcc/13, openmpi/5.0"


@pytest.mark.parametrize(
    ("setup", "fault"),
    [
        ("true\nfalse hello\necho later", "false hello failed on "),
        ("exit 3", "setup (which ended the shell) failed on "),
        ("if ; then", "setup failed on "),
        ("nonexistent-command", "nonexistent-command failed on "),
        ("echo 'no licence'; exit 0", "setup did not come to its end on "),
        ("trap 'echo bye' EXIT; exit 3", "setup did not come to its end on "),
        ("exec echo instead", "setup did not come to its end on "),
        ("kill -9 $$", "setup did not come to its end on "),
        ("set -n", "setup did not come to its end on "),
        ("echo $((1/0))\necho later", "setup failed on "),
        ("export A=$((1/0)); echo later", "setup failed on "),
        ("f() { echo $((08)); }; f\ntrue", "setup failed on "),
        ("readonly R=1; R=2", "setup failed on "),
        ("echo ${R!bad}\ntrue", "setup failed on "),
        ("echo ${R:?no R here}\ntrue", "setup (which ended the shell) failed on "),
        ("set -u; echo $nowhere\ntrue", "setup (which ended the shell) failed on "),
        ("declare -i z=1/0\ntrue", "setup did not come to its end on "),
        ("if true; then", "setup failed on "),
        ("spack() { false; return $?; }\nspack env activate none", "setup failed on "),
    ],
)
def test_a_setup_line_that_fails_is_a_fault(work: Path, setup: str, fault: str) -> None:
    done = run(work, (Software(setup=setup),), "echo", "never")
    assert done.stdout == ""
    (found,) = faults_in(work)
    assert found.describe().startswith(fault)


@pytest.mark.parametrize(
    ("setup", "words"),
    [
        ("if true; then\necho later", "syntax error near unexpected token `}', or where the lines end"),
        ("echo (later)", "syntax error near unexpected token `later'"),
        ("echo 'later", "unexpected EOF while looking for matching `''"),
        ("cat <<END\nlater", "syntax error: unexpected end of file"),
    ],
)
def test_setup_lines_that_are_no_commands_are_a_fault_in_which_nothing_is_of_tare(
    work: Path, setup: str, words: str
) -> None:
    done = run(work, (Software(setup=setup),), "echo", "never")
    assert done.stdout == ""
    (found,) = faults_in(work)
    assert found.sentence == f"setup failed: {words}"


@pytest.mark.parametrize(
    ("setup", "words"),
    [
        ("echo before; echo $((1/0))\necho later", r"""division by 0 \(error token is "0"\)"""),
        ("echo ${R:?no R here}\necho later", "R: no R here"),
        ("set -u; echo $nowhere\necho later", "nowhere: unbound variable"),
        ("readonly R=1; R=2\necho later", "R: readonly variable"),
    ],
)
def test_an_expansion_that_fails_is_a_fault_with_the_words_of_bash(
    work: Path, setup: str, words: str
) -> None:
    run(work, (Software(setup=setup),), "echo", "never", env={"LC_ALL": "C"})
    (found,) = faults_in(work)
    assert re.search(f"^setup .*failed on .*{words}$", found.describe()), found.describe()


@pytest.mark.parametrize(
    "setup",
    [
        "cat >/dev/null <<END\ntext }\nEND",
        "A=(1 2) # comment",
        "if true; then\n  A=1\nfi",
        "case a in\n  a) A=1 ;;\nesac",
        "A=1 \\\n  B=2",
        "true &",
        "( exit 1 ) || true",
        "[ -d /nowhere ] && A=1",
        "! false",
    ],
)
def test_lines_of_any_form_are_read_to_their_end(work: Path, setup: str) -> None:
    done = run(work, (Software(setup=setup),), "echo", "ran")
    assert (done.stdout, done.stderr) == ("ran\n", "")


@pytest.mark.parametrize("setup", ["exit 0", "exit 3", "exit 255", "exec echo instead", "kill -9 $$"])
def test_a_host_that_is_asked_tells_which_step_ended_its_shell(setup: str) -> None:
    """Its exit code 255 would look like ssh's own: a host that could not be reached."""
    script = asking("echo never", (Software(setup=f"echo 'no licence'; {setup}"),))
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    fault = read_fault(read_records(done.stdout)["software.fault"])
    assert (done.returncode, "never" in done.stdout) == (0, False)
    assert fault.sentence.startswith("setup ")
    assert "instead" in fault.sentence or fault.sentence.endswith("no licence")


def test_a_host_that_is_asked_tells_which_step_took_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """`spack load` may take half a minute where its files are on a busy file system."""
    monkeypatch.setattr("tare.probes.software._MOST_ASKED_S", 2)
    script = asking("echo never", (Software(setup="echo loading; sleep 60"),))
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    fault = read_fault(read_records(done.stdout)["software.fault"])
    assert not fault.has_ended
    assert fault.sentence == (
        "setup did not come to its end within the 2 s that a host has to load; it had printed: loading"
    )


@pytest.mark.parametrize(
    "setup",
    [
        "set -eu",
        "set -x",
        "set -v",
        "set -Cf",
        "cd /",
        "trap 'echo trapped' DEBUG",
        "trap 'echo trapped' EXIT",
        "exec >/dev/null 2>&1",
        "cat() { echo mine; }; rm() { echo mine; }; tail() { echo mine; }",
        "IFS=,",
    ],
)
def test_a_setup_line_changes_nothing_but_the_environment(work: Path, setup: str) -> None:
    layers = (Software(setup=setup), Software(setup="export COMPILER=mine"))
    done = run(work, layers, "sh", "-c", "echo $COMPILER; pwd")
    assert (done.stdout, done.stderr, done.returncode) == (f"mine\n{Path.cwd()}\n", "", 0)
    asked = subprocess.run(
        ["sh", "-c", asking("echo asked $COMPILER$tare_fault_text", layers)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (asked.stdout, asked.stderr) == ("asked mine\n", "")


@pytest.mark.parametrize("value", ["{file}", "$FILE", "$(echo {file})"])
def test_a_file_that_bash_reads_of_its_own_accord_prints_nothing_into_the_outputs(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    """Lmod names its own in BASH_ENV, on all nodes; it stays named, for the shells of the program."""
    file = tmp_path / "init.sh"
    file.write_text("echo welcome; echo careful >&2; export COMPILER=site; greet() { export GREETED=1; }\n")
    monkeypatch.setenv("FILE", str(file))
    monkeypatch.setenv("BASH_ENV", value.format(file=file))
    layers = (Software(setup="greet"),)
    done = run(work, layers, "sh", "-c", "echo $COMPILER $GREETED; echo $BASH_ENV ${POSIXLY_CORRECT-none}")
    assert (done.stdout, done.stderr) == (f"site 1\n{os.environ['BASH_ENV']} none\n", "")
    asked = subprocess.run(
        ["sh", "-c", asking("echo $COMPILER $GREETED", layers)], capture_output=True, text=True, check=False
    )
    assert (asked.stdout, asked.stderr) == ("site 1\n", "")


@pytest.mark.parametrize("exported", ["", "export SHELLOPTS; "])
def test_functions_of_the_site_whose_names_are_no_variables_are_known_to_steps_and_program(
    work: Path, tmp_path: Path, exported: str
) -> None:
    """bash exports functions such as ``module-use`` and ``ml::x``, which its --posix refuses."""
    layers = (Software(setup="site-load\nml::x"),)
    run(work, layers, "true")  # writes the script
    noisy = tmp_path / "init.sh"
    noisy.write_text("echo welcome; echo careful >&2\n")
    site = (
        "site-load() { export SITE=ours; }; ml::x() { export ML=x; }; export -f site-load ml::x; "
        f'export BASH_ENV={noisy}; {exported}exec "$@"'
    )

    def printed(*words: str) -> tuple[str, str]:
        done = subprocess.run(["bash", "-c", site, "", *words], capture_output=True, text=True, check=False)
        return done.stdout, done.stderr

    program = ("bash", "-c", 'site-load && echo "$SITE $ML ${-//[^p]/} $SHELLOPTS"')
    stdout, stderr = printed("env", *loaded(Invocation(argv=program), "run", str(work)).argv)
    assert (stdout.splitlines()[:1], stderr) == (["welcome"], "careful\n")  # of the program's own bash
    assert stdout.splitlines()[1].startswith("ours x  ")
    assert "privileged" not in stdout
    assert printed("bash", "-p", "-c", asking("echo $SITE $ML", layers)) == ("ours x\n", "")


def test_a_setup_line_that_spoils_path_leaves_no_other_words_than_of_the_program(work: Path) -> None:
    done = run(work, (Software(setup="unset PATH"),), "echo", "never")
    assert (done.stdout, done.returncode) == ("", 127)
    (line,) = done.stderr.strip().splitlines()
    assert line.endswith("/echo: No such file or directory")
    assert not list((work / "software").glob("printed.*"))


def test_a_process_in_the_background_holds_no_output(work: Path) -> None:
    layers = (Software(setup="sleep 600 &"),)
    script = asking("echo asked", layers)
    asked = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert asked.stdout == "asked\n"
    setup = f"sleep 600 & echo $! >{work}/pid"
    assert run(work, (Software(setup=setup),), "echo", "ran").stdout == "ran\n"
    os.kill(int((work / "pid").read_text()), signal.SIGKILL)


def test_a_file_that_a_line_reads_does_not_get_the_programs_arguments(work: Path, tmp_path: Path) -> None:
    (tmp_path / "setvars.sh").write_text('[ $# = 0 ] || { echo "unknown argument $1"; return 3; }\n')
    done = run(work, (Software(setup=f". {tmp_path}/setvars.sh"),), "echo", "two words", "*")
    assert done.stdout == "two words *\n", [one.describe() for one in faults_in(work)]


def test_ranks_that_were_ended_while_they_loaded_are_blamed_only_for_a_timeout(work: Path) -> None:
    """A launcher ends all ranks when one of them has failed: that one has the reason."""
    (work / "software").mkdir(parents=True)
    (work / "software/printed.rank.n1.7").write_text("module load gcc/13\nn1\n\n")
    assert faults_in(work) == []
    (fault,) = faults_in(work, is_timeout=True)
    assert fault.describe() == "module load gcc/13 did not come to its end on n1, and nothing was printed"


def test_a_condition_that_does_not_hold_is_no_fault(work: Path) -> None:
    done = run(work, (Software(setup="[ -d /nowhere ] && export A=1\nif false; then :; fi"),), "echo", "ran")
    assert (done.stdout, done.returncode) == ("ran\n", 0)


def test_a_rank_that_inherits_the_environment_loads_nothing_again(work: Path) -> None:
    layers = (Software(setup="echo x >>count"),)
    stage = with_script(Stage(argv=("true",)), layers)
    work.mkdir(parents=True)
    for name, text in stage.files.items():
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(text)
    rank = loaded(Invocation(argv=("echo", "ran")), "rank", str(work))
    both = loaded(rank, "launcher.run", str(work))
    done = subprocess.run(both.argv, capture_output=True, text=True, check=False, cwd=work)
    assert (done.stdout, (work / "count").read_text()) == ("ran\n", "x\n")


def test_the_program_gets_its_own_input(work: Path) -> None:
    run(work, (Software(setup="cat"),), "true")
    command = loaded(Invocation(argv=("cat",)), "run", str(work))
    done = subprocess.run(command.argv, input="figures", capture_output=True, text=True, check=False)
    assert done.stdout == "figures"


def test_without_a_module_system_the_fault_says_so(work: Path) -> None:
    (work / "etc").mkdir(parents=True)
    layers = (
        Software(setup="tare_find_module() { echo 'no module command' && return 127; }", modules=("a",)),
    )
    run(work, layers, "true")
    (found,) = faults_in(work)
    assert "no module command" in found.describe()


def test_spack_loads_specs_by_its_shell_function(work: Path, tmp_path: Path) -> None:
    root = spack_double(tmp_path / "spack root")
    setup = f"export SPACK_ROOT='{root}'"
    layers = (Software(setup=setup, spack=("gromacs@2024", "+mpi", "cflags=-O3 -g")),)
    done = run(work, layers, "sh", "-c", "echo $SPACK_LOADED")
    assert done.stdout == "gromacs@2024 +mpi cflags=-O3 -g\n", done.stderr
    run(work, (Software(setup=setup, spack=("missing",)),), "true")
    (found,) = faults_in(work)
    assert found.describe().endswith("Spec 'missing' matches no installed packages")


def test_a_full_stop_of_spack_does_not_end_the_sentence_of_tare() -> None:
    said = "==> Error: Spec 'none' matches no installed packages."
    words = read_fault(f"spack load none\nn1\n1\n{said}").sentence
    assert words == "spack load none failed: Spec 'none' matches no installed packages"


AMBIGUOUS = """\
\x1b[1;31m==>\x1b[0m Error: zlib matches multiple packages.
  Matching packages:
    \x1b[0;90mmcybs4z\x1b[0m zlib\x1b[0;36m@1.2.13\x1b[0m\x1b[0;32m%gcc\x1b[0m\x1b[0;32m@12.2.0\x1b[0m
    \x1b[0;90mtor2uzb\x1b[0m zlib\x1b[0;36m@1.3\x1b[0m\x1b[0;32m%gcc\x1b[0m\x1b[0;32m@12.2.0\x1b[0m
  Use a more specific spec (e.g., prepend '/' to the hash).
"""
"""What Spack 0.23 prints of `spack load zlib` where two versions are installed."""


def test_a_spec_of_several_packages_is_a_fault_that_names_them() -> None:
    words = read_fault(f"spack load zlib\nn1\n1\n{AMBIGUOUS}").sentence
    assert words == (
        "spack load zlib failed: zlib matches multiple packages. Matching packages: "
        "mcybs4z zlib@1.2.13%gcc@12.2.0 tor2uzb zlib@1.3%gcc@12.2.0 "
        "Use a more specific spec (e.g., prepend '/' to the hash)"
    )
