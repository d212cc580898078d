"""Find the reason why a run failed in its output: standard output, standard error, and files of ranks.

Launchers print text around a program's output: Open MPI's and PRRTE's blocks between dashes, Hydra's banner,
srun's and slurmstepd's lines. They also report signals, and repeat messages for each rank. That text is left
out. If the program itself printed nothing, the launcher's text still tells which rank ended and how.

The reason is the first error, because later errors follow from it. Of a Python traceback it is the last line.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path

from tare.core.errors import UnreadableFile
from tare.core.safe_folder import SafeFolder
from tare.execution.launcher_output import (
    LauncherFrame,
    blocks_of,
    failed_step,
    frame_of,
    is_consequence,
    is_killed_program,
    launcher_error,
    own_lines,
    start_fault,
)
from tare.execution.tracebacks import exception_of, is_traceback, without_ignored

_MOST = 300
"""How many characters of a program's output a reason quotes at most."""
_END = 60
"""How many of these characters come from the end of the text, if it is cut."""
_HEAD, _TAIL = 64 << 10, 256 << 10
"""How many bytes of an output are read from its beginning and from its end."""

_STRONG = re.compile(
    r"""(?<![\w.-])(?:[A-Za-z_.]*Error|ERROR|[A-Za-z_.]*Exception)\b(?!\s*[=(]?\s*0\b)(?:[:!]|\s(?!=))
      | (?<![\w-])error:\s
      | \b(?:FATAL|Fatal|fatal)\b
      | ^\s*(?:\*\*)?\s*(?:ERROR|Error)\b
      | \bAssertion\b.*\bfailed\b
      | \bassertion\s+fail | \berror\ while\ loading\ shared\ libraries | \bterminate\ called
      | \bforrtl:\ (?:severe|error) | \bdouble\ free\b | \bcorrupted\b.*\bsize\b | \bstack\ smashing
      | ^(?:free|malloc|realloc|calloc|munmap_chunk)\(\):\s | \bbuffer\ overflow\ detected\b
      | \bpure\ virtual\ method\ called\b | \bpanicked\ at\b | \b(?:CUDA|HIP|NCCL)\ (?:runtime\ )?error\b
      | \b(?:Segmentation\ fault|Bus\ error|Illegal\ instruction|Floating\ point\ exception)
        (?=\s*$|\s*[-:(]|\s+\.?/)
      | :\ line\ \d+:\s+\d+\ (?:Killed|Aborted|Terminated|Segmentation|Bus|Illegal|Floating)\b
      | \bout\ of\ memory\b | \bOut\ Of\ Memory\b | \bCannot\ allocate\ memory\b
      | \bundefined\ reference\ to\b | \bmultiple\ definition\ of\b | \bld\b\S{0,20}:\ cannot\ find\b
      | ^ssh:\ | \bMPI_ERR_[A-Z]+: | \bpanic:\  | ^STOP\ (?!0\b)\S
      | \b(?:invalid|unrecognized|unknown|illegal|ambiguous)\ option\b
      | \boption\b.*\brequires\ an\ argument\b | ^Usage: """,
    re.VERBOSE,
)
_WEAK = re.compile(
    r"""cannot|can't|can\ not|could\ not|couldn't|unable\ to|no\ such|not\ \w+able\b|not\ found
      | does\ not\ exist|not\ a\ directory|denied|invalid|unknown|illegal|unrecogni[sz]ed|fail(?:ed|ure)|error
      | abort|missing|exceed|refused|usage:|too\ (?:many|few|large|small|long)|must\ be|no\ space
      | not\ (?:supported|permitted|allowed|enough)""",
    re.VERBOSE | re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"""^.{0,60}?(?:\b(?:warn(?:ing)?|note|info|debug)\b|\w+Warning:)
      | \berrors?\b\s*[:=(]?\s*0\b | \b(?:0|no)\ errors?\b | \berror\ is\ not\ recoverable\b
      | \b(?:max|maximum|min|rms|l_?[12]|inf|mean|total)\ errors?\s+\d+\s*$ | ^make.*\]\ Error\ \d+$""",
    re.VERBOSE | re.IGNORECASE,
)
_OF_NO_WEIGHT = re.compile(
    r"""\b(?:is|are|was|were|being)\ ignored\b | \bignoring\b | \b(?:deprecated|obsolete)\b
      | \bassuming\b | \busing\ default | \b(?:falling|fall)\ back\b | :\ Success$""",
    re.VERBOSE | re.IGNORECASE,
)
"""Words of a line that reads like an error although the program continued after it."""
_OF_SYSTEM = re.compile(
    r"""\b(?:No\ space\ left\ on\ device|Disk\ quota\ exceeded|Read-only\ file\ system|Too\ many\ open\ files
      |Cannot\ allocate\ memory|Input/output\ error|Stale\ (?:NFS\ )?file\ handle|Permission\ denied
      |No\ such\ file\ or\ directory|Connection\ (?:refused|reset\ by\ peer|timed\ out))\b""",
    re.VERBOSE,
)
"""Operating system errors that some programs print as a warning, before a later error ends them."""
_WARNED = re.compile(
    r"""^\W*warning\b.{0,40}?\b(?:unable\ to|cannot|can't|could\ ?n(?:o|')t|failed\ to)\s
      +(?:create|open|read|write|access|find|load|connect|allocate)\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""Warnings of a failed operation, after which a program continues until a later error ends it."""
_NUMBER = r"[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eEdD]))(?:[eEdD][-+]?\d+)?"
_FIGURE = re.compile(
    rf"""^(?!\W*(?:\S+:\s)?(?i:error|fatal\ error)\s*[:!]\s*[A-Za-z])  # unlike: ERROR: negative rho = -1.0
      .*?\b(?i:errors?)\b
      (?!\s+(?:in|at|on|while|when|during|from|reading|writing|opening|code|number|status|line|returned)\b)
      (?:\s*(?:{_NUMBER}|[:=]\s*\d+)                       # not an ERROR: 3, which begins a line
       | (?:\s+[\w()|/^-]+){{0,4}}\s*(?:[:=]\s*(?:{_NUMBER}|[-+]?\d+)|\s{_NUMBER})   # error norm L2: 3
       | .*=\s*(?:{_NUMBER}|[-+]?\d+)
       | \W+none)
      \s*(?:%|\w{{1,4}})?[\s,;.)]*$""",
    re.VERBOSE,
)
"""A computed error, such as a residual, with its value: programs print these when all is well."""
_BUT = re.compile(r"\b(?:did not|negative|diverg\w+|nan)\b", re.IGNORECASE)
_BARE = re.compile(r"^\W*(?:ERROR|Error|error)\W*\d+\W*$")
_LAST = 20
"""How many of the last lines of an output are searched for weak error words (`_WEAK`)."""
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])|[\ufeff\ufffd]+(?=\w)")
"""Terminal escape sequences such as colours (ECMA-48), and byte order marks."""
_OF_RANK = re.compile(r"^(?:\[rank ?\d+\]:|\[\d+,\d+\]<std\w+>:) ?", re.MULTILINE)
"""The prefix that PyTorch's and Open MPI's launchers put before each line of a rank."""
_OF_GROMACS = frozenset(
    f"{head}:"
    for head in (
        "Error in user input", "Fatal error", "Inconsistency in user input", "Software inconsistency error",
        "Standard library logic error (bug)", "Parallelism setup error", "System I/O error",
        "Feature not implemented", "Memory allocation failed", "Could not open file",
        "Requested tolerance cannot be achieved", "Simulation instability detected",
        "Internal error (bug)", "Communication error (possible bug)", "Range checking error (possible bug)",
    )
)  # fmt: skip
"""The heads of GROMACS' error messages (src/gromacs/utility/errorcodes.cpp)."""
_ASIDE = re.compile(r"^(?:Function|MPI rank|Program|Source file|From [\w:]+|in file)\b|^[-=*#%!|+~]{4,}$")
"""Lines between an error's head and its text: the place in the program's source, or a rule."""
_BOX = re.compile(r"^[!|*#%]+\s+(.*?)(?:\s*[!|*#%]+)?$")
_HEAD_ALONE = re.compile(r"^\W*(?:FATAL )?(?:ERROR|Error|error)\W*$")
_THROWN = "terminate called"
_FACT = re.compile(r"^[ ]*[A-Z][^:\n]{0,60}: +\S.*$", re.MULTILINE)
_STACK = re.compile(r"^\(?\w+\)?\(\d*\)\.*: ?(.*)")


def reason_of(work: Path, outputs: Iterable[str]) -> str:
    """Return why the program failed, from its `outputs`: files in the folder `work`, most important first.

    Empty if the files are empty. If they hold no error, the reason is the last line, introduced as the last
    that was printed.
    """
    texts = [_read(work / name) for name in outputs]
    frame = frame_of(texts)
    printed = [_own_lines(text, frame) for text in texts]
    warned = next((one for one in (_system(lines) for lines in printed) if one), "")
    if found := _error(texts, printed, frame):
        is_consequence = "ssertion" in found and warned and not _OF_SYSTEM.search(found)
        return _cut(f"{warned}; {found}" if is_consequence else found)
    # a program that aborts has printed why; a program that another signal ends prints nothing about it
    if frame is not None and frame.is_signal and frame.code != signal.SIGABRT:
        return _cut(frame.sentence)
    tails = [[line for line in lines[-_LAST:] if not _OF_NO_WEIGHT.search(line)] for lines in printed]
    if found := _first(_WEAK, tails) or (warned if frame is None or not frame.is_signal else ""):
        before = _warning(printed)
        return _cut(f"{before}; {found}" if before and before != found else found)
    if frame is None and (found := next(filter(None, map(launcher_error, texts)), "")):
        return _cut(found)
    return _cut(_last(frame, printed))


def error_of(work: Path, outputs: Iterable[str]) -> str:
    """Return the first explicit error in a program's output; empty if there is none."""
    texts = [_read(work / name) for name in outputs]
    return _cut(_error(texts, [_own_lines(text) for text in texts], None))


def refusal_of_loader(work: Path, outputs: Iterable[str], library: str) -> str:
    """Return the line of ld.so(8) about a `library` that it did not preload; empty if it printed none."""
    lines = (line.strip() for name in outputs for line in _read(work / name).splitlines())
    found = (line for line in lines if library in line and "cannot be preloaded" in line)
    return _cut(next(found, ""))


def _own_lines(text: str, frame: LauncherFrame | None = None) -> list[str]:
    """Return the program's own lines, without those of shells that were ended since a rank had failed."""
    lines = without_ignored(list(own_lines(text)))
    is_explained = frame is not None and frame.is_certain
    return [line for line in lines if not (is_explained and is_killed_program(line))]


def _last(frame: LauncherFrame | None, printed: list[list[str]]) -> str:
    """Return how a rank ended and the last line printed.

    If no rank's end is known, and the last line that matters is on the first stream, return that line alone.
    """
    stripped = [[line.strip() for line in lines if line.strip()] for lines in printed]
    lasts = [(number, lines[-1]) for number, lines in enumerate(stripped) if lines]
    weighty = [one for one in lasts if not _is_harmless(one[1]) and not _OF_NO_WEIGHT.search(one[1])]
    if not lasts:
        return frame.sentence if frame else ""
    stream, last = (weighty or lasts)[0]
    text = f"the last that was printed: {last}"
    if frame is None:
        return last if weighty and stream == 0 else text
    if match := re.match(r"rank (\d+)\b", frame.sentence):
        own = re.compile(rf"^\[{match[1]}\]\s|^{match[1]}:\s|\brank[ =:#]*{match[1]}\b", re.IGNORECASE)
        its = (line for lines in stripped for line in reversed(lines) if own.search(line))
        text = next((f"it printed: {line}" for line in its), text)
    return f"{frame.sentence}; {text}"


def _system(lines: list[str]) -> str:
    """Return the first operating system error in `lines`; empty if there is none that matters."""
    found = (line for line in lines if _OF_SYSTEM.search(line) and not _OF_NO_WEIGHT.search(line))
    return next((_without_rank(line) for line in found), "")


def _warning(printed: list[list[str]]) -> str:
    """Return the first warning of a failed operation; empty if there is none."""
    found = (line for lines in printed for line in lines if _WARNED.search(line))
    return next((_without_rank(line) for line in found if not _OF_NO_WEIGHT.search(line)), "")


def abort_of(work: Path, outputs: Iterable[str]) -> str:
    """Return the reason if a launcher's output reports a failed rank or step; empty if it reports none.

    The exit code does not matter: mpirun exits with 0 after MPI_Abort with 0, and a script in which a
    launcher failed exits with what its last command did.
    """
    names = list(outputs)
    texts = [_read(work / name) for name in names]
    return reason_of(work, names) if frame_of(texts) is not None else _cut(failed_step(texts))


def own_end_of(work: Path, outputs: Iterable[str]) -> str:
    """Return how a rank ended by itself, if the launcher reports it; empty if not.

    Other ranks were ended because of it, and srun's exit code may be that of one of those.
    """
    frame = frame_of([_read(work / name) for name in outputs])
    return frame.sentence if frame is not None and frame.is_own else ""


def _error(texts: list[str], printed: list[list[str]], frame: LauncherFrame | None) -> str:
    is_explained = frame is not None and frame.is_own
    found = (block for text in texts for block in blocks_of(text))
    blocks = (_opening(block) for block in found if not (is_explained and is_consequence(block)))
    messages = (block for block in blocks if block and not _is_harmless(block))
    return start_fault(texts) or _first(_STRONG, printed) or next(messages, "")


def _first(pattern: re.Pattern[str], printed: Iterable[list[str]]) -> str:
    """Return the first error in the output, one stream after the other."""
    for lines in printed:
        for number, line in enumerate(lines):
            if is_traceback(line):
                return exception_of(lines, number)
            if line.strip() in _OF_GROMACS or (pattern.search(line) and not _is_harmless(line)):
                return _whole(lines, number)
    return ""


def _is_harmless(line: str) -> bool:
    """Return whether a line with the words of an error reports no error."""
    if _HARMLESS.search(line):
        return True
    others = re.sub(r"(?i)errors?", "", line)
    is_figure = _FIGURE.search(line) and not _BARE.search(line)
    return bool(is_figure and not (_WEAK.search(others) or _BUT.search(others)))


def _whole(lines: list[str], number: int) -> str:
    """Return an error with the lines that belong to it: indented lines below, and lines after a colon."""
    head = _without_rank(lines[number])
    if head in _OF_GROMACS:
        return _gromacs_message(lines[number:])
    if head.endswith("error stack:"):
        return _mpich_message(head, lines[number + 1 :])
    if _THROWN in head:
        return _exception_message(head, lines[number + 1 : number + 12])
    parts = [head]
    is_foam = "FOAM FATAL" in head or "FATAL CALLED" in head  # OpenFOAM and WRF
    for line in lines[number + 1 : number + 12]:
        part = _without_rank(line)
        is_open = parts[-1].endswith(":") or (is_foam and len(parts) < 3) or _HEAD_ALONE.match(parts[-1])
        if not part and (is_open or (is_foam and len(parts) < 2)):
            continue
        if _ASIDE.search(part) or (part and part in parts):
            continue
        if not part or not (is_open or line[:1].isspace()) or sum(map(len, parts)) > _MOST:
            break
        parts.append(part)
    return " ".join(parts)


def _gromacs_message(lines: list[str]) -> str:
    """Return GROMACS' error message, which may be mixed with the same lines of another rank."""
    parts: list[str] = []
    for line in lines[:30]:
        part = line.strip()
        if part.startswith(("For more information", "-----")) and len(parts) > 2:
            break
        if (
            part
            and part not in parts
            and not _ASIDE.search(part)
            and not part.startswith(("For more", "web"))
        ):
            parts.append(part)
    return " ".join(parts)


def _mpich_message(head: str, below: list[str]) -> str:
    """Return MPICH's error with the deepest line of its error stack that has a text."""
    depth = ""
    for line in below:
        match = _STACK.match(line.strip())
        if match is None:
            break
        depth = match[1].strip() or depth
    head = head.removesuffix(", error stack:")
    return f"{head}: {depth}" if depth and depth not in head else head


def _exception_message(head: str, below: list[str]) -> str:
    """Return the message of a C++ exception, which may be mixed with the same message of other ranks."""
    head = f"{_THROWN}{head.rpartition(_THROWN)[2]}"
    for line in below:
        for what in line.split("what():")[1:]:
            if text := what.partition(_THROWN)[0].strip():
                return f"{head} what(): {text}"
    return head


def _without_rank(line: str) -> str:
    """Return a line without its rank prefix and without the box characters around it."""
    line = re.sub(r"^\[\d+\](?:\s|$)|^Abort\(-?\d+\)[^:]*: ", "", line.strip())
    match = _BOX.match(line)
    return match[1] if match else line


def _opening(block: str) -> str:
    """Return the first paragraph of a launcher's message.

    If it ends with a colon, the next paragraph is added. If it is long, and facts such as
    ``Component: nonsense`` follow, return its first sentence with these facts.
    """
    first, _, rest = block.partition("\n\n")
    if first.rstrip().endswith(":"):
        first = f"{first} {rest.partition(chr(10) * 2)[0]}"
    first = " ".join(first.split())
    facts = [" ".join(line.split()) for line in _FACT.findall(rest)]
    if facts and len(first) > _MOST // 2:
        first = f"{first.partition('. ')[0]} ({'; '.join(facts)})"
    return first


def _cut(text: str) -> str:
    plain = "".join(one if one.isprintable() and one != "\ufffd" else " " for one in text)
    text = " ".join(plain.split())
    return text if len(text) <= _MOST else f"{text[: _MOST - _END]} … {text[-_END:]}"


def _read(path: Path) -> str:
    """Return the beginning and the end of a file as text; empty if there is none or it is no regular file.

    Raises UnreadableFile if the file system fails.
    """
    try:
        with SafeFolder(path.parent, path.name).reader() as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(_HEAD if size > _HEAD + _TAIL else _HEAD + _TAIL)
            if size > _HEAD + _TAIL:
                file.seek(size - _TAIL)
                data += b"\n" + file.read(_TAIL)
    except UnreadableFile:
        raise
    except OSError:
        return ""
    text = data.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return _OF_RANK.sub("", _ESCAPE.sub("", text))


def outputs_of(work: Path, stdout: str, stderr: str, output: str) -> Iterator[str]:
    """Yield the names of files that may hold the reason of a failure, standard error first.

    `output` is the workload's own output file. If each rank has one (``rsl.error.0000``), the files of up to
    1024 ranks are included.
    """
    yield stderr
    yield stdout
    if output not in {"stdout", ""}:
        pattern = re.sub(r"\d+$", "*", output)
        yield from [one.name for one in SafeFolder(work).files(pattern)][:1024]
