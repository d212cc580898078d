"""Check whether PSI/J is installed, and whether its batch system answers."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tare.core.backend_plugin import CheckContext
from tare.core.checks import Finding
from tare.core.counting import count
from tare.core.errors import BackendError
from tare.plugins.backends.batch.commands import Reach
from tare.plugins.backends.psij.library import INSTALL, executor, is_installed, run, version
from tare.plugins.backends.psij.options import PsijOptions
from tare.plugins.backends.psij.systems import SYSTEMS


def check_psij(context: CheckContext, options: PsijOptions) -> Iterator[Finding]:
    """Yield whether PSI/J is installed, can load the executor, and gets an answer from the batch system."""
    name = f"{context.name}: PSI/J"
    if not is_installed():
        yield Finding(name=name, is_met=False, found="it is not installed here", cure=f"run: {INSTALL}")
        return
    yield Finding(name=name, is_met=True, found=f"version {version()}")
    system = SYSTEMS[options.executor]
    name = f"{context.name}: {system.title}"
    reach = Reach.of(context.site.agent, options.login, context.env)
    lacking = [one for one in system.commands if not _is_there(reach, one)]
    if lacking:
        found = f"no command {', '.join(lacking)}"
        cure = "load its module, or name the host that has them with 'psij: {login: …}'"
        yield Finding(name=name, is_met=False, found=found, cure=cure)
        return
    with tempfile.TemporaryDirectory() as work:
        try:
            jobs = executor(options.executor, Path(work), reach).list()
        except (BackendError, OSError) as error:
            cure = "choose another executor, or install what PSI/J needs for this one"
            yield Finding(name=name, is_met=False, found=str(error), cure=cure)
        except subprocess.CalledProcessError as error:
            cure = "is its server up? Try the command by hand"
            found = f"{' '.join(error.cmd)}: {' '.join(str(error.output).split())}"
            yield Finding(name=name, is_met=False, found=found, cure=cure)
        else:
            found = f"it answers PSI/J's executor {options.executor}"
            own = f"; {count(len(jobs), 'job')} of yours" if system.commands else ""
            yield Finding(name=name, is_met=True, found=found + own)


def _is_there(reach: Reach, command: str) -> bool:
    try:
        run(reach, ["sh", "-c", 'command -v "$1"', "sh", command])
    except (subprocess.CalledProcessError, OSError):
        return False
    return True
