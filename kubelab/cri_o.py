"""A double of CRI-O's changes to a container before runc starts it: accounts, and a process limit.

containerd starts this instead of runc for pods of the RuntimeClass cri-o. CRI-O's GeneratePasswd adds a line
for a user that is not in the image's /etc/passwd, in a copy that is mounted over it. If the file's group or
others may write to it, CRI-O leaves it unchanged. This double does the same. The pod's annotation
kubelab/pids-limit replaces the setting pids_limit, which was 1024 before CRI-O 1.24 and is unset since.

It is installed as a program of its own, so it imports nothing of the project.
"""

import json
import os
import sys
from pathlib import Path

PIDS_LIMIT = "kubelab/pids-limit"
_WRITABLE_BY_OTHERS = 0o022


def passwd_line(uid: int, gid: int, home: str) -> str:
    """Return the line that CRI-O adds for a user who has only a number."""
    return f"{uid}:x:{uid}:{gid}:{uid} user:{home or '/tmp'}:/sbin/nologin\n"


def amend(bundle: Path) -> None:
    """Change the configuration of a container (OCI runtime specification) as CRI-O does."""
    path = bundle / "config.json"
    config = json.loads(path.read_text())
    limit = config.get("annotations", {}).get(PIDS_LIMIT)
    if limit:
        config["linux"].setdefault("resources", {})["pids"] = {"limit": int(limit)}
    made = _passwd(config, bundle)
    if made is not None:
        options = ["rw", "bind", "nodev", "nosuid", "noexec"]
        mount = {"type": "bind", "source": str(made), "destination": "/etc/passwd", "options": options}
        config["mounts"].append(mount)
    path.write_text(json.dumps(config))


def _passwd(config: dict[str, object], bundle: Path) -> "Path | None":
    """Write the file with CRI-O's additional line if one is needed; return its path."""
    process, mounts = config["process"], config["mounts"]
    assert isinstance(process, dict)
    assert isinstance(mounts, list)
    if any(one["destination"].rstrip("/") in {"/etc", "/etc/passwd"} for one in mounts):
        return None
    root = config["root"]
    assert isinstance(root, dict)
    image = bundle / root["path"] / "etc/passwd"
    if not image.is_file():
        return None
    text, uid = image.read_text(), process["user"]["uid"]
    is_known = any(line.split(":")[2:3] == [str(uid)] for line in text.splitlines())
    if is_known or image.stat().st_mode & _WRITABLE_BY_OTHERS:
        return None
    homes = [one.removeprefix("HOME=") for one in process.get("env", []) if one.startswith("HOME=")]
    home = homes[0] if homes else process["cwd"]
    made = bundle / "passwd"
    made.write_text(text + passwd_line(uid, process["user"]["gid"], home))
    return made


if __name__ == "__main__":
    words = sys.argv[1:]
    if "create" in words:
        amend(Path(words[words.index("--bundle") + 1]))
    os.execvp("runc", ["runc", *words])
