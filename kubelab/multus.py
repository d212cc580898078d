"""A double of Multus, a CNI plug-in: attach the pod network, then the networks in a pod's annotation.

It implements the parts of the Network Plumbing Working Group's specification 1.2 that Tare uses: the short
and the JSON form of k8s.v1.cni.cncf.io/networks, ``ips`` of a network that supports them, and the answer in
network-status. It adds these keys to the CNI configuration: `delegate`, the pod network; `server`, `ca`,
`certificate` and `key`, for access to the API; and `state`, the folder in which it records attached networks.
containerd starts it as a program, so it needs nothing but Python.
"""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

Doc = dict[str, Any]
REQUEST, STATUS = "k8s.v1.cni.cncf.io/networks", "k8s.v1.cni.cncf.io/network-status"
POD_INTERFACE = "eth0"
_VERSIONS = ["0.3.0", "0.3.1", "0.4.0"]


class Api:
    """Sends requests to the API server."""

    def __init__(self, config: Doc) -> None:
        self._server = config["server"]
        self._context = ssl.create_default_context(cafile=config["ca"])
        self._context.load_cert_chain(config["certificate"], config["key"])

    def get(self, path: str) -> Doc:
        """Return an object."""
        return self._ask(urllib.request.Request(self._server + path))

    def annotate(self, path: str, name: str, value: str) -> None:
        """Set an annotation of an object."""
        change = {"metadata": {"annotations": {name: value}}}
        kind = {"Content-Type": "application/merge-patch+json"}
        body = json.dumps(change).encode()
        self._ask(urllib.request.Request(self._server + path, body, kind, method="PATCH"))

    def _ask(self, request: urllib.request.Request) -> Doc:
        with urllib.request.urlopen(request, timeout=20, context=self._context) as answer:
            found: Doc = json.load(answer)
            return found


def main() -> None:
    """Run the command in CNI_COMMAND, with the configuration from stdin (CNI specification 0.4)."""
    config, command = json.load(sys.stdin), os.environ["CNI_COMMAND"]
    if command == "VERSION":
        print(json.dumps({"cniVersion": "0.4.0", "supportedVersions": _VERSIONS}))
        return
    kept = Path(config["state"], os.environ["CNI_CONTAINERID"] + ".json")
    try:
        if command == "ADD":
            print(json.dumps(_add(config, kept)))
        elif command == "DEL":
            _delete(config, kept)
    except (OSError, LookupError, ValueError, RuntimeError) as error:
        print(json.dumps({"cniVersion": "0.4.0", "code": 100, "msg": f"multus double, {command}: {error}"}))
        sys.exit(1)


def _add(config: Doc, kept: Path) -> Doc:
    api, told = Api(config), _arguments()
    namespace = told["K8S_POD_NAMESPACE"]
    path = f"/api/v1/namespaces/{namespace}/pods/{told['K8S_POD_NAME']}"
    asked = _requests(api.get(path)["metadata"].get("annotations", {}).get(REQUEST, ""))
    networks = [("pod-network", POD_INTERFACE, config["delegate"])]
    for number, one in enumerate(asked, 1):
        home, _, name = one["name"].rpartition("/")
        home = home or one.get("namespace") or namespace
        where = f"/apis/k8s.cni.cncf.io/v1/namespaces/{home}/network-attachment-definitions/{name}"
        network = json.loads(api.get(where)["spec"]["config"])
        if one.get("ips") and network.get("capabilities", {}).get("ips"):
            network["runtimeConfig"] = {"ips": one["ips"]}
        networks.append((f"{home}/{name}", one.get("interface") or f"net{number}", network))
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(networks))
    results = [_delegate(network, interface) for _, interface, network in networks]
    if asked:
        status = [_status(*one[:2], result) for one, result in zip(networks, results, strict=True)]
        api.annotate(path, STATUS, json.dumps(status))
    return results[0]


def _delete(config: Doc, kept: Path) -> None:
    """Detach the networks, as far as they are attached: a deletion may come twice."""
    networks = [("pod-network", POD_INTERFACE, config["delegate"])]
    if kept.exists():
        networks = json.loads(kept.read_text())
    for _, interface, network in reversed(networks):
        try:
            _delegate(network, interface)
        except RuntimeError as error:
            print(error, file=sys.stderr)
    kept.unlink(missing_ok=True)


def _delegate(network: Doc, interface: str) -> Doc:
    network = {"cniVersion": "0.4.0", "name": interface, **network}
    program = Path(os.environ["CNI_PATH"].split(":")[0], network["type"])
    env = {**os.environ, "CNI_IFNAME": interface}
    done = subprocess.run(
        [str(program)], input=json.dumps(network), capture_output=True, text=True, env=env, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{network['type']} for {interface}: {done.stdout} {done.stderr}")
    result: Doc = json.loads(done.stdout) if done.stdout.strip() else {}
    return result


def _status(name: str, interface: str, result: Doc) -> Doc:
    made = [one.get("mac", "") for one in result.get("interfaces", []) if one.get("name") == interface]
    return {
        "name": name,
        "interface": interface,
        "ips": [one["address"].split("/")[0] for one in result.get("ips", [])],
        "mac": made[0] if made else "",
        "default": interface == POD_INTERFACE,
    }


def _requests(annotation: str) -> list[Doc]:
    if annotation.lstrip().startswith("["):
        found: list[Doc] = json.loads(annotation)
        return found
    words = [word.strip().partition("@") for word in annotation.split(",") if word.strip()]
    return [{"name": name, "interface": interface} for name, _, interface in words]


def _arguments() -> dict[str, str]:
    words = os.environ.get("CNI_ARGS", "").split(";")
    return dict(word.split("=", 1) for word in words if "=" in word)


if __name__ == "__main__":
    main()
