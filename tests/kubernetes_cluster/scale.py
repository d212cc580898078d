"""Many MPIJobs on many simulated nodes, within an operator's own limits: what they cost, as a table.

    PYTHONPATH=tests python -m kubernetes_cluster.scale --jobs 1000 --nodes 1000

With TARE_KUBELAB_OPERATOR it is a real operator. It takes a dozen requests for a job, and sends 5 a second:
whoever asks for them, a thousand jobs take their time.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import msgspec

from cli.conftest import call_tare
from kubelab.control_plane import ControlPlane
from kubelab.limits import DEFAULT, Limits
from kubelab.operators import QUICK, operator
from kubelab.operators import USER as OPERATOR
from kubelab.processes import Daemon
from kubelab.simulated_nodes import SimulatedNodes
from kubernetes_cluster.conftest import OUT, USER, Campaign, Lab, grant
from kubernetes_cluster.simulated_pods import SimulatedPods

_NAMESPACE = "bench-scale"
_ENDED = b'"ended"'  # an attempt, in the journal


class Peak(NamedTuple):
    """The most memory that each process held, in KiB."""

    tare: int = 0
    operator: int = 0
    api_server: int = 0


def resident_kib(pid: int | None) -> int:
    """Return the memory that a process and its children hold (proc(5), VmRSS); 0 when it is gone."""
    if pid is None:
        return 0
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0
    own = next((int(line.split()[1]) for line in lines if line.startswith("VmRSS:")), 0)
    return own + sum(resident_kib(int(child)) for child in children)


def main() -> None:
    """Run the campaign and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--in-flight", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=90, help="after which it is ended")
    parser.add_argument("--quick", action="store_true", help="an operator without limits to speak of")
    for name, value in DEFAULT._asdict().items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=value, help="of the operator")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tare-scale-") as place:
        folder = Path(place)
        with ControlPlane(folder, audited=[USER, OPERATOR], out=OUT) as plane:
            pods = SimulatedPods(plane.kubeconfig)
            pods.start()
            limits = Limits(*(getattr(given, name) for name in Limits._fields))
            daemon = operator(plane, QUICK if given.quick else limits)
            daemon.start()
            with SimulatedNodes(plane, given.nodes, pods.write_log) as nodes:
                lab = Lab(plane, nodes, pods)
                plane.kubectl("create", "namespace", _NAMESPACE)
                grant(lab, _NAMESPACE)
                campaign = Campaign(lab, _NAMESPACE, folder, call_tare)
                campaign.write(repeats=given.jobs, in_flight=given.in_flight)
                _measure(campaign, daemon, given.minutes)
            daemon.kill()


def _measure(campaign: Campaign, daemon: Daemon, minutes: float) -> None:
    begun, peak = time.monotonic(), Peak()
    plane = campaign.lab.control_plane
    with campaign.start() as runner:
        while runner.poll() is None and time.monotonic() - begun < 60 * minutes:
            now = (runner.pid, daemon.pid, plane.api_server_pid)
            peak = Peak(*(max(old, resident_kib(pid)) for old, pid in zip(peak, now, strict=True)))
            time.sleep(2)
        runner.kill()
    n_done = (campaign.out / "journal.jsonl").read_bytes().count(_ENDED)
    _print(plane.audit_log, n_done, time.monotonic() - begun, peak)
    if runner.returncode:
        print((campaign.folder / "run.log").read_text()[-1000:], file=sys.stderr)


def _print(audit_log: Path, n_jobs: int, elapsed_s: float, peak: Peak) -> None:
    counts: Counter[tuple[str, str, str]] = Counter()
    for line in audit_log.read_bytes().splitlines():
        event = msgspec.json.decode(line)
        about = event.get("objectRef", {})
        if event["stage"] == "ResponseComplete" and about.get("resource") != "leases":
            what = about.get("resource", "") + (f"/{about['subresource']}" if "subresource" in about else "")
            counts[event["user"]["username"], event["verb"], what] += 1
    print(f"jobs done             {n_jobs}")
    print(f"time                  {elapsed_s:.0f} s, {n_jobs / elapsed_s:.2f} jobs a second")
    for name, kib in peak._asdict().items():
        print(f"memory of {name:<12}{kib / 1024:.0f} MiB")
    for user in (USER, OPERATOR):
        own = {key: count for key, count in counts.items() if key[0] == user and key[1] != "watch"}
        print(f"requests of {user:<14}{sum(own.values()) / max(n_jobs, 1):.2f} a job")
        for (_, verb, what), count in sorted(own.items(), key=lambda one: -one[1]):
            print(f"    {verb:<18}{what:<24}{count}")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(str(error))
