"""Set up Grid Engine in the lab: sge_qmaster on the first node, sge_execd on each node.

All daemons are in the lab's PID namespace, so they end with it. Their files are in a tmpfs of the lab. Grid
Engine's own interactive installation is not used: the few files and `qconf` calls are below.

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
_RESOURCES = Path("/usr/share/gridengine/util/resources")
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
    return lacking or [str(path) for path in (_BINARIES, _RESOURCES) if not path.is_dir()]


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
    for option, name, text in objects(nodes):
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
    lines = {
        "execd_spool_dir": f"{root}/spool",
        "mailer": "/bin/true",
        "xterm": "/bin/false",
        "load_sensor": "none",
        "prolog": "none",
        "epilog": "none",
        "shell_start_mode": "posix_compliant",
        "login_shells": "none",
        "min_uid": "0",
        "min_gid": "0",
        "user_lists": "none",
        "xuser_lists": "none",
        "projects": "none",
        "xprojects": "none",
        "enforce_project": "false",
        "enforce_user": "auto",
        "load_report_time": "00:00:03",
        "max_unheard": "00:00:15",
        "reschedule_unknown": "00:00:00",
        "loglevel": "log_warning",
        "administrator_mail": "none",
        "set_token_cmd": "none",
        "pag_cmd": "none",
        "token_extend_time": "none",
        "shepherd_cmd": "none",
        "qmaster_params": "none",
        "execd_params": "none",
        "reporting_params": "accounting=true reporting=false flush_time=00:00:01 joblog=false "
        "sharelog=00:00:00",
        "finished_jobs": "100",
        "gid_range": _gids(0),
        "qlogin_command": "builtin",
        "qlogin_daemon": "builtin",
        "rlogin_command": "builtin",
        "rlogin_daemon": "builtin",
        "rsh_command": "builtin",
        "rsh_daemon": "builtin",
        "max_aj_instances": "2000",
        "max_aj_tasks": "75000",
        "max_u_jobs": "0",
        "max_jobs": "0",
        "auto_user_oticket": "0",
        "auto_user_fshare": "0",
        "auto_user_default_project": "none",
        "auto_user_delete_time": "86400",
        "delegated_file_staging": "false",
        "reprioritize": "0",
        "jsv_url": "none",
        "jsv_allowed_mod": "ac,h,i,e,o,j,M,N,p,w",
    }
    return _table(lines)


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
    found.append(("-Aq", "queue", _queue()))
    return found


def _scheduler() -> str:
    """Return sched_conf(5): schedule each second, and ignore the load of nodes."""
    lines = {
        "algorithm": "default",
        "schedule_interval": "0:0:1",
        "maxujobs": "0",
        "queue_sort_method": "seqno",
        "job_load_adjustments": "NONE",
        "load_adjustment_decay_time": "0:0:0",
        "load_formula": "slots",
        "schedd_job_info": "true",
        "flush_submit_sec": "1",
        "flush_finish_sec": "1",
        "params": "none",
        "reprioritize_interval": "0:0:0",
        "halftime": "168",
        "usage_weight_list": "cpu=1.000000,mem=0.000000,io=0.000000",
        "compensation_factor": "5.000000",
        "weight_user": "0.250000",
        "weight_project": "0.250000",
        "weight_department": "0.250000",
        "weight_job": "0.250000",
        "weight_tickets_functional": "0",
        "weight_tickets_share": "0",
        "share_override_tickets": "TRUE",
        "share_functional_shares": "TRUE",
        "max_functional_jobs_to_schedule": "200",
        "report_pjob_tickets": "TRUE",
        "max_pending_tasks_per_job": "50",
        "halflife_decay_list": "none",
        "policy_hierarchy": "OFS",
        "weight_ticket": "0.500000",
        "weight_waiting_time": "0.278000",
        "weight_deadline": "3600000.000000",
        "weight_urgency": "0.500000",
        "weight_priority": "0.000000",
        "max_reservation": "32",
        "default_duration": "INFINITY",
    }
    return _table(lines)


def _parallel_environment(name: str, allocation_rule: str) -> str:
    lines = {
        "pe_name": name,
        "slots": "99999",
        "user_lists": "NONE",
        "xuser_lists": "NONE",
        "start_proc_args": "NONE",
        "stop_proc_args": "NONE",
        "allocation_rule": allocation_rule,
        "control_slaves": "TRUE",  # without it there is no qrsh -inherit
        "job_is_first_task": "FALSE",
        "urgency_slots": "min",
        "accounting_summary": "FALSE",
        "qsort_args": "NONE",
    }
    return _table(lines)


def _queue() -> str:
    """Return queue_conf(5)."""
    lines = {
        "qname": QUEUE,
        "hostlist": "@allhosts",
        "seq_no": "0",
        "load_thresholds": "NONE",
        "suspend_thresholds": "NONE",
        "nsuspend": "1",
        "suspend_interval": "00:05:00",
        "priority": "0",
        "min_cpu_interval": "00:05:00",
        "processors": "UNDEFINED",
        "qtype": "BATCH INTERACTIVE",
        "ckpt_list": "NONE",
        "pe_list": f"{PARALLEL_ENVIRONMENT} {ANY_NODES}",
        "rerun": "FALSE",
        "slots": str(SLOTS_PER_NODE),
        "tmpdir": "/dev/shm",  # noqa: S108  # private to each node; in /tmp two nodes' folders would collide
        "shell": "/bin/bash",
        "shell_start_mode": "posix_compliant",
        "notify": "00:00:05",
        "initial_state": "default",
        "calendar": "NONE",
    }
    for name in ("prolog", "epilog", "starter_method", "suspend_method", "resume_method", "terminate_method",
                 "owner_list", "user_lists", "xuser_lists", "subordinate_list", "complex_values", "projects",
                 "xprojects"):  # fmt: skip
        lines[name] = "NONE"
    for resource in ("rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem"):
        lines[f"s_{resource}"] = lines[f"h_{resource}"] = "INFINITY"
    return _table(lines)


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
        architectures = {row[0]: row[1] for row in rows if len(row) > 1}
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
