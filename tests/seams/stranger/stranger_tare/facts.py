"""A source of facts of a stranger's: the domain that a node is in."""

from __future__ import annotations

from tare.plugins.collectors.source import Answers, Facts, Source, whole


def _read(answers: Answers) -> Facts:
    return {"stranger.domain": whole(answers["domain"])} if "domain" in answers else {}


SOURCE = Source("stranger", "record domain; cat /proc/sys/kernel/domainname", _read)
