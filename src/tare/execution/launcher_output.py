"""Recognize what launchers print around a program's output: Open MPI, PRRTE, Hydra, Intel MPI, srun, ssh.

`own_lines` yields the program's own lines, `frame_of` tells which rank ended and how, and `start_fault` which
program could not be started.

Sources: orte/runtime/help-orterun.txt and prte's help-prun.txt, ompi/mpi/help/help-mpi-api.txt, Hydra's
pm/hydra/mpiexec/uiu.c, Slurm's src/srun and src/slurmd/slurmstepd; and the output of failed programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_RULE = re.compile(r"^\s?-{70,}$")
"""The line of dashes that Open MPI and PRRTE print above and below their own messages."""

_GLUED = re.compile(
    r"(?<=[^-\s])(?=-{74}\n(?:Primary job|MPI_ABORT was|(?:mpi|prte)\S+ (?:detected|noticed)))"
)
"""The position where such a line follows a program's last line without a newline between them."""

_FRAME_BLOCK = re.compile(
    r"""Primary\ job\s+terminated\ normally
      | noticed\ that\ process\ rank
      | detected\ that\ one\ or\ more\ processes\ exited
      | MPI_ABORT\ was\ invoked
      | has\ exited\ due\ to\ process\ rank
      | unable\ to\ start\ the\ specified\ application\ as\ it\ encountered
      | does\ not\ know\ how\ to\ route\ a\ message
      | daemon\ has\ died\ unexpectedly""",
    re.VERBOSE,
)
_LOST_PEER = "An MPI communication peer process has unexpectedly disconnected"
"""Open MPI's message on a rank that lost another one, such as one that had failed."""

_FRAME_LINE = re.compile(
    r"""\bORTE_ERROR_LOG:|\bPRTE\ ERROR:|\bPMIX\ ERROR:|^PMI\d?:|\bPMI_Abort\b
      | \bha(?:s|ve)\ sent\ help\ message\b | \b(?:orte|prte)_base_help_aggregate\b
      | \*\*\*\ Process\ received\ signal | \*\*\*\ End\ of\ error\ message
      | \]\ Signal(?:\ code)?: | \]\ Failing\ at | \[\s*\d+\]\ \S+(?:\(.*\))?\s*\[0x[0-9a-f]+\]
      | \*\*\*\ (?:reported\ by\ process|on\ (?:communicator|a\ NULL\ comm|the\ file)|\ \ \ and)
      | \*\*\*\ MPI_ERRORS_ARE_FATAL
      | ^\s*=+$ | ^=\ \ \  | ^YOUR\ APPLICATION\ TERMINATED | ^This\ typically\ refers
      | ^Please\ see\ the\ FAQ | application\ called\ MPI_Abort | ^\[(?:mpiexec|proxy)[^]]*\]
      | ^srun:\ (?:Terminating|Job\ step\ aborted|Force\ Term|launch/|First\ task|Complete|forcing\ job)
      | ^srun:\ (?:error:\ .*:\ tasks?\ |job\ \d+|cluster\ configuration\ lacks)
      | ^srun:\ error:\ Timed\ out\ waiting\ for\ job\ step\ to\ complete
      | ^slurmstepd(?:-\S+)?:\ error:\ (?:\*\*\*|Detected\ \d+\ oom)
      | ^mpi(?:run|exec)(?:\.\w+)?:\ Forwarding\ signal | ^\d+\ total\ processes\ (?:killed|failed\ to\ start)
      | ^Warning:\ Permanently\ added | ^Connection\ to\ \S+\ closed | ^client_loop:
      | ^Terminated$  # a shell on a program that the launcher ended
      | ^Killed\ by\ signal\ \d+\. | ^\[warn\]\ Epoll\ \w+\(\d+\)\ on\ fd\ | ^\s*-{10,}\s*$""",
    re.VERBOSE,
)
_RANK_SIGNAL = re.compile(
    r"process rank (\d{1,9}) with PID \d+ on node (\S+) exited on\s+signal (\d{1,9}) \(([^)]*)\)"
)
_INTEL = re.compile(
    r"RANK (\d{1,9}) PID \d+ RUNNING AT (\S+)\s*\n=\s+(KILLED BY SIGNAL|EXIT STATUS): (\d{1,9})(?: \((.*)\))?"
)
_HYDRA = re.compile(r"PID \d+ RUNNING AT (\S+)\s*\n=\s+EXIT CODE: (\d{1,9})")
_EARLY = re.compile(
    r"has exited due to process rank (\d{1,9}) with PID \d+ on\s+node (\S+) exiting improperly"
)
"""Open MPI's message on a rank that left out MPI_Init, or MPI_Finalize (help-orterun.txt)."""

_EXIT_STRING = re.compile(r"EXIT STRING: ([^(\n]*) \(signal (\d{1,9})\)")
_HANDLER = re.compile(r"^\[([^]:]+):\d+\] Signal: (.*) \((\d{1,9})\)", re.MULTILINE)
_RANK_EXIT = re.compile(
    r"Process name: \[(?:\[\d+,\d+\],|prterun\S*?@\d+,)(\d{1,9})\]\s*\n\s*Exit code:\s+(\d{1,9})"
)
_HYDRA_ABORT = re.compile(
    r"Abort\((?P<code>-?\d{1,9})\) on node \d+ \(rank (?P<rank>\d+) in comm \d+\): "
    r"application called MPI_Abort"
)
_OPENMPI_ABORT = re.compile(
    r"MPI_ABORT was invoked on rank (?P<rank>\d+)[^\n]*\n"
    r"[^\n]*?(?:\n\s*Errorcode:|with errorcode) (?P<code>-?\d{1,9})"
)
_SRUN = re.compile(
    r"^srun: error: (\S+): tasks? ([\d,-]+): (?:Exited with exit code (\d{1,9})|(.+))$", re.MULTILINE
)
_SHELL_REPORT = re.compile(r": line \d+:\s+\d+ (?:Killed|Terminated)\b")
"""As bash prints it: the script, its line, the process and what ended it."""
_SRUN_FAILED = re.compile(
    r"""^srun:[ ](?: fatal:[ ](.+)
        | (Job[ ]step[ ]aborted.*)
        | error:[ ](Unable[ ]to[ ](?:create[ ]step|allocate[ ]resources|confirm[ ]allocation).*
            | (?:Application|Task|task[ ]\d+)[ ]launch[ ].*
            | Node[ ]failure.*
            | Timed[ ]out[ ]waiting[ ]for[ ]job[ ]step.*) )$""",
    re.MULTILINE | re.VERBOSE,
)
"""What srun prints when it could not start a step, or gave it up (src/srun and src/common/slurm_errno.c)."""

_OOM = re.compile(r"oom[-_]kill", re.IGNORECASE)
_EXECVP = re.compile(r"execvp error on file (.+) \(([^()]*)\)$", re.MULTILINE)
_PROBE = re.compile(r"/(?:placement_probe|attest|bind)\.sh: (?:line )?\d+: exec: (.+?): (.+)$", re.MULTILINE)
_KILLED_BY_LAUNCHER = {"Killed": 9, "Terminated": 15}
_SHELL_KILLED = frozenset({128 + 9, 128 + 15})
"""The exit codes of a shell whose program was ended by the signals with which launchers end ranks."""
_SRUN_EXECVE = re.compile(r"error: execve\(\): (.+?): (.+)$", re.MULTILINE)
_EXECVE = re.compile(r"Application name:\s+(\S+)\s*\n\s*Error:\s+(.+)")
_IN_PATH = re.compile(
    r"""exec(?:utable file)?:? [`"](\S+?)[`"]:? (?:executable file )?(not found) in \$PATH"""
)
"""The message of crun and runc, which start containers."""
_COREUTILS = re.compile(
    r"^(?:timeout: failed to run command|env:) [‘'](.+?)[’']: (No such file or directory|Permission denied)$",
    re.MULTILINE,
)
_MISSING = ("No such file or directory", "not found")
_EXECUTABLE = re.compile(r"Executable:\s+(\S.*)")
_MPI_ERROR = re.compile(r"\*\*\* An error occurred in (\w+)")


_LAUNCHER_ERROR = re.compile(
    r"^(?:\[(?:mpiexec|proxy)[^]]*\] (?:\w+ \(\S+:\d+\): )?|srun: (?:error: )?|slurmstepd: error: )(.+)$",
    re.MULTILINE,
)


class LauncherFrame(NamedTuple):
    """How a rank ended, as its launcher reports it; `code` is the exit code or signal, None if uncertain."""

    sentence: str
    code: int | None = None
    is_signal: bool = False

    @property
    def is_own(self) -> bool:
        """Return whether the rank ended by itself; launchers end the other ranks by signals 9 and 15."""
        return self.code not in {9, 15} if self.is_signal else self.code is not None

    @property
    def is_certain(self) -> bool:
        """Return whether the rank ended by itself, and not with the exit code of a shell that was killed."""
        return self.is_own and (self.is_signal or self.code not in _SHELL_KILLED)


def is_frame(line: str) -> bool:
    """Return whether a launcher printed this line."""
    return _FRAME_LINE.search(line) is not None


def own_lines(text: str) -> Iterator[str]:
    """Yield the program's own lines of an output; a line of several ranks is yielded for each of them."""
    call = ""
    for is_message, lines in _parts(text):
        for line in lines if not is_message else ():
            if match := _MPI_ERROR.search(line):
                call = match[1]
            elif call and "*** MPI_ERR_" in line:
                yield f"{call}: {line.partition('*** ')[2]}"
                call = ""
            elif not line.strip() or not is_frame(line):
                yield line


def is_killed_program(line: str) -> bool:
    """Return whether a shell reports that a signal with which launchers end ranks ended its program."""
    return _SHELL_REPORT.search(line) is not None


def blocks_of(text: str) -> Iterator[str]:
    """Yield the messages of a launcher or an MPI that report more than the end of the program."""
    for is_message, lines in _parts(text):
        block = "\n".join(lines).strip("\n")
        if is_message and not _FRAME_BLOCK.search(block):
            yield block


def is_consequence(block: str) -> bool:
    """Return whether a message reports no more than that another rank has ended."""
    return _LOST_PEER in block


def launcher_error(text: str) -> str:
    """Return the first message of Hydra, srun or slurmstepd about a fault of their own; empty if none."""
    match = _LAUNCHER_ERROR.search(text)
    return match[1].strip() if match else ""


def start_fault(texts: Iterable[str]) -> str:
    """Return which program could not be started and why; empty if no launcher reports it."""
    for text in texts:
        if (
            match := _PROBE.search(text)
            or _EXECVP.search(text)
            or _SRUN_EXECVE.search(text)
            or _EXECVE.search(text)
            or _IN_PATH.search(text)
            or _COREUTILS.search(text)
        ):
            return _not_started(match[1], match[2].strip())
        for is_message, lines in _parts(text):
            block = "\n".join(lines)
            match = _EXECUTABLE.search(block) if is_message else None
            if match and "unable to find the specified executable" in block:
                return _not_started(match[1], _MISSING[0])
            if match and "could not access" in " ".join(block.split()):
                return _not_started(match[1], "Permission denied")
    return ""


def _not_started(program: str, why: str) -> str:
    """Return that `program` was not started and why, with a cure if its name may hold arguments."""
    name = program.strip()
    is_cured = " " in name and why in _MISSING
    cure = "; if words after a blank are arguments, give them as args" if is_cured else ""
    return f"{name} could not be started: {why}{cure}"


def failed_step(texts: Iterable[str]) -> str:
    """Return why a step of Slurm was not run, or was given up, in srun's words; empty if it was not."""
    found = next(filter(None, map(_SRUN_FAILED.search, texts)), None)
    return f"a step failed: srun: {found[found.lastindex or 0].strip()}" if found else ""


def frame_of(texts: Iterable[str]) -> LauncherFrame | None:
    """Return which rank failed and how, as far as the launcher reports it; None if it reports nothing.

    A signal takes precedence over an exit code, except the signals by which launchers end the other ranks.
    """
    ends = [end for text in texts for end in (*_signals(text), *_exits(text))]
    kills = [end for end in ends if end.is_signal]
    # a launcher kills the other ranks (9), or asks them to end (15), when one has failed
    first = next((end for end in kills if end.code not in {9, 15}), None)
    own = [end for end in ends if not end.is_signal and end.code is not None]
    certain = [end for end in own if end.is_certain]
    return first or next(iter([*certain, *own, *kills, *ends]), None)


def _signals(text: str) -> Iterator[LauncherFrame]:
    for rank, node, number, name in _RANK_SIGNAL.findall(text):
        yield _signalled(f"rank {rank} on {node}", name, number)
    for rank, node, how, number, name in _INTEL.findall(text):
        if (
            how.startswith("KILLED") and number == "9"
        ):  # Intel MPI prints this for all ranks but the first to end
            yield LauncherFrame(
                f"rank {rank} on {node} ended by signal 9 ({name}), perhaps since another had ended"
            )
        elif how.startswith("KILLED"):
            yield _signalled(f"rank {rank} on {node}", name, number)
        else:
            yield LauncherFrame(f"rank {rank} on {node} ended with exit code {number}", int(number))
    place = _HYDRA.search(text)
    if place and not _EXIT_STRING.search(text) and place[2] not in {"9", "15"}:
        # a proxy that lost its mpiexec reports the status as wait(2) returned it
        what = f"a rank on {place[1]} ended with code {place[2]}, by Hydra's account"
        yield LauncherFrame(what, int(place[2]))
    for name, number in _EXIT_STRING.findall(text):
        end = _signalled(f"a rank on {place[1]}" if place else "a rank", name, number)
        # Hydra ends the remaining ranks with these signals, and may report one of those ranks
        yield (
            LauncherFrame(f"{end.sentence}, perhaps since another had ended")
            if number in {"9", "15"}
            else end
        )
    for node, name, number in _HANDLER.findall(text):
        yield _signalled(f"a rank on {node}", name, number)
    for node, tasks, _, how in _SRUN.findall(text):
        if how:
            code = _KILLED_BY_LAUNCHER.get(how)
            yield LauncherFrame(f"rank {tasks} on {node} ended by: {how}", code, is_signal=True)
    if _OOM.search(text):
        yield LauncherFrame(
            "the kernel killed a rank that took more memory than there was (oom-kill)", is_signal=True
        )


def _signalled(who: str, name: str, number: str) -> LauncherFrame:
    return LauncherFrame(f"{who} ended by signal {number} ({name})", int(number), is_signal=True)


def _exits(text: str) -> Iterator[LauncherFrame]:
    for abort in (_HYDRA_ABORT, _OPENMPI_ABORT):
        for match in abort.finditer(text):
            rank, code = match["rank"], match["code"]
            yield LauncherFrame(f"rank {rank} called MPI_Abort with {code}", int(code))
    for rank, code in _RANK_EXIT.findall(text):
        yield LauncherFrame(f"rank {rank} ended with exit code {code}", int(code))
    for node, tasks, code, _ in _SRUN.findall(text):
        if code:
            yield LauncherFrame(f"rank {tasks} on {node} ended with exit code {code}", int(code))
    for rank, node in _EARLY.findall(text):
        yield LauncherFrame(f"rank {rank} on {node} ended without MPI_Finalize, or without MPI_Init", 0)


def _parts(text: str) -> Iterator[tuple[bool, list[str]]]:
    """Yield the lines of an output in parts, each with whether it is a launcher's message.

    A message is the text between two lines of dashes. It may contain lines that ranks print at the same time.
    A line of dashes without a second one is an ordinary line.
    """
    own: list[str] = []
    lines = _GLUED.sub("\n", text).splitlines()
    number = 0
    while number < len(lines):
        end = _end_of_block(lines, number) if _RULE.match(lines[number]) else None
        if end is None:
            own.append(lines[number])
            number += 1
            continue
        if own:
            yield False, own
            own = []
        yield True, lines[number + 1 : end]
        number = end + 1
    if own:
        yield False, own


def _end_of_block(lines: list[str], begin: int) -> int | None:
    for number in range(begin + 1, min(begin + 60, len(lines))):
        if _RULE.match(lines[number]):
            return number if number > begin + 1 else None
    return None
