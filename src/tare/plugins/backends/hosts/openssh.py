"""Use OpenSSH as the agent: with the user's configuration, without prompts, and one connection for each host.

The user's settings win: the settings here come after the user's in one file, and ssh takes the first value
that it finds (ssh_config(5)).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_LONGEST_FOLDER = 45  # plus %C and a suffix of 17 characters, a socket's path has at most 108 (unix(7))
_EXIT_S = 10.0
_PREFIX, _LOCK, _CONFIG = "tare-ssh.", "lock", "config"
_SETTINGS = """\
Host *
  BatchMode yes
  ConnectTimeout 10
  ServerAliveInterval 15
  ServerAliveCountMax 4
  ControlPersist 600
  ControlPath "{sockets}/%C"
"""
_CURES = {
    "Permission denied": "let `ssh {host}` work without a password (ssh-copy-id {host}, or ssh-add)",
    "Host key verification failed": "look at its key and accept it once: ssh {host}",
    "REMOTE HOST IDENTIFICATION": "its key has changed; if that is right: ssh-keygen -R {host}",
    "Could not resolve": "correct its name in the site's nodes, or give it a HostName in ~/.ssh/config",
    "timed out": "is it up, and does a firewall let port 22 through?",
    "refused": "does sshd run there, on the port that ~/.ssh/config says?",
    "No route": "is it up, and on a network that this machine reaches?",
}


class OpenSsh:
    """The ssh connections of one session, in a private folder. They are closed at the end.

    A session and its guard hold a lock on the folder (flock(2)) while they live. If both are killed, the next
    session finds the folder unlocked and closes its connections.

    `agent` is the site's agent; its first word is ssh. `for_jobs` never opens a shared connection, so that no
    shared connection ends with a job. `for_queries` opens one if there is none.
    """

    def __init__(self, agent: Sequence[str]) -> None:
        base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
        if len(base) > _LONGEST_FOLDER - len("/tare-ssh.12345678"):
            base = "/tmp"  # noqa: S108  # mkdtemp makes a folder in it that is ours alone
        _close_left(Path(base), agent[0])
        self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
        self.lock = os.open(self.folder / _LOCK, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        user_files, options = _split(agent[1:])
        config = self.folder / _CONFIG
        includes = "".join(f'Include "{path}"\n' for path in user_files)
        sockets = str(self.folder).replace("%", "%%")
        config.write_text(includes + _SETTINGS.format(sockets=sockets))
        common = (agent[0], "-F", str(config), *options)
        self.for_jobs = (*common, "-o", "ControlMaster=no")
        self.for_queries = (*common, "-o", "ControlMaster=auto")

    def close(self, env: Mapping[str, str]) -> None:
        """Close every connection and remove the folder."""
        close_connections(self.folder, self.for_jobs[0], env)
        os.close(self.lock)


def is_ssh(agent: Sequence[str]) -> bool:
    """Return whether the agent is ssh, or a script of that name which calls it."""
    return bool(agent) and Path(agent[0]).name == "ssh"


def wrapper_script(program: str) -> Path | None:
    """Return the script that `program` is, such as one that calls ssh with options; None if it is none.

    It gets no options of Tare's: an ``-F`` would come after its own, and ssh takes the last.
    """
    path = shutil.which(program)
    if path is None:
        return None
    with suppress(OSError), Path(path).open("rb") as file:
        if file.read(2) == b"#!":
            return Path(path).absolute()
    return None


def close_connections(folder: Path, ssh: str, env: Mapping[str, str]) -> None:
    """Close the connections whose sockets are in `folder`, and remove the folder."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_socket():
            command = [ssh, "-F", "none", "-o", f"ControlPath={path}", "-O", "exit", "tare"]
            subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                env=dict(env),
                timeout=_EXIT_S,
            )
    shutil.rmtree(folder, ignore_errors=True)


def _close_left(base: Path, ssh: str) -> None:
    """Close the connections of this user's sessions whose processes have all ended.

    A folder without a configuration file is skipped, because a session is just creating it.
    """
    for folder in base.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.lstat().st_uid != os.geteuid() or not (folder / _CONFIG).is_file():
                continue
            lock = os.open(folder / _LOCK, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                close_connections(folder, ssh, os.environ)
            finally:
                os.close(lock)


def explain(host: str, message: str) -> str:
    """Return ssh's own message about why it did not reach `host`, and the cure if one is known."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    for words, cure in _CURES.items():
        line = next((line for line in lines if words in line), None)
        if line is not None:
            return f"{line.removesuffix('.')}; {cure.format(host=host)}"
    return lines[-1] if lines else "the agent printed no message"


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the configuration files that ssh would read, and its options other than ``-F``."""
    files = ["~/.ssh/config", "/etc/ssh/ssh_config"]
    options: list[str] = []
    rest = iter(words)
    for word in rest:
        if word.startswith("-F"):
            path = word[2:] or next(rest, "none")
            files = [] if path == "none" else [str(Path(path).expanduser().absolute())]
        else:
            options.append(word)
    return files, options
