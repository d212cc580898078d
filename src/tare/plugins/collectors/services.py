"""Services of the node: tuned's profile, and the versions of Slurm, Kubernetes and container runtimes."""

from __future__ import annotations

from tare.plugins.collectors.source import Facts, Records, Source, one_line

_VERSIONS = {
    "slurm": "sinfo --version",
    "kubernetes.kubelet": "kubelet --version",
    "kubernetes.k3s": "k3s --version",
    "podman": "podman --version",
    "docker": "docker --version",
    "apptainer": "apptainer --version",
    "singularity": "singularity --version",
    "python": "python3 --version",
}


def _read(records: Records) -> Facts:
    facts = {}
    profile = one_line(records.get("/etc/tuned/active_profile", ""))
    if profile:
        facts["tuned.profile"] = profile
    for name in _VERSIONS:
        lines = records.get(name, "").strip().splitlines()
        if lines:
            facts[f"version.{name}"] = one_line(lines[0])
    return facts


SOURCE = Source(
    "services",
    "files /etc/tuned/active_profile\n"
    + "\n".join(
        f"command -v {command.split()[0]} >/dev/null && capture {name} {command}"
        for name, command in _VERSIONS.items()
    ),
    _read,
    order=70,
)
