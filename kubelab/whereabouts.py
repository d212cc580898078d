"""A double of whereabouts, a CNI plug-in for addresses: one store in a folder that all nodes share.

It reads only `range` of the configuration, from which it gives addresses.
"""

from __future__ import annotations

import fcntl
import ipaddress
import json
import os
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Run the command in CNI_COMMAND, with the configuration from stdin (CNI specification 0.4)."""
    command = os.environ["CNI_COMMAND"]
    if command == "VERSION":
        print(json.dumps({"cniVersion": "0.4.0", "supportedVersions": ["0.3.1", "0.4.0"]}))
        return
    config = json.load(sys.stdin)
    owner = f"{os.environ['CNI_CONTAINERID']} {os.environ['CNI_IFNAME']}"
    network = ipaddress.ip_network(config["ipam"]["range"])
    # The store is beside the plug-in, which nodes share, since the real configuration names no store.
    store = Path(__file__).with_name("whereabouts.json")
    with store.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        given: dict[str, str] = json.loads(store.read_text()) if store.exists() else {}
        if command == "DEL":
            given = {address: one for address, one in given.items() if one != owner}
        elif command == "ADD":
            free = (str(one) for one in network.hosts() if str(one) not in given)
            address = next(free, None)
            if address is None:
                message = f"whereabouts double: no address is free in {network}"
                print(json.dumps({"cniVersion": "0.4.0", "code": 100, "msg": message}))
                sys.exit(1)
            given[address] = owner
            print(json.dumps(_result(address, network.prefixlen)))
        store.write_text(json.dumps(given))


def _result(address: str, prefix: int) -> dict[str, Any]:
    return {"cniVersion": "0.4.0", "ips": [{"version": "4", "address": f"{address}/{prefix}"}], "dns": {}}


if __name__ == "__main__":
    main()
