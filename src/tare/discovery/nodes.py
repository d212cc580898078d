"""Ask nodes what they are: this machine, hosts over ssh, or nodes of Slurm in a job of seconds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tare.core.errors import BackendError
from tare.discovery.commands import Commands, Report
from tare.discovery.facts import NodeFacts
from tare.discovery.node_probe import read_node
from tare.discovery.slurm_addresses import with_addresses

Asker = Callable[[str, str], str]
"""Runs a script on a host, and returns its output. Raises BackendError."""
ScriptOf = Callable[[str], str]
"""Returns the script for a node of a name; the empty name is for nodes that know their own."""

_LABELLED = re.compile(r" *([0-9]+): ?(.*)", re.DOTALL)
_MOST_PIECE = 1024
"""SLURM_IO_MAX_MSG_LEN of Slurm, in bytes."""

ASKING_S = 240
"""How long a node may take to answer: modules, EESSI and Spack take up to a minute each."""

SILENT_S = 75
"""How long a node may print nothing: longer than the longest of its questions, Spack or one module."""

JOB_MINUTES = 5
"""The time limit of the job that asks nodes of Slurm, where the partition takes jobs of that length."""

_JOB_MARGIN_S = 60
_BASH = "/bin/bash"


def interpreter() -> tuple[str, ...]:
    """Return the shell for scripts that need this shell's environment, and the option before a script.

    Debian's sh drops functions that bash exports, and `module` is one. In its POSIX mode, bash reads no
    start-up files, as sh.
    """
    return (_BASH, "--posix", "-c") if Path(_BASH).exists() else ("sh", "-c")


def ask_this_machine(
    commands: Commands, script: str, origins: Mapping[str, str], report: Report
) -> tuple[NodeFacts, ...]:
    """Return the facts of this machine."""
    done = commands.run([*interpreter(), script], timeout_s=ASKING_S)
    if done is None:
        report("what this machine is: there is no sh on the PATH")
        return ()
    return _read([("", done.out)], origins, report)


def ask_hosts(
    hosts: Sequence[str], ask: Asker, script: ScriptOf, origins: Mapping[str, str], report: Report
) -> tuple[NodeFacts, ...]:
    """Return the facts of hosts that `ask` reaches, all at once. One that cannot be reached is reported."""
    answers = []
    with ThreadPoolExecutor(max(len(hosts), 1)) as pool:
        asked = {host: pool.submit(ask, host, script(host)) for host in hosts}
    for host, answer in asked.items():
        try:
            answers.append((host, answer.result()))
        except BackendError as error:
            report(str(error))
    return _read(answers, origins, report)


def srun_command(
    n_nodes: int,
    options: Mapping[str, str | None],
    wait_s: int,
    minutes: int = JOB_MINUTES,
    name: str = "tare-init",
) -> list[str]:
    """Return the command that starts a script once on each of `n_nodes` nodes, without the script.

    `options` are srun's by their long names; None values are left out. It gives up after `wait_s` in the
    queue (srun(1), --immediate). The nodes see the environment of this shell, whatever SLURM_EXPORT_ENV says.
    """
    given = [f"--{name}={value}" for name, value in options.items() if value]
    nodes = [f"--nodes={n_nodes}", f"--ntasks={n_nodes}", "--ntasks-per-node=1"]
    limits = [f"--time={minutes}", f"--immediate={wait_s}"]
    return ["srun", *nodes, *given, *limits, "--export=ALL", "--label", f"--job-name={name}"]


def ask_slurm(
    commands: Commands,
    command: Sequence[str],
    wait_s: int,
    script: str,
    origins: Mapping[str, str],
    report: Report,
) -> tuple[NodeFacts, ...]:
    """Return the facts of the nodes that Slurm gives to `command` (see srun_command).

    Raises BackendError with srun's message if there are none.
    """
    done = commands.run([*command, *interpreter(), script], timeout_s=wait_s + _JOB_MARGIN_S + ASKING_S)
    if done is None or done.code != 0:
        raise BackendError(done.message if done else "there is no srun")
    nodes = _read([("", text) for text in split_labelled(done.out)], origins, report)
    return with_addresses(commands, nodes)


def split_labelled(text: str) -> list[str]:
    """Return the output of each task of `srun --label`, in the order of their numbers.

    Slurm sends a line in pieces of at most _MOST_PIECE bytes, and srun labels each and ends it: a piece of
    that size goes on in the next one of its task (write_labelled_message.c).
    """
    tasks: dict[int, list[str]] = {}
    for line in text.split("\n"):
        if found := _LABELLED.fullmatch(line):
            tasks.setdefault(int(found[1]), []).append(found[2])
    return ["".join(map(_ended, lines)) for _, lines in sorted(tasks.items())]


def _ended(piece: str) -> str:
    """Return a piece of a task's output with the end of its line, if the line ends there."""
    return piece if len(piece.encode()) >= _MOST_PIECE else f"{piece}\n"


def _read(
    answers: Sequence[tuple[str, str]], origins: Mapping[str, str], report: Report
) -> tuple[NodeFacts, ...]:
    found = []
    for host, text in answers:
        facts = read_node(text, origins, host)
        if facts is None:
            report(f"{host or 'a node'} did not report what it is: its answer is incomplete")
        else:
            found.append(facts)
    return tuple(found)
