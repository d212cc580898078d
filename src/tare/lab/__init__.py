"""Build a small cluster of network namespaces on this machine, as an ordinary user.

`start` builds a lab, and `find` finds a running one. `AGENT` starts commands on its hosts, as ssh would.
Example:

    with start(spec, owned=True) as lab:
        subprocess.run(lab.command("n1", ["hostname"]))
"""

from tare.lab.lab import AGENT, Lab, find, obstacle, start

__all__ = ["AGENT", "Lab", "find", "obstacle", "start"]
