"""A source of facts of a stranger's: the domain that a node is in."""

from __future__ import annotations

from tare.plugins.collectors.source import Facts, Records, Source, one_line


def _read(records: Records) -> Facts:
    return {"stranger.domain": one_line(records["domain"])} if "domain" in records else {}


SOURCE = Source("stranger", "record domain; cat /proc/sys/kernel/domainname", _read)
