"""Load a software environment before a program: a script that runs its steps, then becomes the program. Pure.

A stage's launcher and each of its ranks run the script. It marks the environment that it made by a variable.
So a rank that inherits this environment from its launcher loads nothing again. What Tare itself has set, such
as variables that choose a network, stays as it was: a module must not change what a case asks for.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from tare.core.launch import Invocation
from tare.core.safe_folder import SafeFolder
from tare.core.software import Layers, digest_of
from tare.core.visible_text import visible
from tare.core.workload import Stage

SCRIPT = "software.sh"
"""The script in an attempt's folder."""

FOLDER = "software"
"""The subfolder of an attempt's folder for what the steps print, and for faults."""

_SHELL = ("/bin/bash", "-p")
"""A bash that reads no file of its own accord; see _BEGIN_AS_SH."""

_N_WORDS = 6  # that `loaded` puts before a command
_MARK = "TARE_SOFTWARE"
_COMMANDS = Path(__file__).with_name("module_commands.sh")
_FUNCTIONS = Path(__file__).with_name("software.sh")
_MOST_QUOTED = 300
_MOST_ASKED_S = 25  # less than hosts may take to answer
_MOST_FAULTS = 100
_OVER = "over"
"""What stands in place of the code of a step that has not ended while a host that is asked may take."""

_KNOWN = f"""\
[ "${{{_MARK}-}}" != "$tare_hash" ] || {{ set +p; exec "${{@:4}}"; }}
"""
"""Become the program at once where its launcher has loaded the software."""

_BEGIN_AS_SH = """\
[ -o posix ] || {
  set +p
  exec -a sh /bin/bash ${BASH_EXECUTION_STRING+-c "$BASH_EXECUTION_STRING"} "$0" "$@"
}
set +o posix
"""
"""Begin again as ``sh``, which reads no file either, and takes over exported functions of every name.

The first bash reads no file because of its -p, and passes functions on. ``bash --posix`` complains of
functions whose names are no identifiers, such as ``module-use``.
"""

_RUN = """\
# Arguments: ROLE FOLDER VARIABLES PROGRAM ARGUMENTS…  VARIABLES are those that the steps must not change.
tare_role=$1 tare_folder=$2 tare_names=$3
shift 3
tare_program=("$@")
set -- # a file that a step reads must not take the program's arguments for its own
tare_kept=()
for tare_name in ${tare_names//,/ }; do
  [ -z "${!tare_name+set}" ] || tare_kept+=("$tare_name=${!tare_name}")
done
"""

_READ_BASH_ENV = """\
if [ -n "${BASH_ENV-}" ]; then
  eval "tare_file=\\"$BASH_ENV\\""
  [ ! -r "$tare_file" ] || . "$tare_file"
fi </dev/null >/dev/null 2>&1
"""
"""Read the file of BASH_ENV as bash itself does (bash(1)), but without what it prints."""

_BECOME = f"""\
trap - EXIT
[ -z "$tare_failed" ] || {{ tare_report; exit 1; }}
PATH=$tare_path command rm -f -- "$tare_said"
[ "${{#tare_kept[@]}}" = 0 ] || export -- "${{tare_kept[@]}}"
export {_MARK}="$tare_hash"
case $tare_role:$tare_program in
  launcher.*:*/*) ;;
  launcher.*) tare_program=$(type -P -- "$tare_program" || printf %s "$tare_program") ;;
esac
exec "${{tare_program[@]}}"
"""
"""A launcher is started by its full path, by which Open MPI finds its daemons on other nodes (mpirun(1))."""


_LMOD = re.compile(r"following error:\s*(.*?)(?:\n\s*\n|\nWhile processing the following|\Z)", re.DOTALL)
"""How Lmod reports an error."""

_INACTIVE = re.compile(r"^Inactive Modules:\n((?:[ \t]+\d+\).*\n?)+)", re.MULTILINE)
"""How Lmod says that it has unloaded modules which the new hierarchy does not have."""


_SPACK = re.compile(r"==> Error: (.*(?:\n[ \t]+\S.*)*)")
"""How Spack reports an error. Indented lines below it name the packages that a spec matches."""

_SYNTAX = re.compile(r"^\S+: (?:eval: )?line \d+: (syntax error.*|unexpected EOF.*)", re.MULTILINE)
"""How bash says that setup lines are no commands. Its number counts lines of the script, not of the setup."""

_OUR_END = "near unexpected token `}'"
"""Where bash comes to when a command of the setup has no end: to the brace of _whole."""


class Fault(msgspec.Struct, frozen=True):
    """A step that failed: the command, the node, its exit code, and what it printed.

    A step that did not end has no code: it hung, or it ended or replaced its shell. It is _OVER for one that
    was ended because the host had taken too long to answer.
    """

    step: str
    node: str
    code: str
    printed: str

    @property
    def has_ended(self) -> bool:
        """Return whether the step came to its end."""
        return self.code not in ("", _OVER)

    def describe(self) -> str:
        """Return the fault as a sentence: ``module load openmpi/9 failed on n1: Unable to locate …``."""
        return self._sentence(f" on {self.node}")

    @property
    def sentence(self) -> str:
        """Return the fault without its node."""
        return self._sentence("")

    def _sentence(self, where: str) -> str:
        if self.has_ended:
            return f"{_short(self.step)} failed{where}: {_short(self._words)}"
        printed = words_of(self.printed)
        said = f"; it had printed: {_short(printed)}" if printed else ", and nothing was printed"
        limit = f" within the {_MOST_ASKED_S} s that a host has to load" if self.code == _OVER else ""
        return f"{_short(self.step)} did not come to its end{limit}{where}{said}"

    @property
    def _words(self) -> str:
        if inactive := _INACTIVE.search(self.printed):
            names = re.findall(r"\d+\) (\S+)", inactive[1])
            return f"there is no {', '.join(names)} for it, which was loaded before (Inactive Modules)"
        return words_of(self.printed) or f"exit code {self.code}, and nothing was printed"


def with_script(stage: Stage, layers: Layers) -> Stage:
    """Return `stage` with the script that loads `layers`; unchanged if they load nothing."""
    if not layers:
        return stage
    text = "\n".join(
        [
            f"tare_hash={digest_of(layers)}",
            _KNOWN,
            _BEGIN_AS_SH,
            _RUN,
            _READ_BASH_ENV,
            *_functions(),
            *_steps(layers),
            "",
            _BECOME,
        ]
    )
    return msgspec.structs.replace(stage, files={**stage.files, SCRIPT: text, f"{FOLDER}/.keep": ""})


def loaded(program: Invocation, role: str, folder: str, kept: Iterable[str] = ()) -> Invocation:
    """Return the command that loads the software and then executes `program`; `folder` is the working folder.

    `role` names the log; that of a rank has none. `kept` are variables that the steps must not change. Lists
    of folders, such as PATH, may change: modules prepend to them.
    """
    names = ",".join(sorted({name for name in (*kept, *program.env) if not name.endswith("PATH")}))
    words = (*_SHELL, f"{folder}/{SCRIPT}", role, f"{folder}/{FOLDER}", names)
    return Invocation(argv=(*words, *program.argv), env=program.env)


def underlying(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that `loaded` made `argv` of; `argv` itself if it loads nothing."""
    is_loading = argv[:2] == _SHELL and argv[2:3] and argv[2].endswith(f"/{SCRIPT}")
    return argv[_N_WORDS:] if is_loading else argv


def variables_of(launched: Invocation) -> list[str]:
    """Return the variables that a launcher sets for ranks: in its environment, or by Hydra's ``-genv``."""
    following = zip(launched.argv, launched.argv[1:], strict=False)
    return [*launched.env, *(name for option, name in following if option == "-genv")]


def asking(script: str, layers: Layers) -> str:
    """Return a shell script that runs `script` where `layers` are loaded; unchanged if they load nothing.

    If a step fails, `script` runs without the rest. The shell variable ``tare_fault_text`` then holds what
    `read_fault` reads.
    """
    if not layers:
        return script
    text = "\n".join(
        [
            _BEGIN_AS_SH,
            f"tare_hash={digest_of(layers)} tare_role=ask tare_folder=$1; shift",
            _READ_BASH_ENV,
            *_functions(),
            *_steps(layers),
            "trap - EXIT",
            'tare_fault_text=$(PATH=$tare_path; [ -z "$tare_failed" ] || command cat -- "$tare_folder"/*)',
            '(PATH=$tare_path; command rm -f -- "$tare_folder"/*)',
            f"{_MARK}=$tare_hash",
            script,
        ]
    )
    return _ASK.format(seconds=_MOST_ASKED_S, over=_OVER, shell=shlex.join(_SHELL), text=shlex.quote(text))


_ASK = """\
tare_asked=$(mktemp -d) || exit
tare_began=$(date +%s)
timeout -s KILL {seconds} {shell} -c {text} bash "$tare_asked" &
tare_group=$!
wait "$tare_group"
kill -- "-$tare_group" 2>/dev/null
tare_over=''
[ $(($(date +%s) - tare_began)) -lt {seconds} ] || tare_over='{over}'
for tare_left in "$tare_asked"/*; do
  [ -f "$tare_left" ] || continue
  printf '\\036software.fault\\036\\n'
  head -c 4096 -- "$tare_left" | sed "3s/^\\$/$tare_over/"
done
rm -rf -- "$tare_asked"
"""
"""Whatever a step does to its shell, this one tells which step it was: the file that names it is left behind.

timeout(1) makes a process group of its own, so what steps have started in the background ends, too.
"""


def with_functions(script: str) -> str:
    """Return text for bash: `script`, which may call ``tare_find_module`` and ``tare_find_spack``.

    These define ``module`` and ``spack`` as for the steps of a software environment.
    """
    return f"{_COMMANDS.read_text()}\n{script}"


def _functions() -> tuple[str, str]:
    return _COMMANDS.read_text(), _FUNCTIONS.read_text()


def _steps(layers: Layers) -> Iterator[str]:
    """Yield the shell lines that load `layers`, at the top level of the script."""
    for one in layers:
        if one.setup:
            yield from _step("setup", f"{_whole(one.setup)}\ntare_through 0\n{_UNWATCH}", _WATCH)
        for name in one.modules:
            command = f"{_TELLS} module load {shlex.quote(name)}"
            yield from _step(f"module load {name}", f"{command}\ntare_through $?")
        if one.spack:
            words = shlex.join(one.spack)
            yield from _step(f"spack load {words}", f"tare_find_spack && spack load {words}\ntare_through $?")


def _whole(setup: str) -> str:
    """Return setup lines as one command of bash, which sets a variable when it comes to its end.

    An expansion that fails, such as ``$((1/0))``, ends the command that it is in, without any trap.
    """
    return f"tare_cut=1; {{ {setup}\n\ntare_cut=0; }}"


_TELLS = "MODULES_VERBOSITY=normal MODULES_COLOR=never"
"""What makes environment-modules say why it fails, for this command alone: a user may have it silent."""
_UNWATCH = 'trap - DEBUG ERR RETURN; [ "$tare_cut" = 0 ]'
_WATCH = 'trap \'tare_error $? "${FUNCNAME[0]-}" "$BASH_COMMAND"\' ERR\n'


def _step(what: str, lines: str, before: str = "") -> Iterator[str]:
    """Yield one step. What it starts in the background inherits no output but the step's own."""
    yield f"if tare_begin {shlex.quote(what)}; then"
    yield f'{before}eval {shlex.quote(lines)} </dev/null >>"$tare_said" 2>&1'
    yield "tare_end $?; fi"


def faults_in(work: Path, *, is_timeout: bool = False) -> list[Fault]:
    """Return the faults that the launcher and the ranks of an attempt in `work` have left there.

    Steps that did not end come last. Those of ranks count only if the run timed out: otherwise the launcher
    has ended the ranks, for another reason.
    """
    folder = SafeFolder(work.parents[2], *work.parts[-3:], FOLDER)
    unended = [one for one in folder.files("printed.*") if is_timeout or not one.name.startswith(_OF_RANK)]
    found = []
    for file in (*folder.files("fault.*")[:_MOST_FAULTS], *unended[:_MOST_FAULTS]):
        try:
            with file.reader() as text:
                found.append(read_fault(text.read(_MOST_READ).decode(errors="replace")))
        except OSError:
            continue
    return [one for one in found if one.step]


_OF_RANK = "printed.rank."
_MOST_READ = 1 << 16


def read_fault(text: str) -> Fault:
    """Return the fault in `text`: the lines of the step, the node and the code, then what was printed."""
    step, node, code, printed = [*text.lstrip("\n").split("\n", 3), "", "", "", ""][:4]
    return Fault(visible(step), visible(node), visible(code), printed)


def words_of(printed: str) -> str:
    """Return the error in what a module system, Spack or a setup line printed, on one line."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", printed)
    if found := _LMOD.search(text):
        return _one_line(found[1])
    if found := re.search(r"ERROR:(?:\d+:)?\s*(.*)", text):  # environment-modules
        return _one_line(found[1] + _own_words(found[1], text[: found.start()]))
    if found := _SPACK.search(text):
        return _one_line(found[1])
    if found := _SYNTAX.search(text):
        return _one_line(found[1].replace(_OUR_END, f"{_OUR_END}, or where the lines end"))
    lines = [line for line in text.splitlines() if line.strip()]
    return _one_line(lines[-1]) if lines else ""


def _own_words(error: str, before: str) -> str:
    """Return what a module printed that ended itself: environment-modules says of it just that it did."""
    lines = [line for line in before.splitlines() if line.strip() and not line.startswith("Loading ")]
    return f"; it had printed: {lines[-1]}" if lines and error.startswith("Module evaluation aborted") else ""


def _one_line(text: str) -> str:
    """Return `text` without line ends, and without a full stop: a sentence goes on behind it."""
    return visible(" ".join(text.split())).removesuffix(".")


def _short(text: str) -> str:
    return text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}…"
