"""Whatever the login shell, scripts are those of sh and arguments arrive as they are."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path

import pytest

from tare.core.job import Job
from tare.core.launch import Invocation
from tare.plugins.backends.batch.commands import Reach
from tare.plugins.backends.hosts.commands import HostCommands
from tare.plugins.backends.hosts.openssh import wrapper_script
from tare.plugins.backends.process.backend import ProcessBackend


def test_a_script_of_the_name_ssh_gets_no_options_of_tare(tmp_path: Path) -> None:
    script = tmp_path / "ssh"
    script.write_text('#!/bin/sh\nexec ssh -F /etc/site/ssh_config "$@"\n')
    script.chmod(0o755)
    reach = HostCommands((str(script),), os.environ)
    try:
        assert reach.words == (str(script),), "an -F of Tare's would replace that of the script"
        assert not reach.forwards_signals, "its jobs are ended as those of ssh"
    finally:
        reach.close()
    assert wrapper_script(str(script)) == script
    assert wrapper_script("ssh") is None or Path(shutil.which("ssh") or "").read_bytes()[:2] == b"#!"
    assert wrapper_script("/no/such/ssh") is None


@pytest.mark.skipif(shutil.which("tcsh") is None, reason="no tcsh here; apt install tcsh")
def test_scripts_and_jobs_are_those_of_sh_where_the_login_shell_is_csh(tmp_path: Path, prefix: str) -> None:
    agent = tmp_path / "agent"
    agent.write_text("#!/bin/sh\nshift\nexec tcsh -c \"echo -n 'Welcome to our cluster'; $*\"\n")
    agent.chmod(0o755)
    reach = HostCommands((str(agent),), os.environ)
    script = 'for word in \'a!b\' "it\'s"; do\n  [ -n "$word" ] && echo "$word $(cat | wc -c)"\ndone 2>&1'
    assert reach.run({"one": script})["one"].split() == ["a!b", "0", "it's", "0"]
    with ProcessBackend(label=prefix, agent=(str(agent),), hosts=["one"]) as backend:
        argv = ("sh", "-c", 'echo "$GREETING"; exit 7')
        invocation = Invocation(argv=argv, env={"GREETING": "it's $HOME"})
        job = Job(label=f"{prefix}c/1;", invocation=invocation, host="one", folder=tmp_path, timeout_s=20)
        assert backend.run(job).code == 7
    assert (tmp_path / "stdout").read_text() == "it's $HOME\n"


ODD = (
    "new\nline",
    "!word a!b",
    "!",
    "it's!",
    'say "hi"',
    "$HOME `id` $(id)",
    "back\\slash \\n",
    "*",
    "ünï",
    "",
)


@pytest.mark.parametrize("shell", ["sh", "bash", "tcsh"])
def test_every_argument_arrives_as_it_is_whatever_the_login_shell(
    tmp_path: Path, prefix: str, shell: str
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    agent = tmp_path / "agent"
    agent.write_text(f'#!/bin/sh\nshift\nexec {shell} -c "$*"\n')
    agent.chmod(0o755)
    show = ("python3", "-c", "import os, sys; print(ascii(sys.argv[1:])); print(ascii(os.environ['ODD']))")
    work = tmp_path / "a!b"
    work.mkdir()
    with ProcessBackend(label=prefix, agent=(str(agent),), hosts=["one"]) as backend:
        invocation = Invocation(argv=(*show, *ODD), env={"ODD": "".join(ODD)})
        job = Job(label=f"{prefix}c/1;", invocation=invocation, host="one", folder=work, timeout_s=20)
        assert backend.run(job).code == 0, (work / "stderr").read_text()
    assert (work / "stdout").read_text() == f"{[*ODD]!a}\n{''.join(ODD)!a}\n"
    reach = Reach.of((str(agent),), "one", {})
    done = reach.run(["printf", "%s\\0", *ODD], logging.getLogger())
    assert done.stdout.decode().split("\0")[:-1] == [*ODD]
