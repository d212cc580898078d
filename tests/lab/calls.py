"""A lab for tests, and ways to talk to its hosts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tare.core.errors import LabError
from tare.core.site import LabSpec
from tare.lab import AGENT, Lab, start

_EXCHANGE = Path(__file__).with_name("exchange.py")
_TIMEOUT_S = 60


class Hosts:
    """The hosts of a lab, reached as a user reaches them: through the agent."""

    def __init__(self, lab: Lab) -> None:
        self._env = os.environ | lab.env

    def call(
        self, *words: str, stdin: str = "", cwd: Path | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Call the agent as ssh is called."""
        return subprocess.run(
            [AGENT, *words],
            env=self._env | env,
            input=stdin,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start a command through the agent, with a pipe for what it prints."""
        return subprocess.Popen([AGENT, *words], env=self._env, stdout=subprocess.PIPE, text=True)

    def exchange(self, sender: str, receiver: str, address: str, count: int) -> float:
        """Send bytes from one host to an address of another; return the seconds that it took."""
        with self.start(receiver, sys.executable, str(_EXCHANGE), "receive", address) as server:
            assert server.stdout is not None
            port = server.stdout.readline().strip()
            done = self.call(sender, sys.executable, str(_EXCHANGE), "send", address, port, str(count))
            received = int(server.stdout.readline())
        assert received == count
        return float(done.stdout)

    def sent_bytes(self, host: str) -> dict[str, int]:
        """Read how many bytes each interface of a host has sent (field 9 of /proc/net/dev)."""
        return self._counters(host, 8)

    def received_bytes(self, host: str) -> dict[str, int]:
        """Read how many bytes each interface of a host has received (field 1 of /proc/net/dev)."""
        return self._counters(host, 0)

    def _counters(self, host: str, field: int) -> dict[str, int]:
        lines = self.call(host, "cat /proc/net/dev").stdout.splitlines()[2:]
        rows = (line.split(":") for line in lines)
        return {name.strip(): int(counters.split()[field]) for name, counters in rows}


@contextmanager
def running_lab(spec: LabSpec, folder: Path) -> Iterator[Lab]:
    """Have a lab up that ends with this process, its state below `folder`; skip where none can be built."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        try:
            lab = start(spec, owned=True)
        except LabError as error:
            pytest.skip(f"this machine builds no lab: {error}")
    with lab:
        yield lab


def call(lab: Lab, host: str, *argv: str) -> subprocess.CompletedProcess[str]:
    """Run exactly `argv` on a host, as `tare lab exec` does."""
    return subprocess.run(
        lab.command(host, argv),
        env=os.environ | lab.env,
        capture_output=True,
        text=True,
        cwd="/",
        timeout=_TIMEOUT_S,
        check=False,
    )


def tare(*words: str) -> subprocess.CompletedProcess[str]:
    """Call the `tare` command as a user does."""
    return subprocess.run(
        [sys.executable, "-P", "-c", "from tare.cli.main import main; main()", *words],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=_TIMEOUT_S,
        check=False,
    )
