"""What every runtime owes to a program, and to whoever starts it: the same as without any container.

`subject` is each runtime in turn, really started where it is here.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import threading
import time
from pathlib import Path

import msgspec
import pytest

from runtimes.conftest import LABEL, Subject
from tare.core.launch import Invocation
from tare.plugins import registry
from tare.plugins.backends.ownership.process_labels import labelled_pids

HOSTILE = (
    "it's",
    'say "hi"',
    "$(id)",
    "`id`",
    "two\nlines",
    "",
    " ",
    "a\\b",
    "*",
    "-x",
    "--",
    "µ",
    "a;b|c&d",
)


_HESITANT = """#!/bin/sh
# As ch-run makes a bind target: it looks, and makes the folder a little later.
for word; do
  case $word in --bind=*)
    target={root}${{word##*:}}
    [ -e "$target" ] || {{ sleep 0.5; mkdir "$target" || exit 1; }}
  esac
done
exec ch-run "$@"
"""


def test_output_and_exit_code_come_through(subject: Subject) -> None:
    ended = subject.run("/bin/sh", "-c", "echo out; echo err >&2; exit 7")
    assert (ended.code, ended.signal, ended.is_timeout, ended.fault) == (7, None, False, None)
    assert subject.output == b"out\n"
    assert (subject.folder / "stderr").read_bytes() == b"err\n"


def test_the_program_runs_inside_and_nowhere_else(subject: Subject) -> None:
    subject.run("/bin/sh", "-c", "cat /etc/inside || echo no")
    assert subject.output == (b"no\n" if subject.platform.runtime == "native" else b"yes\n")


def test_arguments_arrive_as_they_are(subject: Subject) -> None:
    subject.run("/bin/sh", "-c", r'for word; do printf "%s\0" "$word"; done', "sh", *HOSTILE)
    assert subject.output.decode().split("\0")[:-1] == list(HOSTILE)


def test_the_environment_arrives_as_it_is(subject: Subject) -> None:
    values = {f"HOSTILE_{number}": value for number, value in enumerate(HOSTILE)}
    script = "; ".join(f'printf "%s\\0" "${name}"' for name in values)
    subject.run("/bin/sh", "-c", script, env=values)
    assert subject.output.decode().split("\0")[:-1] == list(HOSTILE)


@pytest.mark.parametrize("subject", ["charliecloud"], indirect=True)
def test_ranks_of_charliecloud_that_start_at_once_all_start(subject: Subject) -> None:
    """The working folder is new to the root file system, and each rank may be the one that makes it there."""
    container = subject.platform.container
    assert container is not None
    root = Path(container.rootfs or "")
    hesitant = subject.folder / "hesitant_ch_run"
    hesitant.write_text(_HESITANT.format(root=shlex.quote(str(root))))
    hesitant.chmod(0o755)
    root.joinpath(*subject.folder.parts[1:]).mkdir(parents=True)
    (subject.folder / "new").mkdir()
    options = msgspec.structs.replace(container, program=str(hesitant))
    platform = msgspec.structs.replace(subject.platform, container=options)
    pwd = Invocation(argv=("/bin/sh", "-c", "pwd"))
    program = registry.runtime(platform.runtime).wrap(pwd, platform, str(subject.folder / "new"))
    env = {**os.environ, **program.env}
    ranks = [subprocess.Popen(program.argv, env=env, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [rank.communicate()[0] for rank in ranks] == [f"{subject.folder / 'new'}\n"] * 4


def test_it_starts_in_its_working_folder_and_can_write_there(subject: Subject) -> None:
    ended = subject.run("/bin/sh", "-c", "pwd; echo made >product")
    assert ended.code == 0
    assert subject.output.decode() == f"{subject.folder}\n"
    assert (subject.folder / "product").read_text() == "made\n"


def test_standard_input_is_at_its_end(subject: Subject) -> None:
    ended = subject.run("/bin/sh", "-c", "cat; echo read", timeout_s=20)
    assert not ended.is_timeout
    assert subject.output == b"read\n"


def test_ten_megabytes_arrive_whole(subject: Subject) -> None:
    subject.run("/bin/sh", "-c", "yes 0123456789abcde | head -n 655360")
    assert subject.output == b"0123456789abcde\n" * 655_360


def test_bytes_that_are_no_text_arrive_as_they_are(subject: Subject) -> None:
    subject.run("/bin/sh", "-c", r"printf '\377\000\200\r\n\033[1m'")
    assert subject.output == b"\xff\x00\x80\r\n\x1b[1m"


def test_a_program_that_is_not_there_is_reported_as_shells_do(subject: Subject) -> None:
    ended = subject.run("/no/such/program")
    assert ended.code in (127, 1)  # ch-run 0.31 ends with 1 whatever was wrong
    assert (subject.folder / "stderr").read_text()


def test_a_time_out_ends_all_of_it(subject: Subject) -> None:
    ended = subject.run("/bin/sh", "-c", "sleep 60 & echo begun; sleep 60", timeout_s=2.5)
    assert ended.is_timeout
    assert subject.output == b"begun\n"
    assert labelled_pids(LABEL) == []
    assert subject.containers == {}


def test_a_program_that_ignores_signals_is_ended(subject: Subject) -> None:
    started = time.monotonic()
    ended = subject.run("/bin/sh", "-c", "trap '' TERM INT HUP; while :; do sleep 1; done", timeout_s=1.5)
    assert ended.is_timeout
    assert labelled_pids(LABEL) == []
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("timeout_s", [0.02, 0.1, 0.25])
def test_a_kill_while_it_starts_leaves_nothing(subject: Subject, timeout_s: float) -> None:
    subject.run("/bin/sh", "-c", "sleep 60", timeout_s=timeout_s)
    assert labelled_pids(LABEL) == []


def test_processes_that_outlive_the_program_are_ended(subject: Subject) -> None:
    ended = subject.run("/bin/sh", "-c", "setsid sleep 60 >/dev/null 2>&1 & echo gone")
    assert ended.code == 0
    assert labelled_pids(LABEL) == []


def test_two_at_a_time_do_not_meet(subject: Subject, tmp_path: Path) -> None:
    """Ranks of one node start at the same moment."""
    folders = [tmp_path / name for name in ("one", "two")]
    codes: list[int | None] = []

    def run(folder: Path) -> None:
        folder.mkdir()
        other = Subject(subject.place, subject.backend, folder)
        codes.append(other.run("/bin/sh", "-c", "pwd", name=folder.name).code)

    threads = [threading.Thread(target=run, args=(folder,)) for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [0, 0]
    assert [(folder / "stdout").read_text() for folder in folders] == [f"{folder}\n" for folder in folders]
