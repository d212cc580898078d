"""Set up Grid Engine in the lab: sge_qmaster on the first node, sge_execd on each node.

All daemons are in the lab's PID namespace, so they end with it. Their files are in a tmpfs of the lab. Grid
Engine's own interactive installation is not used: the few files and `qconf` calls are below. Of Grid Engine's
configuration, only what differs from its own templates is here.

Sources: bootstrap(5), sge_conf(5), sched_conf(5), sge_pe(5), queue_conf(5), and Debian's init_cluster.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tare.core.errors import LabError
from tare.lab.commands import Hosts, find_program, run, write

PROGRAMS = ("sge_qmaster", "sge_execd", "qconf", "qsub", "qhost")
CURE = "on Debian: apt install gridengine-master gridengine-exec gridengine-client"

QUEUE = "lab"
PARALLEL_ENVIRONMENT = "lab"
"""A parallel environment that gives a job whole nodes: all SLOTS_PER_NODE slots of each of its nodes."""
ANY_NODES = "any"
"""A parallel environment that fills one node after the other, as that of many sites does."""
SLOTS_PER_NODE = 8
"""The slots of a node, perhaps more than its cores.

Grid Engine starts at most this many commands of a job on a node at a time.
"""

_BINARIES = Path("/usr/lib/gridengine")
_SHARE = Path("/usr/share/gridengine")
_RESOURCES = _SHARE / "util/resources"
_CONFIGURATION = _SHARE / "default-configuration"
_SCHEDULER = _SHARE / "util/install_modules/inst_schedd_normal.conf"
_PARALLEL_ENVIRONMENT = _RESOURCES / "pe/mpi"
_ARCHITECTURE = "lx-amd64"
_READY_TIMEOUT_S = 30.0
_GIDS_PER_NODE = 50


def environment(folder: Path) -> dict[str, str]:
    """Return the variables that Grid Engine's commands need in the lab whose folder is `folder`."""
    return {
        "SGE_ROOT": str(folder / "gridengine"),
        "SGE_CELL": "default",
        "SGE_QMASTER_PORT": "6444",
        "SGE_EXECD_PORT": "6445",
    }


def missing() -> list[str]:
    """Return the programs that Grid Engine needs and that this machine lacks."""
    lacking = [name for name in PROGRAMS if find_program(name) is None]
    needed = (_BINARIES, _RESOURCES, _CONFIGURATION, _SCHEDULER, _PARALLEL_ENVIRONMENT)
    return lacking or [str(path) for path in needed if not path.exists()]


def bring_up(lab: Hosts, nodes: Sequence[str]) -> None:
    """Start Grid Engine on `nodes`; return when each of them reports to the master.

    Raises LabError with the log of the daemon that did not start.
    """
    if os.geteuid() != 0:
        raise LabError(
            "Grid Engine's daemons change to the users of their jobs, which only root may; "
            "start Grid Engine's lab as root"
        )
    if lacking := missing():
        raise LabError(f"Grid Engine needs {', '.join(lacking)}, which this machine lacks; {CURE}")
    root = Path(environment(lab.folder)["SGE_ROOT"])
    _lay_out(lab, nodes, root)
    head = nodes[0]
    _call(lab, head, ["sge_qmaster"])
    _wait_until_answering(lab, head, root)
    _call(lab, head, ["qconf", "-ah", ",".join(nodes)])
    _call(lab, head, ["qconf", "-as", ",".join(nodes)])
    queue_template = _call(lab, head, ["qconf", "-sq"])
    for option, name, text in [*objects(nodes), ("-Aq", "queue", _queue(queue_template))]:
        path = root / "objects" / name
        write(lab, head, path, text)
        _call(lab, head, ["qconf", option, str(path)])
    with ThreadPoolExecutor(max_workers=8) as starting:  # each takes a second until the master knows it
        list(starting.map(lambda node: _call(lab, node, ["sge_execd"]), nodes))
    _wait_until_reporting(lab, nodes, root)


def bootstrap(root: Path) -> str:
    """Return the file that tells the daemons all paths (bootstrap(5))."""
    lines = {
        "admin_user": "none",  # files of the daemons belong to root in the lab, who starts them
        "default_domain": "none",
        "ignore_fqdn": "true",
        "spooling_method": "classic",
        "spooling_lib": "libspoolc",
        "spooling_params": f"{root}/default/common;{root}/qmaster",
        "binary_path": str(_BINARIES),
        "qmaster_spool_dir": f"{root}/qmaster",
        "security_mode": "none",
        "listener_threads": "2",
        "worker_threads": "2",
        "scheduler_threads": "1",
        "jvm_threads": "0",
    }
    return _table(lines)


def configuration(root: Path) -> str:
    """Return the configuration of the cluster, as `spooldefaults` takes it (sge_conf(5)).

    Root, the only user of the lab, may run jobs. Nodes report often, and accounting records are written at
    once.
    """
    changes = {
        "execd_spool_dir": f"{root}/spool",
        "mailer": "/bin/true",
        "login_shells": "none",
        "min_uid": "0",
        "min_gid": "0",
        "load_report_time": "00:00:03",
        "max_unheard": "00:00:15",
        "administrator_mail": "none",
        "reporting_params": "accounting=true reporting=false flush_time=00:00:01 joblog=false "
        "sharelog=00:00:00",
        "gid_range": _gids(0),
    }
    return _changed(_CONFIGURATION.read_text(), changes)


def objects(nodes: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return the objects that `qconf` adds: its option, a name for the file, and the file's text."""
    found = [("-Msconf", "scheduler", _scheduler())]
    for number, node in enumerate(nodes):
        # All nodes of a lab see each other's processes. Grid Engine finds, and ends, those of a job by its
        # group ids.
        found.append(("-Aconf", node, _table({"gid_range": _gids(number)})))
    found.append(("-Ahgrp", "nodes", f"group_name @allhosts\nhostlist {' '.join(nodes)}\n"))
    found.append(("-Ap", "pe.lab", _parallel_environment(PARALLEL_ENVIRONMENT, str(SLOTS_PER_NODE))))
    found.append(("-Ap", "pe.any", _parallel_environment(ANY_NODES, "$fill_up")))
    return found


def _scheduler() -> str:
    """Return sched_conf(5): schedule each second, ignore the load of nodes, and reserve for large jobs."""
    changes = {
        "schedule_interval": "0:0:1",
        "queue_sort_method": "seqno",
        "job_load_adjustments": "NONE",
        "load_adjustment_decay_time": "0:0:0",
        "load_formula": "slots",
        "schedd_job_info": "true",
        "flush_submit_sec": "1",
        "flush_finish_sec": "1",
        "max_reservation": "32",
    }
    return _changed(_SCHEDULER.read_text(), changes)


def _parallel_environment(name: str, allocation_rule: str) -> str:
    """Return sge_pe(5). The template has control_slaves TRUE, without which there is no qrsh -inherit."""
    changes = {"pe_name": name, "allocation_rule": allocation_rule, "job_is_first_task": "FALSE"}
    return _changed(_PARALLEL_ENVIRONMENT.read_text(), changes)


def _queue(template: str) -> str:
    """Return queue_conf(5)."""
    changes = {
        "qname": QUEUE,
        "hostlist": "@allhosts",
        "load_thresholds": "NONE",
        "pe_list": f"{PARALLEL_ENVIRONMENT} {ANY_NODES}",
        "slots": str(SLOTS_PER_NODE),
        "tmpdir": "/dev/shm",  # noqa: S108  # private to each node; in /tmp two nodes' folders would collide
        "shell": "/bin/bash",
        "shell_start_mode": "posix_compliant",
        "notify": "00:00:05",
    }
    return _changed(template, changes)


def _changed(template: str, changes: dict[str, str]) -> str:
    """Return a table of Grid Engine, whose lines are a name and a value, with some of the values changed."""
    rows = (line.split(None, 1) for line in template.splitlines() if not line.startswith("#"))
    return _table({row[0]: row[1].strip() for row in rows if len(row) == 2} | changes)


def _gids(number: int) -> str:
    """Return the group ids by which the node of this number marks the processes of its jobs."""
    first = 60_000 + number * _GIDS_PER_NODE
    return f"{first}-{first + _GIDS_PER_NODE - 1}"


def _table(lines: dict[str, str]) -> str:
    return "".join(f"{name} {value}\n" for name, value in lines.items())


def _lay_out(lab: Hosts, nodes: Sequence[str], root: Path) -> None:
    """Write the files that the daemons need at their start, and the cluster's empty spool."""
    head, common = nodes[0], root / "default/common"
    folders = [common, root / "qmaster/job_scripts", root / "spool", root / "objects"]
    folders += [root / "bin", root / "utilbin"]
    run(lab, head, ["mkdir", "-p", *map(str, folders)])
    for folder in ("bin", "utilbin"):  # for MPIs that look for qrsh, and for Grid Engine's own programs
        run(lab, head, ["ln", "-sfn", str(_BINARIES), str(root / folder / _ARCHITECTURE)])
    write(lab, head, common / "bootstrap", bootstrap(root))
    write(lab, head, common / "act_qmaster", f"{head}\n")
    write(lab, head, common / "cluster_name", "tare\n")
    write(lab, head, root / "configuration", configuration(root))
    _call(lab, head, ["spoolinit", "classic", "libspoolc", f"{common};{root}/qmaster", "init"])
    _call(lab, head, ["spooldefaults", "configuration", str(root / "configuration")])
    _call(lab, head, ["spooldefaults", "complexes", str(_RESOURCES / "centry")])
    _call(lab, head, ["spooldefaults", "usersets", str(_RESOURCES / "usersets")])
    _call(lab, head, ["spooldefaults", "managers", "root"])


def _call(lab: Hosts, host: str, argv: Sequence[str]) -> str:
    """Call a program of Grid Engine on a host. Raises LabError with its message."""
    env = [f"{name}={value}" for name, value in environment(lab.folder).items()]
    # Each program closes every possible file descriptor when it starts, with one call for each.
    limited = 'ulimit -n 4096; exec env "$@"'
    try:
        return run(lab, host, ["sh", "-c", limited, "sh", *env, str(_BINARIES / argv[0]), *argv[1:]])
    except LabError as error:
        raise LabError(f"{argv[0]}: {error}") from error


def _wait_until_answering(lab: Hosts, head: str, root: Path) -> None:
    """Wait until the master answers: its parent process ends before that."""
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while True:
        try:
            _call(lab, head, ["qconf", "-sh"])
        except LabError as error:
            if time.monotonic() > deadline:
                raise LabError(f"{error}; its log ends with: {_log(lab, head, root, ())}") from error
            time.sleep(0.05)
        else:
            return


def _wait_until_reporting(lab: Hosts, nodes: Sequence[str], root: Path) -> None:
    """Wait until every node has reported its architecture to the master."""
    deadline = time.monotonic() + _READY_TIMEOUT_S
    waiting = list(nodes)
    while time.monotonic() < deadline:
        rows = [line.split() for line in _call(lab, nodes[0], ["qhost"]).splitlines()]
        architectures = {row[0]: row[1].strip() for row in rows if len(row) > 1}
        waiting = [node for node in nodes if architectures.get(node, "-") == "-"]
        if not waiting:
            return
        time.sleep(0.1)
    raise LabError(
        f"Grid Engine did not come up within {_READY_TIMEOUT_S:g} s: nothing was heard of "
        f"{', '.join(waiting)}; its logs end with: {_log(lab, nodes[0], root, waiting)}"
    )


def _log(lab: Hosts, head: str, root: Path, nodes: Sequence[str]) -> str:
    """Return the last lines of the logs of the master and of the daemons of `nodes`."""
    paths = [root / "qmaster/messages", *(root / "spool" / node / "messages" for node in nodes)]
    return run(lab, head, ["sh", "-c", f"tail -n 3 {shlex.join(map(str, paths))} 2>&1; true"])
