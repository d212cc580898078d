"""Set up Slurm's accounting in the lab: slurmdbd on the first node, with a MariaDB in a tmpfs.

The database listens only on a socket in a folder that only root may enter, so it asks for no passwords.

Sources: slurmdbd.conf(5), mariadbd(8), mariadb-install-db(1); of the latter, only the necessary step is done.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from tare.core.errors import LabError
from tare.lab.commands import Hosts, find_program, run, write

PROGRAMS = ("slurmdbd", "mariadbd", "sacct", "sacctmgr")
CURE = "on Debian: apt install slurmdbd mariadb-server-core"

_SCHEMA = Path("/usr/share/mysql/mysql_system_tables.sql")
_READY_TIMEOUT_S = 60.0
_SMALL = ("--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M", "--skip-log-bin")


def missing() -> list[str]:
    """Return the programs that accounting needs and that this machine lacks."""
    lacking = [name for name in PROGRAMS if find_program(name) is None]
    return lacking if _SCHEMA.exists() else [*lacking, str(_SCHEMA)]


def options(node: str, home: Path) -> list[str]:
    """Return the lines of slurm.conf for accounting by the daemon on `node`."""
    return [
        "AccountingStorageType=accounting_storage/slurmdbd",
        f"AccountingStorageHost={node}",
        f"AccountingStoragePass={home}/munge/socket",
    ]


def bring_up(lab: Hosts, node: str, address: str, home: Path) -> None:
    """Start database and daemon on `node`, with files below `home`, which has munge and slurm.conf already.

    slurmctld must be started later: it does not start without them. Raises LabError.
    """
    folder = home / "accounting"
    socket = folder / "socket"
    run(lab, node, ["mkdir", "-p", "-m", "700", str(folder), str(folder / "data")])
    server = [find_program("mariadbd") or "mariadbd", "--no-defaults", "--user=root", *_SMALL]
    server += [f"--datadir={folder}/data", "--skip-networking", "--skip-grant-tables"]
    sql = f"create database mysql;\nuse mysql;\n{_SCHEMA.read_text()}"
    run(lab, node, ["sh", "-c", f'exec "$@" >{folder}/init.log 2>&1', "sh", *server, "--bootstrap"], sql)
    # slurmdbd asks for a long lock timeout and for buffers; data lost in a crash is of a lab that has ended.
    server += [f"--socket={socket}", "--innodb-lock-wait-timeout=900", "--innodb-flush-log-at-trx-commit=0"]
    detach = 'log=$1; shift; setsid "$@" >"$log" 2>&1 </dev/null &'
    run(lab, node, ["sh", "-c", detach, "sh", str(folder / "mariadbd.log"), *server])
    _wait(lab, node, ["test", "-S", str(socket)], folder)
    write(lab, node, home / "slurmdbd.conf", configuration(home, node, address), mode="600")
    variables = [f"SLURM_CONF={home}/slurm.conf", f"MYSQL_UNIX_PORT={socket}"]
    run(lab, node, ["env", *variables, find_program("slurmdbd") or "slurmdbd"])
    manager = ["env", *variables, "sacctmgr", "--immediate"]
    _wait(lab, node, [*manager, "--noheader", "show", "cluster"], folder)
    run(lab, node, [*manager, "add", "cluster", "tare"])


def configuration(home: Path, node: str, address: str) -> str:
    """Return slurmdbd.conf; slurmdbd looks for it beside slurm.conf."""
    lines = [
        f"DbdHost={node}",
        f"DbdAddr={address}",
        "AuthType=auth/munge",
        f"AuthInfo=socket={home}/munge/socket",
        "SlurmUser=root",
        "StorageType=accounting_storage/mysql",
        "StorageHost=localhost",
        "StorageUser=root",
        "StorageLoc=slurm",
        f"LogFile={home}/log/slurmdbd.log",
        f"PidFile={home}/slurmdbd.pid",
    ]
    return "\n".join([*lines, ""])


def _wait(lab: Hosts, node: str, command: list[str], folder: Path) -> None:
    """Wait until `command` succeeds on `node`. Raises LabError with the last lines of the logs."""
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while time.monotonic() < deadline:
        done = subprocess.run(
            lab.command(node, ["timeout", "5", *command]),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            cwd="/",
        )
        if done.returncode == 0:
            return
        time.sleep(0.05)
    log = run(lab, node, ["sh", "-c", f"tail -n 2 {folder}/*.log {folder.parent}/log/slurmdbd.log"])
    raise LabError(f"Slurm's accounting did not come up within {_READY_TIMEOUT_S:g} s: {log}")
