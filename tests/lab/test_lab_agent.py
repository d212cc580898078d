"""The agent behaves as ssh does: towards MPI launchers it is ssh."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from lab.calls import Hosts
from tare.lab import AGENT, Lab

pytestmark = pytest.mark.lab

HOSTILE = [
    ("echo", "a  b"),
    ("echo", "'a  b'"),
    ("echo", '"$HOME"', "'$HOME'"),
    ("echo", "$(echo", "sub);", "echo", "`echo ticks`"),
    ("echo a; false || echo b && echo c | cat",),
    ("echo", "one\necho two"),
    ("printf", "%s,", "\\\\", "'*'", "?", "é", "\t", "#", "no comment"),
    ("echo", "-n", "--", "-x"),
    ("set", "--", "'", "a", "b", "';", "echo", "$#", '"$1"'),
    ("echo", "$0 $1 $2 $host $command $options"),
    ("IFS=,; x=1,2; echo", "$x"),
    ("cat <<-END\n\tdocument\nEND",),
    ("exit", "3"),
    ("echo 'unfinished",),
    ("no-such-program",),
    ("", "echo", "", "empty"),
    ("kill -TERM $$",),
]


@pytest.mark.parametrize("words", HOSTILE, ids=[" ".join(words) for words in HOSTILE])
def test_words_are_joined_and_given_to_a_shell_as_ssh_does(
    hosts: Hosts, tmp_path: Path, words: tuple[str, ...]
) -> None:
    here = subprocess.run(
        ["/bin/sh", "-c", " ".join(words)],
        cwd=tmp_path,
        input="",
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if name not in {"host", "command", "options"}},
    )

    there = hosts.call("n1", *words, cwd=tmp_path)

    assert (there.returncode, there.stdout) == (here.returncode, here.stdout)
    assert bool(there.stderr) == bool(here.stderr)


@pytest.mark.parametrize(
    "options",
    [
        ["-q", "-x"],
        ["-qx"],
        ["-l", "somebody", "-p", "22"],
        ["-lsomebody", "-p22"],
        ["-T", "-o", "BatchMode=yes", "-oStrictHostKeyChecking=no"],
        ["--"],
        [],
    ],
    ids=" ".join,
)
def test_options_of_ssh_are_skipped_before_the_host_and_after_it(hosts: Hosts, options: list[str]) -> None:
    assert hosts.call(*options, "n2", "hostname").stdout == "n2\n"
    assert hosts.call("n2", *options, "hostname").stdout == "n2\n"


@pytest.mark.parametrize("name", ["n2", "n2.host", "n2.slow", "10.77.0.2", "10.77.1.2", "somebody@n2"])
def test_a_host_answers_to_each_of_its_names_and_addresses(hosts: Hosts, name: str) -> None:
    assert hosts.call(name, "hostname").stdout == "n2\n"


@pytest.mark.parametrize("name", ["n2-pod", "n2.overlay", "n2.macvlan", "10.77.101.2", "10.77.0.102"])
def test_a_pod_answers_to_each_of_its_names_and_addresses(hosts: Hosts, name: str) -> None:
    assert hosts.call(name, "hostname").stdout == "n2-pod\n"


@pytest.mark.parametrize("name", ["n9", "10.77.0.9", "../hosts/n1", ".", "/", "n1 n2", "$(id)", "*"])
def test_an_unknown_host_is_unreachable(hosts: Hosts, name: str) -> None:
    done = hosts.call(name, "hostname")

    assert (done.returncode, done.stdout) == (255, "")
    assert f"no host {name}" in done.stderr


def test_without_a_lab_every_host_is_unreachable(hosts: Hosts, tmp_path: Path) -> None:
    for place in ("", str(tmp_path)):
        done = hosts.call("n1", "hostname", TARE_LAB_DIR=place)
        assert (done.returncode, done.stdout) == (255, "")
        assert "lab" in done.stderr


def test_an_option_that_ssh_lacks_is_refused(hosts: Hosts) -> None:
    assert hosts.call("-z", "n1", "hostname").returncode == 255


@pytest.mark.parametrize("code", [0, 1, 126, 255])
def test_the_exit_code_is_that_of_the_command(hosts: Hosts, code: int) -> None:
    assert hosts.call("n1", "exit", str(code)).returncode == code


def test_input_reaches_the_command_and_dash_n_keeps_it_away(hosts: Hosts) -> None:
    assert hosts.call("n1", "cat", stdin="words\n").stdout == "words\n"
    assert hosts.call("-n", "n1", "cat", stdin="words\n").stdout == ""


def test_without_a_command_a_shell_reads_input(hosts: Hosts) -> None:
    assert hosts.call("n1", stdin="hostname\n", SHELL="/bin/sh").stdout == "n1\n"


def test_the_environment_and_the_working_directory_come_along(hosts: Hosts, tmp_path: Path) -> None:
    folder = tmp_path / "a b $c"
    folder.mkdir()

    done = hosts.call("n1", 'pwd; echo "$TARE_MARK"', cwd=folder, TARE_MARK="one  two")

    assert done.stdout.splitlines() == [str(folder), "one  two"]


def test_a_working_directory_that_is_not_there_is_reported(hosts: Hosts) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as private:
        done = hosts.call("n1", "hostname", cwd=Path(private))

    assert (done.returncode, done.stdout) == (255, "")
    assert private in done.stderr


def test_a_relative_path_sees_the_hosts_own_files(hosts: Hosts) -> None:
    assert hosts.call("n1", "cmp hosts /etc/hosts && grep -c overlay hosts", cwd=Path("/etc")).stdout == "2\n"


def test_hosts_reach_each_other_from_inside(hosts: Hosts) -> None:
    done = hosts.call("n1", f"{AGENT} -q n2-pod '{AGENT} n1.host hostname; exit 4'; echo $?")

    assert done.stdout == "n1\n4\n"


def test_an_unknown_host_is_unreachable_from_inside(hosts: Hosts) -> None:
    assert hosts.call("n1", f"{AGENT} n9 hostname").returncode == 255


def test_commands_run_as_root_of_the_lab_and_their_files_belong_to_the_user(
    hosts: Hosts, tmp_path: Path
) -> None:
    assert hosts.call("n1", "id -u; touch file", cwd=tmp_path).stdout == "0\n"
    assert (tmp_path / "file").stat().st_uid == os.getuid()


def test_arguments_given_to_command_arrive_exactly(lab: Lab, tmp_path: Path) -> None:
    words = ["", " ", "a  b", "$HOME", "'", '"', "\n", "*", "-x", "--", ";", "é"]
    program = [sys.executable, "-c", "import sys; print(ascii(sys.argv[1:]))", *words]

    done = subprocess.run(
        lab.command("n1", program), capture_output=True, text=True, check=True, cwd=tmp_path
    )

    assert done.stdout.strip() == ascii(words)
