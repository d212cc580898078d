"""Query one node's facts from all sources with one shell script, and parse its output.

The node needs only a POSIX shell. The script takes a fraction of a second. It runs between measurements,
never during one.

Each module in this folder with a `SOURCE` is a source, so a new source is one new file. Another package
registers such a module under the entry point group ``tare.fact_sources``.
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Iterator, Sequence

from tare.core.entry_points import installed, modules
from tare.core.errors import UsageError
from tare.plugins.collectors.secrets import AWK, redact
from tare.plugins.collectors.source import Facts, Records, Source, Subject
from tare.probes.records import BEGIN_RECORD

_FOLDER, _GROUP = "tare.plugins.collectors", "tare.fact_sources"

FUNCTIONS = f"""\
{BEGIN_RECORD}files() {{ for f do [ -f "$f" ] && [ -r "$f" ] && record "$f" && cat "$f"; done; }}
limit() {{ if command -v timeout >/dev/null; then timeout 10 "$@"; else "$@"; fi; }}
capture() {{ name=$1; shift; text=$(limit "$@" </dev/null) && record "$name" && printf '%s\\n' "$text"; }}
hide() {{ awk '{AWK}{{ print hide($0) }}'; }}
"""
"""Shell functions for the scripts of sources; ``hide`` does what `secrets.redact` does."""

_END = "end of "
_FAILED = "not recorded."


@functools.cache
def sources() -> tuple[Source, ...]:
    """Return all sources in the order in which a node is queried.

    Raises UsageError if a registered module is not a source.
    """
    found = {name: getattr(one, "SOURCE", None) for name, one in modules(_FOLDER, _GROUP).items()}
    for name in installed(_GROUP):
        if not isinstance(found[name], Source):
            raise UsageError(
                f"source of facts {name} has no SOURCE; mend or uninstall the package that it comes from"
            )
    known = [one for one in found.values() if isinstance(one, Source)]
    return tuple(sorted(known, key=lambda one: (one.order, one.name)))


def facts_script(subject: Subject) -> str:
    """Return the shell script that queries a node for all facts about it and `subject`."""
    return probe_script(sources(), subject)


def collect_facts(records: Records) -> Facts:
    """Return the facts in the `records` of one node."""
    return read_facts(sources(), records)


def probe_script(sources: Sequence[Source], subject: Subject) -> str:
    """Return the script that queries a node for everything that `sources` read about `subject`."""
    return "".join(
        [
            FUNCTIONS,
            f"prefix={shlex.quote(subject.prefix)}\n",
            f"starter={shlex.quote(subject.starter)}\n",
            f"programs={shlex.quote(' '.join(subject.programs))}\n",
            f"path={shlex.quote(subject.path)}\n",
            f"library_path={shlex.quote(subject.library_path)}\n",
            f"rootfs={shlex.quote(subject.rootfs)}\n",
            *(_guarded(source) for source in sources),
        ]
    )


def _guarded(source: Source) -> str:
    """Return a source's script in a subshell, so that a failing source does not stop later ones."""
    return f"(\n{source.script.strip()}\n) 2>/dev/null\nrecord {shlex.quote(_END + source.name)}; echo\n"


def read_facts(sources: Sequence[Source], records: Records) -> Facts:
    """Return the facts in one node's `records`. A failing source is recorded and does not stop the others."""
    found: Facts = {}
    for source, own in _by_source(sources, records):
        try:
            found |= {redact(name): redact(value) for name, value in source.read(own).items() if value}
        except Exception as error:  # a node may answer anything; other sources remain valid
            found[_FAILED + source.name] = f"{type(error).__name__}: {redact(str(error))}"
    return found


def _by_source(sources: Sequence[Source], records: Records) -> Iterator[tuple[Source, Records]]:
    """Yield each source with its records, which stand between the previous source's end and its own."""
    by_end = {_END + source.name: source for source in sources}
    own: dict[str, str] = {}
    for name, text in records.items():
        if name in by_end:
            yield by_end[name], own
            own = {}
        else:
            own[name] = text
