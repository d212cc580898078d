"""Workloads of storage: a service on every node, and a master that controls the services.

`services_stage` makes the stage of such a workload; elbencho and fio use it if a case has several nodes. The
ranks run the script ``services.sh`` and synchronise through files in the working folder (see also peers).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tare.core.case import Case, Layout
from tare.core.rank_variables import with_rank
from tare.core.workload import Stage


def block_faults(case: Case) -> Iterator[str]:
    """Yield a fault if the blocks of `case` are larger than its files, or unfit for direct I/O."""
    block, size = int(case.parameters["block"]), int(case.parameters["size"])
    if block > size:
        yield f"block {block} is more than the size of a file, {size}; set size: {block}"
    if case.parameters["direct"] and block % 512:
        yield f"block {block} is no multiple of 512 as direct I/O needs; set block: 4096 or direct: false"


def services_stage(
    case: Case,
    service: Sequence[str],
    master: Sequence[str],
    port: int,
    *,
    name: str = "run",
    each: Sequence[str] = (),
    files: dict[str, str] | None = None,
) -> Stage:
    """Return a stage that runs `service` on every node of `case`, and `master` once all listen on `port`.

    The words of `each` are appended to the master's command once per node. In these words and in those of
    `service`, ``%r`` stands for the number of the node and ``%a`` for its address on the case's network. The
    file ``{work}/NAME/hosts`` holds all addresses, one per line; `files` are written below ``{work}/NAME``.
    The output of the stage is that of the master.
    """
    nodes = case.layout.nodes
    own = {f"{name}/{path}": text for path, text in (files or {}).items()}
    call = ("sh", f"{{work}}/{name}/services.sh", str(nodes), str(port), "{address0}")
    script = Path(__file__).with_name("services.sh").read_text(encoding="utf-8")
    return Stage(
        name=name,
        argv=(*call, *service, "--", *master, "--", *each),
        files={f"{name}/services.sh": with_rank(script), **own},
        # One rank per node: a node has one service, whose threads do the work.
        layout=Layout(nodes=nodes, ranks=nodes, threads=case.layout.threads, bind=case.layout.bind),
        programs=tuple(dict.fromkeys((service[0], master[0]))),
        has_own_threads=True,
    )
