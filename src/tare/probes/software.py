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

_SHELL = "/bin/bash"
_N_WORDS = 5  # that `loaded` puts before a command
_MARK = "TARE_SOFTWARE"
_FUNCTIONS = Path(__file__).with_name("software.sh")
_MOST_QUOTED = 300
_MOST_FAULTS = 100

_RUN = f"""\
# Arguments: ROLE FOLDER VARIABLES PROGRAM ARGUMENTS…  VARIABLES are those that the steps must not change.
tare_role=$1 tare_folder=$2 tare_names=$3
shift 3
[ "${{{_MARK}-}}" != "$tare_hash" ] || exec "$@"
tare_kept=()
for tare_name in ${{tare_names//,/ }}; do
  [ -z "${{!tare_name+set}}" ] || tare_kept+=("$tare_name=${{!tare_name}}")
done
"""

_BECOME = f"""\
trap - EXIT
[ -z "$tare_failed" ] || {{ tare_report; exit 1; }}
tare_clean
[ "${{#tare_kept[@]}}" = 0 ] || export -- "${{tare_kept[@]}}"
export {_MARK}="$tare_hash"
case $1 in
  */*) ;;
  *) case $tare_role in launcher.*) set -- "$(type -P -- "$1" || printf %s "$1")" "${{@:2}}" ;; esac ;;
esac
exec {{tare_in}}<&- {{tare_out}}>&- {{tare_err}}>&-
exec "$@"
"""
"""A launcher is started by its full path, by which Open MPI finds its daemons on other nodes (mpirun(1))."""


_INACTIVE = re.compile(r"^Inactive Modules:\n((?:[ \t]+\d+\).*\n?)+)", re.MULTILINE)
"""How Lmod says that it has unloaded modules which the new hierarchy does not have."""


class Fault(msgspec.Struct, frozen=True):
    """A step that failed: the command, the node, its exit code, and what it printed."""

    step: str
    node: str
    code: str
    printed: str

    def describe(self) -> str:
        """Return the fault as a sentence: ``module load openmpi/9 failed on n1: Unable to locate …``."""
        return f"{_short(self.step)} failed on {self.node}: {_short(self._words)}"

    @property
    def sentence(self) -> str:
        """Return the fault without its node."""
        return f"{_short(self.step)} failed: {_short(self._words)}"

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
        [f"tare_hash={digest_of(layers)}", _RUN, _FUNCTIONS.read_text(), *_steps(layers), "", _BECOME]
    )
    return msgspec.structs.replace(stage, files={**stage.files, SCRIPT: text, f"{FOLDER}/.keep": ""})


def loaded(program: Invocation, role: str, folder: str, kept: Iterable[str] = ()) -> Invocation:
    """Return the command that loads the software and then executes `program`; `folder` is the working folder.

    `role` names the log; that of a rank has none. `kept` are variables that the steps must not change. Lists
    of folders, such as PATH, may change: modules prepend to them.
    """
    names = ",".join(sorted({name for name in (*kept, *program.env) if not name.endswith("PATH")}))
    words = (_SHELL, f"{folder}/{SCRIPT}", role, f"{folder}/{FOLDER}", names)
    return Invocation(argv=(*words, *program.argv), env=program.env)


def underlying(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that `loaded` made `argv` of; `argv` itself if it loads nothing."""
    is_loading = argv[:1] == (_SHELL,) and argv[1:2] and argv[1].endswith(f"/{SCRIPT}")
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
            f"tare_hash={digest_of(layers)} tare_role=ask tare_folder=",
            _FUNCTIONS.read_text(),
            *_steps(layers),
            "trap - EXIT",
            'if [ -n "$tare_failed" ]; then tare_report; else tare_clean; fi',
            "exec {tare_in}<&- {tare_out}>&- {tare_err}>&-",
            f"{_MARK}=$tare_hash",
            script,
        ]
    )
    return f"{_SHELL} -c {shlex.quote(text)}\n"


def with_functions(script: str) -> str:
    """Return text for bash: `script`, which may call ``tare_find_module`` and ``tare_find_spack``.

    These define ``module`` and ``spack`` as for the steps of a software environment.
    """
    lines = [
        "tare_hash= tare_role=ask tare_folder=",
        _FUNCTIONS.read_text(),
        "trap - EXIT",
        "tare_clean",
        "exec {tare_in}<&- {tare_out}>&- {tare_err}>&-",
        script,
    ]
    return "\n".join(lines)


def _steps(layers: Layers) -> Iterator[str]:
    """Yield the shell lines that load `layers`, at the top level of the script."""
    for one in layers:
        if one.setup:
            yield f"if tare_begin {shlex.quote('setup')}; then"
            yield 'trap \'tare_error $? "${FUNCNAME[0]-}" "$BASH_COMMAND"\' ERR'
            text = f"{one.setup}\n:"
            yield f"eval {shlex.quote(text)}\ntare_end $?\ntrap - ERR; fi"
        for name in one.modules:
            yield f"if tare_begin {shlex.quote(f'module load {name}')}; then"
            yield f"module load {shlex.quote(name)}\ntare_end $?; fi"
        if one.spack:
            words = shlex.join(one.spack)
            yield f"if tare_begin {shlex.quote(f'spack load {words}')}; then"
            yield f"tare_find_spack && spack load {words}\ntare_end $?; fi"


def faults_in(work: Path) -> list[Fault]:
    """Return the faults that the launcher and the ranks of an attempt in `work` have left there."""
    found = []
    for file in SafeFolder(work.parents[2], *work.parts[-3:], FOLDER).files("fault.*")[:_MOST_FAULTS]:
        try:
            found.append(read_fault(file.read().decode(errors="replace")))
        except OSError:
            continue
    return found


def read_fault(text: str) -> Fault:
    """Return the fault in `text`: the lines of the step, the node and the code, then what was printed."""
    step, node, code, printed = [*text.lstrip("\n").split("\n", 3), "", "", "", ""][:4]
    return Fault(visible(step), visible(node), visible(code), printed)


def words_of(printed: str) -> str:
    """Return the error in what a module system, Spack or a setup line printed, on one line."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", printed)
    if found := re.search(r"following error:\s*(.*?)(?:\n\s*\n|\Z)", text, re.DOTALL):  # Lmod
        return _one_line(found[1])
    if found := re.search(r"ERROR:(?:\d+:)?\s*(.*)", text):  # environment-modules
        return _one_line(found[1])
    if found := re.search(r"==> Error: (.*)", text):  # Spack
        return _one_line(found[1])
    lines = [line for line in text.splitlines() if line.strip()]
    return _one_line(lines[-1]) if lines else ""


def _one_line(text: str) -> str:
    return visible(" ".join(text.split()))


def _short(text: str) -> str:
    return text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}…"
