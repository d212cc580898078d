"""Setup lines before a program: which are a fault, and what they may not change."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from software.programs import run
from tare.core.launch import Invocation
from tare.core.software import Software
from tare.core.workload import Stage
from tare.probes.records import read_records
from tare.probes.software import asking, faults_in, loaded, read_fault, with_script


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
