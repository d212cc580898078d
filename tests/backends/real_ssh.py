"""A real sshd on loopback, with keys and configuration of its own, for the tests that need one."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tare.lab import Lab

_SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")

SSHD_CONFIG = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host
PidFile none
AuthorizedKeysFile {folder}/id.pub
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
MaxStartups 100
Banner {folder}/banner
ForceCommand echo 'noise of a login script'; echo 'and its errors' >&2; eval "$SSH_ORIGINAL_COMMAND"
"""
SSH_CONFIG = """\
Host away
  Port 1
Host stranger
  PubkeyAuthentication no
Host *
  HostName 127.0.0.1
  Port {port}
  IdentityFile {folder}/id
  IdentitiesOnly yes
  IdentityAgent none
  HostKeyAlias tare-test
  UserKnownHostsFile {folder}/known
  StrictHostKeyChecking yes
"""
NODE_CONFIG = """\
HostKey {folder}/host
PidFile none
AuthorizedKeysFile {folder}/id.pub
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
MaxStartups 100
"""
NODE_CLIENT = """\
Host *
  IdentityFile {folder}/id
  BatchMode yes
  IdentitiesOnly yes
  IdentityAgent none
  HostKeyAlias tare-test
  UserKnownHostsFile {folder}/known
  StrictHostKeyChecking yes
"""


@contextlib.contextmanager
def sshd(folder: Path, *, is_elsewhere: bool = False) -> Iterator[tuple[str, ...]]:
    """Yield the agent that reaches this machine under any name; skip the test where there is no OpenSSH.

    One that is to be as if it was `elsewhere` is no child of this process, which does not adopt its orphans.
    """
    program = _openssh()
    port = _free_port()
    _write_keys(folder)
    (folder / "banner").write_text("authorised users only\n")
    (folder / "sshd_config").write_text(SSHD_CONFIG.format(port=port, folder=folder))
    (folder / "ssh_config").write_text(SSH_CONFIG.format(port=port, folder=folder))
    command: list[str | Path] = [program, "-D", "-f", folder / "sshd_config", "-E", folder / "sshd.log"]
    if is_elsewhere:
        pid_file = folder / "pid"
        command = [program, "-o", f"PidFile={pid_file}", *command[2:]]
    server = subprocess.Popen(command)
    try:
        _wait_for(port)
        yield ("ssh", "-F", str(folder / "ssh_config"))
    finally:
        if is_elsewhere:
            os.kill(int(pid_file.read_text()), signal.SIGTERM)
        else:
            server.terminate()
        server.wait()


@contextlib.contextmanager
def sshd_on_nodes(lab: Lab, folder: Path) -> Iterator[Path]:
    """Have an sshd on each node of a lab; yield a folder whose script `ssh` reaches them."""
    program = _openssh()
    _write_keys(folder)
    (folder / "node_config").write_text(NODE_CONFIG.format(folder=folder))
    command = [program, "-D", "-f", str(folder / "node_config"), "-E", str(folder / "sshd.log")]
    servers = [subprocess.Popen(lab.command(node, command), env=os.environ | lab.env) for node in lab.nodes]
    programs = folder / "programs"
    programs.mkdir()
    (folder / "node_client").write_text(NODE_CLIENT.format(folder=folder))
    script = programs / "ssh"
    script.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/node_client "$@"\n')
    script.chmod(0o755)
    try:
        for node in lab.nodes:
            _wait_until_reached(lab, script, node)
        yield programs
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            server.wait()


def _wait_until_reached(lab: Lab, script: Path, node: str) -> None:
    deadline = time.monotonic() + 15
    command = lab.command(lab.nodes[0], [str(script), node, "true"])
    while subprocess.run(command, env=os.environ | lab.env, capture_output=True, check=False).returncode:
        assert time.monotonic() < deadline, f"the sshd of {node} does not answer"
        time.sleep(0.1)


def _openssh() -> str:
    """Return the program sshd; skip the test where there is none."""
    if _SSHD is None or shutil.which("ssh-keygen") is None:
        pytest.skip("no OpenSSH server here; apt install openssh-server openssh-client")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # where sshd, started by root, confines itself
    return _SSHD


def _write_keys(folder: Path) -> None:
    for name in ("host", "id"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "known").write_text(f"tare-test {(folder / 'host.pub').read_text()}")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 15
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        assert time.monotonic() < deadline, "sshd does not answer"
        time.sleep(0.05)
