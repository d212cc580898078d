"""Find software that hosts cannot load, before the first run needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tare.core.case import Case
from tare.core.software import Layers
from tare.execution.compose import Composer
from tare.probes.records import read_records
from tare.probes.software import asking, read_fault

_TELL = '[ -z "${tare_fault_text-}" ] || printf \'\\036software.fault\\036\\n%s\\n\' "$tare_fault_text"'


class Unloaded(NamedTuple):
    """Software that could not be loaded on `hosts`, an example of a case that asks for it, and the fault."""

    case: Case
    layers: Layers
    hosts: tuple[str, ...]
    fault: str

    def concerns(self, composer: Composer, case: Case) -> bool:
        """Return whether `case` asks for this software, too."""
        return (case.platform, composer.software(case)) == (self.case.platform, self.layers)


def find_unloaded(
    composer: Composer,
    cases: Sequence[Case],
    ask: Callable[[Sequence[str | None], str], Mapping[str | None, str]],
) -> Iterator[Unloaded]:
    """Yield the software of `cases` that some host cannot load; `ask` runs a script on hosts."""
    wanted: dict[tuple[str, Layers], tuple[Case, dict[str | None, None]]] = {}
    for case in cases:
        if layers := composer.software(case):
            hosts = composer.reached_hosts(case)
            wanted.setdefault((case.platform, layers), (case, {}))[1].update(dict.fromkeys(hosts))
    for (_, layers), (case, hosts_asked) in wanted.items():
        texts = ask(list(hosts_asked), asking(_TELL, layers))
        faults = {host: read_records(text).get("software.fault", "") for host, text in texts.items()}
        failed = tuple(host or "this machine" for host, fault in faults.items() if fault)
        if failed:
            first = next(fault for fault in faults.values() if fault)
            yield Unloaded(case, layers, failed, read_fault(first).sentence)
